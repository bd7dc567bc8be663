-- @id x40
-- @name load_curve
-- @title Load curve
-- @question How does the latency grow with the load?
-- Each row is a figure of one load: of each rate that the search for the highest rate tried (xsp evaluate --scenario
-- max-rate), the latency at the percentile of its bound; or of each number of clients (--scenario generation
-- --clients 1,2,4), the times and the rates of tokens. A rate that the search tried several times has a row for each.
-- @needs loads
-- @view line x=load y=time_ns series=figure
-- @view table columns=load,of,figure,time_ns,tokens_per_s,low,high
-- @column load number The rate in requests per second, or the number of clients.
-- @column of text What the load counts: requests/s or clients.
-- @column figure text The figure.
-- @column time_ns ns The figure, if it is a time.
-- @column tokens_per_s per_s The figure, if it is a rate of tokens.
-- @column low number Lower end of its 95 % interval, in its unit.
-- @column high number Upper end of its 95 % interval, in its unit.
WITH point AS (
  SELECT string_split(note, ' ') AS words, metric = 'latency_at_rate' AS is_rate,
    replace(metric, '.at_clients', '') AS figure, value, unit, low, high
  FROM result WHERE metric = 'latency_at_rate' OR metric LIKE '%.at\_clients' ESCAPE '\')
SELECT try_cast(words[1] AS DOUBLE) AS load, CASE WHEN is_rate THEN 'requests/s' ELSE 'clients' END AS of,
  CASE WHEN is_rate THEN 'latency' ELSE figure END AS figure, CASE unit WHEN 'ns' THEN value END AS time_ns,
  CASE unit WHEN 'per_s' THEN value END AS tokens_per_s, low, high
FROM point WHERE unit IN ('ns', 'per_s') ORDER BY figure, load, time_ns
