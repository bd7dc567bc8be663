#include "desk/store/ingest.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "desk/correlate/correlate.h"
#include "desk/store/appender.h"
#include "desk/store/duck.h"
#include "desk/store/samples.h"
#include "desk/store/span_source.h"
#include "shared/trace/reader.h"

namespace xsp::store {

namespace {

constexpr const char* kIterationKey =
    "iteration";  // key of a model span; see process/worker/protocol.h

// Correlation ids are unique within a process. Each process gets a range of this many.
constexpr int64_t kCorrelationsOfATrace = int64_t{1} << 40;

Value optional_text(const std::string& text) {
  return text.empty() ? Value(std::monostate()) : Value(text);
}

template <typename T>
Value optional_number(const std::optional<T>& number) {
  if (!number) return std::monostate();
  if constexpr (std::is_floating_point_v<T>) return Value(double{*number});
  return Value(static_cast<int64_t>(*number));
}

Status insert_block(Database& database, const RunInfo& run, int64_t number) {
  const BlockInfo& block = run.blocks[static_cast<size_t>(number)];
  const std::map<std::string, Value> values = {
      {"run_id", int64_t{run.run_id}},
      {"block", number},
      {"first", int64_t{block.first_iteration} - run.warmup_iterations},
      {"iterations", int64_t{block.iterations}},
      {"start", block.start_ns},
      {"duration", block.duration_ns},
      {"mhz", optional_number(block.cpu_mhz)},
      {"temperature", optional_number(block.temperature_c)},
      {"load", optional_number(block.load_1min)},
      {"gpu_sm", optional_number(block.gpu_sm_clock_mhz)},
      {"gpu_memory", optional_number(block.gpu_memory_clock_mhz)},
      {"gpu_temperature", optional_number(block.gpu_temperature_c)},
      {"gpu_power", optional_number(block.gpu_power_w)},
      {"gpu_reasons", block.gpu_throttle_reasons ? Value(*block.gpu_throttle_reasons) : Value()}};
  XSP_CHECK_OK(database.query(
      "INSERT INTO block(run_id, block, first_iteration, iterations, start_ns, duration_ns, "
      "cpu_mhz, temperature_c, load_1min, gpu_sm_clock_mhz, gpu_memory_clock_mhz, "
      "gpu_temperature_c, gpu_power_w, gpu_throttle_reasons) VALUES ($run_id, $block, $first, "
      "$iterations, $start, $duration, $mhz, $temperature, $load, $gpu_sm, $gpu_memory, "
      "$gpu_temperature, $gpu_power, $gpu_reasons)",
      values));
  return Ok{};
}

Status insert_run(Database& database, const RunInfo& run) {
  const std::map<std::string, Value> values = {
      {"run_id", int64_t{run.run_id}},
      {"levels", run.levels},
      {"batch", optional_number(run.batch)},
      {"counters", optional_text(run.counters)},
      {"framework", optional_text(run.framework)},
      {"framework_version", optional_text(run.framework_version)},
      {"device", optional_text(run.device)},
      {"threads", optional_number(run.threads)},
      {"warmup", int64_t{run.warmup_iterations}},
      {"iterations", int64_t{run.iterations}},
      {"status", run.status},
      {"reason", optional_text(run.reason)},
      {"stopped_by", optional_text(run.stopped_by)}};
  XSP_CHECK_OK(
      database.query("INSERT INTO run(run_id, levels, batch, counters, framework, "
                     "framework_version, device, threads,"
                     " warmup_iterations, iterations, status, reason, stopped_by) VALUES ($run_id, "
                     "$levels, $batch,"
                     " $counters, $framework, $framework_version, $device, $threads, $warmup, "
                     "$iterations, $status,"
                     " $reason, $stopped_by)",
                     values));
  for (size_t number = 0; number < run.blocks.size(); ++number) {
    XSP_CHECK_OK(insert_block(database, run, static_cast<int64_t>(number)));
  }
  return Ok{};
}

// Numbers the sites of a run. Equal sites of several traces are one: the processes of a program run
// the same layers. Equal sites of one trace stay apart, and each is one with its like in another.
class SiteNumbers {
 public:
  explicit SiteNumbers(int32_t last) : last_(last) {}
  // Returns the number of each of the trace's sites, by their ids there, and adds those that are
  // new to `added`.
  std::vector<int32_t> number(const trace::Reader& reader, std::vector<const trace::Site*>* added);

