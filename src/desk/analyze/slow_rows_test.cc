#include "desk/analyze/slow_rows.h"

#include <cctype>
#include <utility>

#include "desk/analyze/prelude.h"

namespace xsp::analyze::slow {
namespace {

int64_t whole(const store::Value& value, int64_t otherwise = kNone) {
  if (const auto* real = std::get_if<double>(&value)) return static_cast<int64_t>(*real);
  const auto* number = std::get_if<int64_t>(&value);
  return number == nullptr ? otherwise : *number;
}

std::string text(const store::Value& value) {
  const auto* words = std::get_if<std::string>(&value);
  return words == nullptr ? "" : *words;
}

std::string lower(std::string words) {
  for (char& c : words) c = static_cast<char>(std::tolower(c));
  return words;
}

}  // namespace

bool starts_with(const std::string& words, const char* beginning) {
  return words.rfind(beginning, 0) == 0;
}

Status RawRows::read() {
  XSP_TRY(const store::Table spans,
          query_with_prelude(
              database_,
              "SELECT span_id, parent_id, coalesce(process, 0), coalesce(thread, 0), level, "
              "site_id, self_ns, start_ns, duration_ns, device, correlation_id, "
              "is_open, name, type FROM span WHERE run_id = cause_run(NULL)"));
  spans_.reserve(spans.rows.size());
  for (const auto& row : spans.rows) {
    Span span;
    int64_t* const fields[] = {&span.id,    &span.parent, &span.process,    &span.thread,
                               &span.level, &span.site,   &span.self_ns,    &span.start,
                               &span.end,   &span.device, &span.correlation};
    for (size_t i = 0; i < std::size(fields); ++i) *fields[i] = whole(row[i]);
    span.end += span.start;
    span.is_open = std::get<bool>(row[11]);
    span.name = text(row[12]);
    if (std::holds_alternative<std::string>(row[13])) span.type = text(row[13]);
    spans_.push_back(std::move(span));
  }
  XSP_TRY(const store::Table phases,
          database_.query("SELECT site_id, value FROM site_attribute WHERE key = 'phase' AND "
                          "run_id = cause_run(NULL) ORDER BY value"));
  for (const auto& row : phases.rows) phase_of_[whole(row[0])] = text(row[1]);
  XSP_TRY(const store::Table facts,
          database_.query("SELECT coalesce(max(value) FILTER (key = 'recorded_by'), ''), "
                          "coalesce(max(value) FILTER (key = 'framework'), '') FROM evaluation"));
  const std::string recorded_by = text(facts.rows[0][0]);
  in_python_ = recorded_by == "xsp run" && text(facts.rows[0][1]) == "torch";
  is_profile_ = recorded_by.empty();
  XSP_TRY(const store::Table device,
          query_with_prelude(database_,
                             "SELECT coalesce(max(device), '') FROM run WHERE device IS NOT NULL"));
  is_on_gpu_ = text(device.rows[0][0]).rfind("cuda", 0) == 0;
  XSP_TRY(const store::Table products,
          query_with_prelude(database_,
                             "SELECT DISTINCT name FROM span WHERE level = 6 AND "
                             "run_id = cause_run(NULL) AND kernel_work(name, NULL) = 2"));
  for (const auto& row : products.rows) products_.insert(text(row[0]));
  XSP_CHECK_OK(read_steps());
  find_operations();
  return Ok{};
}

Status RawRows::read_steps() {
  XSP_TRY(const store::Table steps,
          query_with_prelude(
              database_,
              "SELECT process, coalesce(thread, 0), number, start_ns, end_ns, list_position("
              "['steady', 'warm-up', 'first'], part), own_end_ns, is_whole::INTEGER FROM "
              "every_step "
              "WHERE run_id = cause_run(NULL)"));
  for (const auto& row : steps.rows) {
    steps_.push_back({whole(row[0], 0), whole(row[1]), whole(row[2]), whole(row[3]), whole(row[4]),
                      static_cast<int>(whole(row[5])), whole(row[6]), whole(row[7]) != 0});
  }
  XSP_TRY(
      const store::Table inferences,
      query_with_prelude(database_,
                         "SELECT i.process, coalesce(s.thread, 0), i.start_ns, i.duration_ns FROM "
                         "measured_inference i JOIN span s USING (run_id, iteration, start_ns) "
                         "WHERE run_id = cause_run(NULL) AND is_typical AND s.level = 2 AND "
                         "s.depth = 0 AND coalesce(s.process, 0) = i.process"));
  for (const auto& row : inferences.rows) {
    const int64_t start = whole(row[2]);
    inferences_.push_back({whole(row[0]), whole(row[1]), 0, start, start + whole(row[3]), 0});
  }
  return Ok{};
}

void RawRows::find_operations() {
  std::map<std::pair<int64_t, int64_t>, Call> calls;
  for (const Span& span : spans_) {
    if (span.level != 5 || span.correlation == kNone) continue;
    Call& call = calls[{span.process, span.correlation}];
    if (call.first == nullptr) call = {&span, span.start, span.end};
    if (std::pair(span.start, span.id) < std::pair(call.first->start, call.first->id)) {
      call.first = &span;
    }
    call.start = call.first->start;
    call.end = std::max(call.end, span.end);
  }
  for (const Span& span : spans_) {
    if (span.level != 6 || span.device == kNone || span.is_open || span.end == span.start) continue;
    Operation operation{&span, {}, 1};
    const auto call = calls.find({span.process, span.correlation});
    if (span.correlation != kNone && call != calls.end()) operation.call = call->second;
    if (starts_with(lower(span.name), "nccl")) operation.kind = 2;
    if (span.is({"copy", "memcpy", "memset", "synchronization"})) operation.kind = 3;
    operations_.push_back(operation);
  }
  std::sort(operations_.begin(), operations_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.span->start, a.span->id) < std::pair(b.span->start, b.span->id);
  });
}

}  // namespace xsp::analyze::slow
