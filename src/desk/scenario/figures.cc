#include "desk/scenario/figures.h"

#include <algorithm>
#include <map>
#include <utility>

namespace xsp::scenario {

using experiment::ResultRow;

ResultRow row_of(const std::string& metric, const Percentile& figure, const std::string& unit) {
  ResultRow row{metric, figure.value, {}, {}, unit, 1, ""};
  if (figure.interval) {
    row.low = figure.interval->low;
    row.high = figure.interval->high;
  }
  return row;
}

void add_times(const std::string& name, const std::vector<double>& times_ns,
               std::vector<ResultRow>* rows) {
  constexpr std::pair<const char*, double> kShares[] = {
      {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
  if (times_ns.empty()) return;
  rows->push_back(row_of(name + ".mean", mean_of(times_ns), "ns"));
  for (const auto& [share_name, share] : kShares) {
    rows->push_back(row_of(name + "." + share_name, percentile_of(times_ns, share), "ns"));
  }
}

namespace {

std::vector<double> durations(const Load& load, int64_t Answer::*from, int64_t Answer::*to) {
  std::vector<double> values;
  values.reserve(load.answers.size());
  for (const Answer& answer : load.answers) {
    values.push_back(static_cast<double>(answer.*to - answer.*from));
  }
  return values;
}

// Adds the mean latency of the slowest 1 % of the requests, and the means of its parts, which add
// up to it.
void add_tail(const Load& load, std::vector<ResultRow>* rows) {
  std::vector<Answer> slowest = load.answers;
  std::sort(slowest.begin(), slowest.end(), [](const Answer& a, const Answer& b) {
    return a.done_ns - a.arrival_ns > b.done_ns - b.arrival_ns;
  });
  const size_t count = (slowest.size() + 99) / 100;
  const auto add = [&](const char* name, int64_t Answer::*from, int64_t Answer::*to) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum += static_cast<double>(slowest[i].*to - slowest[i].*from);
    ResultRow row = row_of(name, {sum / static_cast<double>(count), {}}, "ns");
    row.note = "mean of the slowest " + std::to_string(count) + " requests";
    rows->push_back(row);
  };
  add("tail.latency", &Answer::arrival_ns, &Answer::done_ns);
  add("tail.queue", &Answer::arrival_ns, &Answer::free_ns);
  add("tail.batcher", &Answer::free_ns, &Answer::formed_ns);
  add("tail.pipeline", &Answer::formed_ns, &Answer::ready_ns);
  add("tail.model", &Answer::ready_ns, &Answer::computed_ns);
  add("tail.output", &Answer::computed_ns, &Answer::done_ns);
}

// Adds the share of the load's time that each instance was busy with batches.
void add_busy(const Load& load, int64_t instances, std::vector<ResultRow>* rows) {
  std::vector<double> busy_ns(static_cast<size_t>(instances), 0);
  for (const Answer& answer : load.answers) {
    if (answer.position > 0 || answer.instance >= instances) continue;
    busy_ns[static_cast<size_t>(answer.instance)] +=
        static_cast<double>(answer.done_ns - answer.formed_ns);
  }
  for (size_t i = 0; i < busy_ns.size(); ++i) {
    rows->push_back(
        row_of(kBusy + std::to_string(i), {busy_ns[i] / 1e9 / load.seconds, {}}, "share"));
  }
}

}  // namespace

std::vector<ResultRow> rows_of(const Load& load, int64_t instances) {
  std::vector<ResultRow> rows;
  const double count = static_cast<double>(load.answers.size());
  rows.push_back(row_of("rate", {count / load.seconds, {}}, "per_s"));
  rows.push_back(row_of("answered", {count, {}}, "count"));
  rows.push_back(row_of("abandoned", {static_cast<double>(load.abandoned), {}}, "count"));
  add_times("latency", durations(load, &Answer::arrival_ns, &Answer::done_ns), &rows);
  add_times("queue", durations(load, &Answer::arrival_ns, &Answer::free_ns), &rows);
  add_times("batcher", durations(load, &Answer::free_ns, &Answer::formed_ns), &rows);
  add_times("pipeline", durations(load, &Answer::formed_ns, &Answer::ready_ns), &rows);
  add_times("model", durations(load, &Answer::ready_ns, &Answer::computed_ns), &rows);
  add_times("output", durations(load, &Answer::computed_ns, &Answer::done_ns), &rows);
  add_tail(load, &rows);
  add_busy(load, instances, &rows);
  std::map<int64_t, double> sizes;
  for (const Answer& answer : load.answers) sizes[answer.batch_size] += answer.position == 0;
  for (const auto& [size, batches] : sizes) {
    rows.push_back(row_of("batches_of." + std::to_string(size), {batches, {}}, "count"));
  }
  return rows;
}

double latency_of(const Load& load, const Bound& bound) {
  return percentile_of(durations(load, &Answer::arrival_ns, &Answer::done_ns), bound.share).value;
}

std::vector<ResultRow> token_rows_of(const Load& load) {
  std::map<int64_t, int64_t> arrivals;
  for (const Answer& answer : load.answers) arrivals[answer.id] = answer.arrival_ns;
  std::vector<int64_t> arrivals_ns;
  for (const auto& [id, ns] : arrivals) arrivals_ns.push_back(ns);
  return rows_of_tokens(load.generated, arrivals_ns, load.seconds);
}

std::string clients_text(int64_t clients) {
  return std::to_string(clients) + (clients == 1 ? " client" : " clients");
}

std::vector<ResultRow> point_of(int64_t clients, const std::vector<ResultRow>& token_rows) {
  std::vector<ResultRow> point;
  for (ResultRow row : token_rows) {
    if (row.metric.find("tokens_per_s") == std::string::npos &&
        row.metric.find(".p50") == std::string::npos && row.metric != "cache.max") {
      continue;
    }
    row.metric += ".at_clients";
    row.run_id.reset();
    row.note = clients_text(clients);
    point.push_back(std::move(row));
  }
  return point;
}

}  // namespace xsp::scenario
