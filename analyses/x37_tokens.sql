-- @id x37
-- @name tokens
-- @title Tokens
-- @question How long does each token of a language model's answers take?
-- Each row is a position in the answers: the first token comes from the prefill, which reads the prompt, and each
-- further one from a decode, which reads the token before and the cache. All figures come from the run that recorded
-- only the requests and the model.
-- @needs tokens
-- @view bar x=token y=mean_ns
-- @view table columns=token,phase,requests,mean_ns,p50_ns,p99_ns,since_arrival_ns
-- @column token number Position of the token in the answer, from 1.
-- @column phase text prefill or decode.
-- @column requests count Number of requests that have a token there.
-- @column mean_ns ns Mean time of the token: since the one before, or for the first since the prefill began.
-- @column p50_ns ns Median of these times.
-- @column p99_ns ns 99th percentile of these times: the smallest one that 99 % do not exceed.
-- @column since_arrival_ns ns Mean time from the request's arrival to this token.
WITH token AS (
  SELECT t.name AS phase, t.duration_ns, t.start_ns + t.duration_ns - r.start_ns AS since_arrival_ns,
    row_number() OVER (PARTITION BY t.parent_id ORDER BY t.start_ns) AS token
  FROM span t JOIN span r ON r.run_id = t.run_id AND r.span_id = t.parent_id
  WHERE t.run_id = (SELECT min(run_id) FROM span WHERE level = 1 AND type = 'token') AND t.level = 1
    AND t.type = 'token')
SELECT token, any_value(phase) AS phase, count(*) AS requests, avg(duration_ns) AS mean_ns,
  quantile_disc(duration_ns, 0.5) AS p50_ns, quantile_disc(duration_ns, 0.99) AS p99_ns,
  avg(since_arrival_ns) AS since_arrival_ns
FROM token GROUP BY token ORDER BY token