 private:
  static std::string text_of(const trace::Site& site);

  int32_t last_;
  std::unordered_map<std::string, int32_t> known_;
};

std::vector<int32_t> SiteNumbers::number(const trace::Reader& reader,
                                         std::vector<const trace::Site*>* added) {
  std::vector<int32_t> numbers(1);
  std::unordered_map<std::string, int> equal_ones;
  for (const trace::Site& site : reader.sites()) {
    std::string text = text_of(site);
    const int place = equal_ones[text]++;
    const auto [found, is_new] =
        known_.try_emplace(std::move(text) + ' ' + std::to_string(place), last_ + 1);
    if (is_new) {
      ++last_;
      added->push_back(&site);
    }
    if (site.id >= numbers.size()) numbers.resize(size_t{site.id} + 1);
    numbers[site.id] = found->second;
  }
  return numbers;
}

// Returns all that is known of a site, with the length of each part before it.
std::string SiteNumbers::text_of(const trace::Site& site) {
  std::string text = std::to_string(site.level);
  const auto add = [&text](std::string_view part) {
    text += ' ' + std::to_string(part.size()) + ' ';
    text += part;
  };
  add(site.name);
  add(site.type);
  for (const auto& [key, value] : site.attributes) {
    add(key);
    add(value);
  }
  for (const auto& [key, value] : site.counters) {
    add(key);
    add({reinterpret_cast<const char*>(&value), sizeof value});
  }
  return text;
}

using Sites = std::vector<const trace::Site*>;

Status insert_site_names(Database& database, const Sites& added, const Part& part) {
  Database::State& state = database.state();
  XSP_TRY(TableAppender sites,
          TableAppender::open(state.connection.get(), state.name, "span_site"));
  std::deque<BorrowedText> texts;
  size_t rows = 0;
  for (const trace::Site* site : added) {
    const BorrowedText& name = texts.emplace_back(site->name, state.replaced_texts);
    const BorrowedText& type = texts.emplace_back(site->type, state.replaced_texts);
    sites.column<int32_t>(0)[rows] = part.sites[site->id];
    sites.column<duckdb_string_t>(1)[rows] = name.get();
    sites.column<duckdb_string_t>(2)[rows] = type.get();
    sites.set_null(2, rows, type.is_empty());
    if (++rows < sites.capacity()) continue;
    XSP_CHECK_OK(sites.append(rows));
    rows = 0;
  }
  XSP_CHECK_OK(sites.append(rows));
  return sites.close();
}

Status insert_sites(Database& database, int32_t run_id, const Sites& added, const Part& part) {
  Database::State& state = database.state();
  XSP_TRY(FactAppender attributes,
          FactAppender::open(state.connection.get(), state.name, "site_attribute"));
  XSP_TRY(FactAppender counters,
          FactAppender::open(state.connection.get(), state.name, "site_counter"));
  XSP_CHECK_OK(insert_site_names(database, added, part));
  std::deque<std::string> keys;  // keeps the keys in place while the appenders borrow them
  for (const trace::Site* site : added) {
    for (const auto& [key, value] : site->attributes) {
      keys.push_back(keep_text(key, state.replaced_texts));
      XSP_CHECK_OK(attributes.add(run_id, part.sites[site->id], borrow_text(keys.back()),
                                  keep_text(value, state.replaced_texts)));
    }
    for (const auto& [key, value] : site->counters) {
      keys.push_back(keep_text(key, state.replaced_texts));
      XSP_CHECK_OK(counters.add(run_id, part.sites[site->id], borrow_text(keys.back()), value));
    }
  }
  XSP_CHECK_OK(attributes.close());
  return counters.close();
}

using Losses = std::map<std::pair<std::string, std::string>, uint64_t>;

// The totals over all traces of a run.
struct Whole {
  explicit Whole(int32_t last_site) : sites(last_site) {}

  Part next;  // the place of the next trace
  SiteNumbers sites;
  Losses losses;
  correlate::Facts facts;
  StackTree stacks;
  bool is_complete = true;

