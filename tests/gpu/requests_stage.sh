# The stage `requests` of tests/gpu/run.sh, which sources this file.

# Lets models answer requests under load, once for each set of levels: each request is one tree, from its wait in the
# queue down to the kernels, in every load.
stage_requests() {
  local name file count="${XSP_GPU_REQUESTS:-300}"
  for name in ${XSP_GPU_REQUEST_MODELS:-resnet50 bert-base}; do
    [ -e "$models/$name.pt" ] || { line skipped "requests to $name" "not exported"; continue; }
    file="$out/$name-requests.xsp"
    check "requests to $name" "requests_$name" timeout -s INT -k 30 "$((3 * bound))" "$tree/bin/xsp" evaluate \
      "$models/$name.pt" --framework torch --device cuda --scenario closed --clients 2 --requests "$count" \
      --levels all -o "$file"
    [ -e "$file" ] || continue
    requests_invariants "$name" "$file" "$count"
    check "why are requests to $name slow" "slow_requests_$name" "$tree/bin/xsp" analyze slow_requests "$file"
    line ok "requests to $name, by load" "$(value "$file" "SELECT string_agg(format('{}: {:.2f} ms', levels, ns / 1e6), '; '
      ORDER BY run_id) FROM run JOIN (SELECT run_id, avg(duration_ns) AS ns FROM span WHERE type = 'request' GROUP BY run_id)
      USING (run_id)")"
  done
}

# Every kernel of a measured inference has a launch, a layer, a model and a request; the loads answer the same requests,
# each once; the parts of a request add up to its latency to the nanosecond.
requests_invariants() { # NAME FILE REQUESTS
  local verdict
  verdict=$(value "$2" "
    WITH request AS (SELECT run_id, span_id, duration_ns FROM span WHERE level = 1 AND type = 'request'),
    part AS (SELECT run_id, parent_id AS span_id, sum(duration_ns) AS ns FROM span WHERE level = 1 AND type = 'part'
      GROUP BY ALL),
    number AS (SELECT run_id, value FROM span_attribute JOIN request USING (run_id, span_id) WHERE key = 'request'),
    kernel AS (SELECT s.*, m.parent_id AS request_id FROM span s LEFT JOIN span m ON m.run_id = s.run_id
      AND m.span_id = s.model_id AND m.level = 2 WHERE s.level = 6 AND s.type = 'kernel' AND s.iteration >= 0),
    each AS (SELECT run_id, request_id, count(*) AS kernels FROM kernel GROUP BY ALL),
    wrong AS (
      SELECT 'a load failed' AS what, count(*) AS n FROM run WHERE status <> 'ok'
      UNION ALL SELECT 'no load recorded kernels', CAST(count(*) = 0 AS BIGINT) FROM kernel
      UNION ALL SELECT 'requests are lost or double', count(*) FROM (SELECT run_id FROM run LEFT JOIN number USING (run_id)
        GROUP BY run_id HAVING count(value) <> $3 OR count(DISTINCT value) <> $3)
      UNION ALL SELECT 'parts exceed their request', count(*) FROM request JOIN part USING (run_id, span_id)
        WHERE ns > duration_ns
      UNION ALL SELECT 'parts and model are not the latency', count(*) FROM (SELECT r.run_id FROM request r
        JOIN span m ON m.run_id = r.run_id AND m.parent_id = r.span_id AND m.level = 2
        LEFT JOIN part p ON p.run_id = r.run_id AND p.span_id = r.span_id
        WHERE abs(r.duration_ns - coalesce(p.ns, 0) - m.duration_ns) > greatest(200000, r.duration_ns // 20))
      UNION ALL SELECT 'kernels have no layer', count(*) FROM kernel WHERE layer_id IS NULL
      UNION ALL SELECT 'kernels have no request', count(*) FROM kernel LEFT JOIN request r ON r.run_id = kernel.run_id
        AND r.span_id = kernel.request_id WHERE r.span_id IS NULL
      UNION ALL SELECT 'requests have other numbers of kernels', count(*) FROM (SELECT run_id FROM each GROUP BY run_id
        HAVING min(kernels) <> max(kernels) OR count(*) <> $3)
      UNION ALL SELECT 'spans were dropped', coalesce(sum(count), 0) FROM loss)
    SELECT coalesce(string_agg(what || ': ' || n, '; '), 'all hold') FROM wrong WHERE n > 0")
  if [ "${verdict% }" = "all hold" ]; then line ok "invariants, requests to $1" "$verdict"
  else line FAILED "invariants, requests to $1" "${verdict:-the query failed}"; fi
}
