#include "desk/experiment/facts.h"

namespace xsp::experiment {

Status write_facts(store::Database& database, const std::map<std::string, std::string>& facts) {
  if (facts.empty()) return Ok{};
  // Two keys that are not valid text may become equal when they are stored as text. One statement
  // for all: looking for what is there already takes a millisecond each time.
  std::string rows;
  std::map<std::string, store::Value> values;
  for (const auto& [key, value] : facts) {
    const std::string number = std::to_string(values.size());
    rows += (rows.empty() ? "($k" : ", ($k") + number + ", $v" + number + ")";
    values["k" + number] = key;
    values["v" + number] = value;
  }
  XSP_CHECK_OK(database.query("INSERT OR IGNORE INTO evaluation VALUES " + rows, values));
  return Ok{};
}

Status complete_runs(store::Database& database) {
  XSP_CHECK_OK(database.execute(
      "UPDATE run SET iterations = (SELECT count(DISTINCT (process, iteration)) FROM span "
      "  WHERE span.run_id = run.run_id AND level = 2 AND iteration >= 0), "
      // A run that was exported has its own already.
      "framework = coalesce((SELECT max(value) FROM site_attribute WHERE key = 'framework'), "
      "  framework), "
      "framework_version = coalesce((SELECT max(value) FROM site_attribute "
      "  WHERE key = 'framework_version'), framework_version); "
      "INSERT INTO evaluation SELECT key, max(value) FROM site_attribute "
      "  WHERE key IN ('framework', 'framework_version') GROUP BY key; "
      // The batch size is set only if every inference has a known batch size and all are equal.
      "CREATE TEMP TABLE batch_of AS SELECT m.run_id, count(*) = count(a.value) AS is_known, "
      "  min(try_cast(a.value AS INTEGER)) AS least, max(try_cast(a.value AS INTEGER)) AS most "
      "  FROM span m LEFT JOIN span_attribute a ON a.run_id = m.run_id AND a.span_id = m.span_id "
      "  AND a.key = 'batch' WHERE m.level = 2 AND m.depth = 0 GROUP BY m.run_id; "
      "UPDATE run SET batch = least FROM batch_of WHERE batch_of.run_id = run.run_id "
      "  AND is_known AND least = most AND least > 0; "
      "INSERT INTO evaluation SELECT 'not_measured.batch', any_value(CASE WHEN least < most "
      "    THEN printf('the program''s batches have from %d to %d inputs', least, most) "
      "    ELSE 'how many inputs an inference has is not known' END) "
      "  FROM batch_of JOIN run USING (run_id) WHERE run.batch IS NULL HAVING count(*) > 0; "
      "DROP TABLE batch_of; "
      "INSERT INTO evaluation SELECT 'not_measured.native_stacks', max(value) FROM site_attribute "
      "  WHERE key = 'native_stacks' HAVING count(*) > 0"));
  return write_settings(database);
}

Status write_settings(store::Database& database) {
  return database.execute(
      "INSERT INTO evaluation SELECT key, CASE WHEN min(value) = max(value) THEN max(value) "
      "    ELSE 'several' END "
      "  FROM site_attribute WHERE key LIKE 'setting.%' GROUP BY key");
}

}  // namespace xsp::experiment
