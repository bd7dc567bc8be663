-- @id x42
-- @name request_latency
-- @title Latency of requests
-- @question How long do the requests of a load take, and in which part?
-- Each row is a time of a load's requests (xsp evaluate): its mean, its percentiles, and its mean over the slowest 1 %
-- of the requests. The first row is the latency. Its parts follow: their means add up to it, and so do those of the
-- slowest; percentiles do not add up. A load that generates has two rows more, which are no parts: the time until a
-- request's first token, and the time between two tokens, whose figures are over all gaps. A row that took no time is
-- left out. An interval is empty where too few were measured for one, and the slowest are known of the latency and its
-- parts alone. The load of a search for the highest rate is one at the rate that it found.
-- @needs load
-- @view bar x=part y=mean_ns
-- @view table columns=part,mean_ns,p50_ns,p90_ns,p95_ns,p99_ns,slowest_ns
-- @column part text The latency, a part of it, or a time of its tokens.
-- @column is_part bool Whether the row is a part of the latency.
-- @column requests count Requests that were answered.
-- @column mean_ns ns Mean.
-- @column low_ns ns Lower end of the mean's 95 % interval.
-- @column high_ns ns Upper end of the mean's 95 % interval.
-- @column p50_ns ns Median.
-- @column p90_ns ns 90th percentile.
-- @column p95_ns ns 95th percentile.
-- @column p99_ns ns 99th percentile.
-- @column slowest_ns ns Mean over the slowest 1 % of the requests.
-- @column highest_per_s per_s Highest rate at which about half of the loads keep the bound; empty: none was searched.
-- @column low_per_s per_s Lower end of its 95 % interval.
-- @column high_per_s per_s Upper end of its 95 % interval.
WITH figure AS (
  SELECT metric LIKE 'tail.%' AS is_tail,
    CASE WHEN is_tail THEN substr(metric, 6) ELSE regexp_extract(metric, '^(.*)\.[^.]*$', 1) END AS part,
    CASE WHEN is_tail THEN 'slowest' ELSE regexp_extract(metric, '[^.]*$') END AS statistic,
    value, low, high
  FROM result WHERE unit = 'ns' AND regexp_full_match(metric, 'tail\.[a-z_]+|[a-z_]+\.(mean|p50|p90|p95|p99)')),
part AS (
  SELECT part, max(value) FILTER (statistic = 'mean') AS mean_ns, max(low) FILTER (statistic = 'mean') AS low_ns,
    max(high) FILTER (statistic = 'mean') AS high_ns, max(value) FILTER (statistic = 'p50') AS p50_ns,
    max(value) FILTER (statistic = 'p90') AS p90_ns, max(value) FILTER (statistic = 'p95') AS p95_ns,
    max(value) FILTER (statistic = 'p99') AS p99_ns, max(value) FILTER (statistic = 'slowest') AS slowest_ns,
    max(value) > 0 AS has_time
  FROM figure GROUP BY part)
SELECT part, part NOT IN ('latency', 'first_token', 'between_tokens') AS is_part,
  (SELECT CAST(max(value) AS BIGINT) FROM result WHERE metric = 'answered') AS requests, mean_ns, low_ns, high_ns,
  p50_ns, p90_ns, p95_ns, p99_ns, slowest_ns,
  highest.value AS highest_per_s, highest.low AS low_per_s, highest.high AS high_per_s
FROM part LEFT JOIN (FROM result WHERE metric = 'max_rate') highest ON part = 'latency' WHERE has_time
ORDER BY
  coalesce(list_position(['latency', 'queue', 'batcher', 'pipeline', 'model', 'output', 'first_token'], part), 99), part
