-- @id x20
-- @name cost
-- @title Cost
-- @question What do a million inferences cost, at a price per hour of the GPU?
-- The price has no fixed currency; it is given by the parameter, or else by the profile. The cost of an input is the
-- price times the time of the input. The time is computed from the latency of the model-only run, with one inference
-- after the other. If the program trains, or marks its steps, or if the call returns before the device is done, it is
-- computed from the period of the program's step (see model_information). The cheapest batch size is marked. If
-- max_latency_ms is given, only the batch sizes within it are considered.
-- @needs model
-- @param price_per_hour double>=0 - The price of an hour of the GPU; by default the price that the profile was given.
-- @param max_latency_ms double>0 - The highest latency that is allowed, in ms; by default any.
-- @view bar x=batch y=cost_per_million
-- @view table columns=batch,latency_ns,throughput_per_s,price_per_hour,cost_per_million,relative_pct,role
-- @column batch count Inputs per inference.
-- @column latency_ns ns Mean latency of the typical inferences.
-- @column device_ns ns Device time of the call's work, overlaps counted once; empty: no device was recorded.
-- @column span_ns ns Time from the call's first launch to its own end or the end of its work, the later.
-- @column throughput_per_s per_s Inputs per second, as in model_information.
-- @column price_per_hour number Price of an hour of the GPU; empty: not known.
-- @column cost_per_million number Cost of a million inputs, in the price's currency; empty: no price is known.
-- @column relative_pct pct Cost of an input, relative to that of the most expensive batch size.
-- @column role text The role: cheapest, or too slow; without a price, the way to give one.
WITH fact AS (
  SELECT coalesce(CAST($price_per_hour AS DOUBLE), max(try_cast(value AS DOUBLE))) AS price
  FROM evaluation WHERE key = 'gpu.price_per_hour'),
stat AS (
  SELECT batch, latency_ns, device_ns, span_ns,
    1e9 / inferences_per_s(latency_ns, step_ns, inferences_in_step) / inputs_of(batch) AS input_ns,
    coalesce(latency_ns > 1e6 * CAST($max_latency_ms AS DOUBLE), false) AS is_slow
  FROM model_latency LEFT JOIN model_time USING (batch))
SELECT batch, latency_ns, device_ns, span_ns, 1e9 / input_ns AS throughput_per_s, price AS price_per_hour,
  price * 1e6 * input_ns / 3.6e12 AS cost_per_million, pct(input_ns, max(input_ns) OVER ()) AS relative_pct,
  array_to_string(list_filter([
    CASE WHEN is_slow THEN 'too slow' END,
    CASE WHEN input_ns = min(CASE WHEN NOT is_slow THEN input_ns END) OVER () AND NOT is_slow THEN 'cheapest' END,
    CASE WHEN price IS NULL THEN 'no price: --param price_per_hour=...' END],
    lambda one: one IS NOT NULL), ', ') AS role
FROM stat, fact
ORDER BY batch