  void add(const trace::Reader& reader, const RunTrace& trace, const correlate::Facts& of_trace);
};

void Whole::add(const trace::Reader& reader, const RunTrace& trace, const correlate::Facts& one) {
  for (const trace::Loss& loss : reader.losses()) {
    if (!trace.has_losses) break;
    losses[{loss.source, loss.cause}] += loss.count;
  }
  // These losses are known only after the chunks are decoded.
  if (one.damaged_chunks > 0) losses[{"trace", "unreadable chunk"}] += one.damaged_chunks;
  if (one.unknown_site > 0) losses[{"trace", "span of an unknown site"}] += one.unknown_site;
  is_complete = is_complete && reader.is_complete();
  using Count = uint64_t correlate::Facts::*;
  for (const Count count :
       {&correlate::Facts::spans, &correlate::Facts::open_spans, &correlate::Facts::roots,
        &correlate::Facts::unattributed, &correlate::Facts::ambiguous, &correlate::Facts::clipped,
        &correlate::Facts::overlapping, &correlate::Facts::launches, &correlate::Facts::executions,
        &correlate::Facts::executions_unmatched, &correlate::Facts::launches_unmatched}) {
    facts.*count += one.*count;
  }
  facts.clipped_max_ns = std::max(facts.clipped_max_ns, one.clipped_max_ns);
}

Status insert_losses(Database& database, int32_t run_id, const Losses& losses) {
  for (const auto& [what, count] : losses) {
    XSP_CHECK_OK(database.query("INSERT INTO loss VALUES ($run, $source, $cause, $count)",
                                {{"run", int64_t{run_id}},
                                 {"source", what.first},
                                 {"cause", what.second},
                                 {"count", static_cast<int64_t>(count)}}));
  }
  return Ok{};
}

Status insert_facts(Database& database, int32_t run_id, const Whole& whole) {
  const correlate::Facts& facts = whole.facts;
  const std::pair<const char*, uint64_t> rows[] = {
      {"spans", facts.spans},
      {"open_spans", facts.open_spans},
      {"trace_complete", whole.is_complete ? 1 : 0},
      {"roots", facts.roots},
      {"unattributed", facts.unattributed},
      {"ambiguous", facts.ambiguous},
      {"clipped", facts.clipped},
      {"clipped_max_ns", static_cast<uint64_t>(facts.clipped_max_ns)},
      {"overlapping", facts.overlapping},
      {"launches", facts.launches},
      {"executions", facts.executions},
      {"executions_unmatched", facts.executions_unmatched},
      {"launches_unmatched", facts.launches_unmatched}};
  for (const auto& [name, value] : rows) {
    XSP_CHECK_OK(database.query("INSERT INTO audit_fact VALUES ($run, $name, $value)",
                                {{"run", int64_t{run_id}},
                                 {"name", std::string(name)},
                                 {"value", static_cast<int64_t>(value)}}));
  }
  return Ok{};
}

uint32_t find_key(const trace::Reader& reader, const char* name) {
  const auto& keys = reader.keys();
  const auto found = std::find(keys.begin(), keys.end(), name);
  return found == keys.end() ? 0 : static_cast<uint32_t>(found - keys.begin());
}

// Row order is not kept, because several threads can then insert, and a table has no order anyway.
Status insert_in_parallel(Database& database) {
  XSP_CHECK_OK(database.execute("SET preserve_insertion_order = false; SET threads = " +
                                std::to_string(SpanSource::threads())));
  const Status status = database.execute("INSERT INTO span_row SELECT * FROM xsp_spans()");
  XSP_CHECK_OK(database.execute("SET preserve_insertion_order = true"));
  return status;
}

// Advances `next` past the trace's numbers.
Status insert_spans(Database& database, const RunInfo& run, const trace::Reader& reader,
                    const RunTrace& trace, correlate::Correlation* correlation, Part* next) {
  next->warmup_iterations = trace.warmup_iterations;
  next->iterations_before = trace.iterations_before;
  next->warmup_before = trace.warmup_before;
  SpanSource source(run, reader, *next, correlation);
  XSP_CHECK_OK(SpanSource::attach(&database.state(), &source));
  const Status status = insert_in_parallel(database);
  SpanSource::detach(&database.state());
  if (source.error()) return *source.error();
  next->first_span = std::max(next->first_span, source.last_span());
  next->first_correlation += kCorrelationsOfATrace;
  return status;
}

// `values` is a separate connection, because DuckDB reads the spans while their values are
// appended.
Status ingest_trace(Database& database, duckdb_connection values, const RunInfo& run,
                    const RunTrace& trace, Whole* whole) {
  XSP_TRY(const trace::Reader reader, trace::Reader::open(trace.path));
  Sites added;
  whole->next.sites = whole->sites.number(reader, &added);
  XSP_CHECK_OK(insert_sites(database, run.run_id, added, whole->next));
  XSP_TRY(ValueWriter writer,
          ValueWriter::open(values, &database.state(), run.run_id, reader, whole->next));
  correlate::Options options;
  options.iteration_key = find_key(reader, kIterationKey);
  options.calls = trace.calls.get();
  const correlate::ReaderSource all(reader);
  const correlate::WindowedSource some(all, trace.windows, trace.levels);
  const correlate::Source& source =
      trace.windows.empty() ? static_cast<const correlate::Source&>(all) : some;
  XSP_TRY(correlate::Correlation correlation,
          correlate::Correlation::begin(source, options, &writer));
  XSP_CHECK_OK(insert_spans(database, run, reader, trace, &correlation, &whole->next));
  XSP_CHECK_OK(writer.close());
  XSP_CHECK_OK(insert_samples(database, run.run_id, reader, trace, &whole->stacks));
  whole->add(reader, trace, correlation.facts());
  return Ok{};
}

// Makes the tables of spans.sql if they are missing. Returns the largest site id in them.
Result<int32_t> prepare_spans(Database& database) {
  XSP_TRY(const Table plain, database.query("SELECT table_name FROM duckdb_tables() "
                                            "WHERE NOT internal AND table_name = 'span'"));
  if (!plain.rows.empty()) XSP_CHECK_OK(database.execute(kSpansSql));
  XSP_TRY(const Table last,
          database.query("SELECT coalesce(max(site_id), 0)::BIGINT FROM span_site"));
  return static_cast<int32_t>(std::get<int64_t>(last.rows[0][0]));
}

Result<IngestReport> ingest_traces(Database& database, duckdb_connection values, const RunInfo& run,
                                   const std::vector<RunTrace>& traces) {
  XSP_CHECK_OK(insert_run(database, run));
  XSP_TRY(const int32_t last_site, prepare_spans(database));
  Whole whole(last_site);
  for (const RunTrace& trace : traces) {
    XSP_CHECK_OK(ingest_trace(database, values, run, trace, &whole));
  }
  XSP_CHECK_OK(whole.stacks.insert(database, run.run_id));
  XSP_CHECK_OK(insert_losses(database, run.run_id, whole.losses));
  XSP_CHECK_OK(insert_facts(database, run.run_id, whole));
  IngestReport report;
  report.spans = whole.facts.spans;
  report.unattributed = whole.facts.unattributed;
  report.ambiguous = whole.facts.ambiguous;
  // Lost samples are left out, because the shares that the others show stay correct.
  for (const auto& [what, count] : whole.losses) report.lost += what.first == "stacks" ? 0 : count;
  return report;
}

// Sets the parents of the spans that stand for processes. These parents are in other traces.
Status join_processes(Database& database, int32_t run_id) {
  XSP_CHECK_OK(database.query(
      "WITH process AS (SELECT span_id, process, start_ns, start_ns + duration_ns AS end_ns "
      "  FROM span WHERE run_id = $run AND level = 1 AND type = 'process'), "
      "child AS (SELECT span_id, start_ns, try_cast(value AS INTEGER) AS parent "
      "  FROM process JOIN span_attribute USING (span_id) "
      "  WHERE run_id = $run AND key = 'parent_process'), "
      "found AS (SELECT child.span_id, arg_max(process.span_id, process.start_ns) AS parent_id "
      "  FROM child JOIN process ON process.process = child.parent "
      "    AND child.start_ns BETWEEN process.start_ns AND process.end_ns "
      "    AND process.span_id <> child.span_id GROUP BY ALL) "
      "UPDATE span_row SET parent_id = found.parent_id FROM found "
      "WHERE span_row.run_id = $run AND span_row.span_id = found.span_id",
      {{"run", int64_t{run_id}}}));
  return Ok{};
}

// Makes each request the parent of the model span that answered it. It is on another thread, and
// its attribute `request` has the request's number: see process/load/request_spans.h.
Status join_requests(Database& database, int32_t run_id) {
  XSP_TRY(
      const Table requests,
      database.query("SELECT 1 FROM span WHERE run_id = $run AND level = 1 AND type = 'request' "
                     "LIMIT 1",
                     {{"run", int64_t{run_id}}}));
  if (requests.rows.empty()) return Ok{};
  XSP_CHECK_OK(database.query(
      "CREATE TEMP TABLE request_model AS "
      "WITH numbered AS (SELECT span_id, level, duration_ns, try_cast(value AS BIGINT) AS request "
      "  FROM span JOIN span_attribute USING (run_id, span_id) "
      "  WHERE run_id = $run AND key = 'request' AND (level = 2 OR level = 1 AND type = "
      "'request')) "
      "SELECT r.span_id AS request_span, m.span_id AS model_span, m.duration_ns AS model_ns "
      "  FROM numbered r JOIN numbered m USING (request) WHERE r.level = 1 AND m.level = 2",
      {{"run", int64_t{run_id}}}));
  XSP_CHECK_OK(
      database.query("UPDATE span_row SET parent_id = request_span FROM request_model "
                     "WHERE span_row.run_id = $run AND span_row.span_id = model_span",
                     {{"run", int64_t{run_id}}}));
  XSP_CHECK_OK(database.query(
      "UPDATE span_row SET self_ns = greatest(0, self_ns - model_ns) "
      "FROM request_model WHERE span_row.run_id = $run AND span_row.span_id = request_span",
      {{"run", int64_t{run_id}}}));
  XSP_CHECK_OK(
      database.query("UPDATE audit_fact SET value = value - (SELECT count(*) FROM request_model) "
                     "WHERE run_id = $run AND name = 'roots'",
                     {{"run", int64_t{run_id}}}));
  return database.execute("DROP TABLE request_model");
}

Status execute(duckdb_connection connection, const std::string& name, const char* sql) {
  QueryResult result;
  if (duckdb_query(connection, sql, &result.result) == DuckDBSuccess) return Ok{};
  return query_error(name, duckdb_result_error(&result.result));
}

}  // namespace

Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::filesystem::path& trace) {
  return ingest(database, run, std::vector<std::filesystem::path>{trace});
}

Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::vector<std::filesystem::path>& traces) {
  std::vector<RunTrace> whole;
  for (const std::filesystem::path& path : traces) {
    RunTrace trace;
    trace.path = path;
    trace.warmup_iterations = run.warmup_iterations;
    whole.push_back(std::move(trace));
  }
  return ingest(database, run, whole);
}

Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::vector<RunTrace>& traces) {
  Database::State& state = database.state();
  Connection values;
  if (!state.database || duckdb_connect(state.database.get(), values.out()) != DuckDBSuccess) {
    return failed(state.name + ": cannot be written: it is finished");
  }
  XSP_CHECK_OK(execute(values.get(), state.name, "BEGIN TRANSACTION"));
  XSP_CHECK_OK(database.execute("BEGIN TRANSACTION"));
  Result<IngestReport> report = ingest_traces(database, values.get(), run, traces);
  if (!report.ok()) {
    // The first error is the one to report. The values are dropped with their connection.
    (void)database.execute("ROLLBACK").ok();
    return report;
  }
  XSP_CHECK_OK(database.execute("COMMIT"));
  XSP_CHECK_OK(execute(values.get(), state.name, "COMMIT"));
  if (traces.size() > 1) XSP_CHECK_OK(join_processes(database, run.run_id));
  XSP_CHECK_OK(join_requests(database, run.run_id));
  return report;
}

Status record_run(Database& database, const RunInfo& run) { return insert_run(database, run); }

}  // namespace xsp::store
