// Chrome's trace events, in JSON: chrome://tracing, Perfetto and many other tools open them.
//
// Times are microseconds since baseTimeNanoseconds, with the nanoseconds as decimals; as absolute
// times they would need more digits than a JavaScript number has. A thread has its own id; further
// tracks and those of streams have ids that no thread has. The members of `args` are the columns of
// the table span, so that xsp import finds them again. An arrow (a flow) leads from a launch to its
// kernels. A metadata event "xsp_run" describes each run, so that xsp import keeps them apart.
#include <algorithm>
#include <set>

#include "exporters/shared/exporter.h"
#include "exporters/shared/json_text.h"
#include "exporters/shared/output.h"
#include "exporters/shared/spans.h"
#include "exporters/shared/tracks.h"
#include "shared/base/levels.h"

namespace xsp::exporters {
namespace {

constexpr int64_t kFirstMadeThread = 1 << 30;  // above every thread's id

class ChromeWriter {
 public:
  ChromeWriter(Output output, std::vector<std::pair<std::string, std::string>> facts,
               store::Table runs)
      : output_(std::move(output)), facts_(std::move(facts)), runs_(std::move(runs)) {}

  Status add(const Span& span) {
    if (is_first_) begin(span.start_ns);
    XSP_TRY(const size_t track, tracks_.place(span));
    if (track == threads_.size()) name_track(tracks_.all()[track]);
    if (span.launch) put_flow(span, track);
    put_span(span, track);
    return output_.spill();
  }

  Status close() {
    output_.text().append("\n]}\n");
    return output_.close();
  }

 private:
  void begin(int64_t base_ns) {
    base_ns_ = base_ns;
    std::string* out = &output_.text();
    out->append("{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":");
    put_number(out, base_ns);
    out->append(",\n\"otherData\":{");
    JsonList list(out);
    for (const auto& [key, value] : facts_) put_text(list.member(key), value);
    out->append("},\n\"traceEvents\":[");
    for (const auto& row : runs_.rows) put_run(row);
  }

  // The members of `args` are the columns of the query in write().
  void put_run(const std::vector<store::Value>& row) {
    JsonList list = event("M", "xsp_run", 0, 0);
    list.member("args")->push_back('{');
    JsonList arguments(&output_.text());
    for (size_t i = 0; i < row.size(); ++i) {
      const char* name = runs_.columns[i].name.c_str();
      if (const auto* number = std::get_if<int64_t>(&row[i])) {
        put_number(arguments.member(name), *number);
      } else if (const auto* text = std::get_if<std::string>(&row[i])) {
        put_text(arguments.member(name), *text);
      }
    }
    output_.text().append("}}");
  }

  // Begins an event; more members follow.
  JsonList event(const char* phase, std::string_view name, int64_t process, int64_t thread) {
    output_.text().append(is_first_ ? "\n{" : ",\n{");
    is_first_ = false;
    JsonList list(&output_.text());
    put_text(list.member("ph"), phase);
    put_text(list.member("name"), name);
    put_number(list.member("pid"), process);
    put_number(list.member("tid"), thread);
    return list;
  }

  void name_track(const Track& track) {
    const bool is_thread = track.thread && track.row == 0;
    threads_.push_back(is_thread ? *track.thread
                                 : kFirstMadeThread + static_cast<int64_t>(threads_.size()));
    if (processes_.insert(track.process).second) {
      put_name("process_name", track.process, 0, "process " + std::to_string(track.process));
    }
    put_name("thread_name", track.process, threads_.back(), track.title());
  }

  void put_name(const char* kind, int64_t process, int64_t thread, const std::string& name) {
    JsonList list = event("M", kind, process, thread);
    list.member("args")->append("{\"name\":");
    put_text(&output_.text(), name);
    output_.text().append("}}");
  }

  void put_flow(const Span& span, size_t track) {
    JsonList list =
        event(span.is_launch() ? "s" : "f", "launch", span.process.value_or(0), threads_[track]);
    put_text(list.member("cat"), "launch");
    put_number(list.member("id"), static_cast<int64_t>(Span::unique(span.run, *span.launch)));
    put_microseconds(list.member("ts"), span.start_ns - base_ns_);
    if (!span.is_launch()) put_text(list.member("bp"), "e");
    output_.text().push_back('}');
  }

  void put_span(const Span& span, size_t track) {
    JsonList list = event("X", span.name, span.process.value_or(0), threads_[track]);
    put_text(list.member("cat"), level_name(span.level));
    put_microseconds(list.member("ts"), span.start_ns - base_ns_);
    put_microseconds(list.member("dur"), span.duration_ns);
    list.member("args")->push_back('{');
    put_arguments(span);
    output_.text().append("}}");
  }

  void put_arguments(const Span& span) {
    JsonList list(&output_.text());
    put_text(list.member("level"), level_name(span.level));
    if (!span.type.empty()) put_text(list.member("type"), span.type);
    put_number(list.member("run"), span.run);
    put_number(list.member("span"), span.id);
    const std::pair<const char*, std::optional<int64_t>> numbers[] = {
        {"parent", span.parent}, {"iteration", span.iteration}, {"thread", span.thread},
        {"device", span.device}, {"stream", span.stream},       {"correlation", span.correlation}};
    for (const auto& [key, number] : numbers) {
      if (number) put_number(list.member(key), *number);
    }
    if (span.is_open) list.member("open")->append("true");
    put_facts(&list, "attributes", span.facts, false);
    put_facts(&list, "counters", span.facts, true);
  }

  void put_facts(JsonList* list, const char* member, const std::vector<Fact>& facts,
                 bool are_numbers) {
    const auto is_one = [&](const Fact& fact) { return fact.number.has_value() == are_numbers; };
    if (std::none_of(facts.begin(), facts.end(), is_one)) return;
    list->member(member)->push_back('{');
    JsonList inner(&output_.text());
    for (const Fact& fact : facts) {
      if (!is_one(fact)) continue;
      std::string* out = inner.member(fact.key);
      fact.number ? put_number(out, *fact.number) : put_text(out, fact.text);
    }
    output_.text().push_back('}');
  }

  Output output_;
  std::vector<std::pair<std::string, std::string>> facts_;
  store::Table runs_;
  Tracks tracks_;
  std::vector<int64_t> threads_;  // the id of each track's thread
  std::set<int64_t> processes_;
  int64_t base_ns_ = 0;
  bool is_first_ = true;
};

Result<Written> write(const Request& request) {
  XSP_TRY(store::Database database, open_for_export(request));
  XSP_TRY(auto facts, facts_of_evaluation(database));
  XSP_TRY(Output output, Output::create(request.output));
  XSP_TRY(store::Table runs,
          database.query("SELECT run_id::BIGINT AS run, levels, batch::BIGINT AS batch, "
                         "counters AS counters_of_run, framework, framework_version, "
                         "device AS run_device FROM run "
                         "WHERE $run IS NULL OR run_id = $run ORDER BY run_id",
                         {{"run", request.run ? store::Value(*request.run)
                                              : store::Value(std::monostate())}}));
  ChromeWriter writer(std::move(output), std::move(facts), std::move(runs));
  XSP_TRY(const uint64_t spans,
          each_span(database, request, [&](const Span& span) { return writer.add(span); }));
  XSP_CHECK_OK(writer.close());
  return Written{spans, "span"};
}

}  // namespace

std::vector<Exporter> chrome_exporters() {
  return {{"chrome", "trace events in JSON, for chrome://tracing, Perfetto and others", ".json",
           Takes::kSpans, write}};
}

}  // namespace xsp::exporters
