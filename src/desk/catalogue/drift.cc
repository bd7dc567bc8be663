#include "desk/catalogue/drift.h"

#include <algorithm>

#include "desk/store/values.h"

namespace xsp::catalogue {

double Drift::spread() const {
  const auto by_latency = [](const Reference& a, const Reference& b) {
    return a.latency_ns < b.latency_ns;
  };
  const auto [least, most] = std::minmax_element(references.begin(), references.end(), by_latency);
  return least == references.end() || least->latency_ns <= 0
             ? 0
             : most->latency_ns / least->latency_ns - 1;
}

Result<std::vector<Drift>> drifts(Catalogue& catalogue, const std::string& sweep) {
  const std::string tasks = (sweep.empty() ? "%" : sweep) + "/" + kReferencePrefix + "%";
  XSP_TRY(const store::Table table,
          catalogue.query(
              "SELECT e.task, e.system, s.name, e.device, e.model, e.framework, e.batch, "
              "e.started_at, r.value FROM evaluation e JOIN system s ON s.fingerprint = e.system "
              "JOIN result r ON r.evaluation = e.id AND r.metric = 'inference.latency' "
              "WHERE e.task LIKE $1 AND r.value IS NOT NULL ORDER BY e.started_at",
              {tasks}));
  std::vector<Drift> all;
  for (const auto& row : table.rows) {
    Drift one;
    const std::string task = store::text_of(row[0]);
    one.sweep = task.substr(0, task.find('/'));
    one.fingerprint = store::text_of(row[1]);
    one.system = store::text_of(row[2]);
    one.device = store::text_of(row[3]);
    one.what = store::text_of(row[4]) + ", " + store::text_of(row[5]) + ", batch " +
               batch_text(store::int_of(row[6]));
    auto found = std::find_if(all.begin(), all.end(), [&](const Drift& known) {
      return known.sweep == one.sweep && known.fingerprint == one.fingerprint &&
             known.device == one.device && known.what == one.what;
    });
    if (found == all.end()) found = all.insert(all.end(), std::move(one));
    found->references.push_back({store::text_of(row[7]), store::maybe_double(row[8]).value_or(0)});
  }
  std::erase_if(all, [](const Drift& one) { return one.references.size() < 2; });
  return all;
}

}  // namespace xsp::catalogue
