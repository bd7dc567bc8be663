-- @id x20
-- @name cost
-- @title Cost
-- @question What do a million inferences cost, at a price per hour of the GPU?
-- The price is in whatever currency it is given in: by the parameter, or else by that which the profile was told. An
-- input costs the price times the time that it takes, at the latency of the model-only run and one inference after the
-- other; where the call returns before the device is done, at the period of the program's step (model_information). The
-- cheapest batch size is marked; where a latency is allowed at most, among those within it.
-- @needs model
-- @param price_per_hour double - Price of an hour of the GPU; by default that which the profile was told.
-- @param max_latency_ms double - The latency that is allowed; by default any.
-- @view bar x=batch y=cost_per_million
-- @view table columns=batch,latency_ns,throughput_per_s,price_per_hour,cost_per_million,relative_pct,role
-- @column batch count Inputs per inference.
-- @column latency_ns ns Mean latency of the typical inferences.
-- @column device_ns ns Time of the device in what the call launched, each moment once; empty: no device was recorded.
-- @column span_ns ns From the call's first launch to the last end of its work, or its own end.
-- @column throughput_per_s per_s Inputs per second, as in model_information.
-- @column price_per_hour number Price of an hour; empty: not known.
-- @column cost_per_million number Cost of a million inputs, in the price's currency; empty: no price is known.
-- @column relative_pct pct Cost of an input, of that of the dearest batch size.
-- @column role text cheapest; too slow; or how to give a price.
WITH fact AS (
  SELECT coalesce(CAST($price_per_hour AS DOUBLE), max(try_cast(value AS DOUBLE))) AS price
  FROM evaluation WHERE key = 'gpu.price_per_hour'),
stat AS (
  SELECT batch, latency_ns, device_ns, span_ns,
    1e9 / inferences_per_s(latency_ns, step_ns, inferences_in_step) / inputs_of(batch) AS input_ns,
    coalesce(latency_ns > 1e6 * CAST($max_latency_ms AS DOUBLE), false) AS is_slow
  FROM model_latency LEFT JOIN model_times() USING (batch))
SELECT batch, latency_ns, device_ns, span_ns, 1e9 / input_ns AS throughput_per_s, price AS price_per_hour,
  price * 1e6 * input_ns / 3.6e12 AS cost_per_million, pct(input_ns, max(input_ns) OVER ()) AS relative_pct,
  array_to_string(list_filter([
    CASE WHEN is_slow THEN 'too slow' END,
    CASE WHEN input_ns = min(input_ns) FILTER (NOT is_slow) OVER () AND NOT is_slow THEN 'cheapest' END,
    CASE WHEN price IS NULL THEN 'no price: --param price_per_hour=...' END],
    lambda one: one IS NOT NULL), ', ') AS role
FROM stat, fact
ORDER BY batch
