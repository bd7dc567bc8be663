#include "desk/experiment/record.h"

#include <stdlib.h>

#include <cstdio>
#include <ctime>
#include <filesystem>

#include "desk/experiment/facts.h"
#include "desk/store/ingest.h"
#include "shared/base/levels.h"

namespace xsp::experiment {
namespace {

store::RunInfo info_of(const Run& run, const Request& request) {
  store::RunInfo info;
  info.run_id = run.planned.run_id;
  info.levels = levels_text(run.planned.levels);
  info.batch = run.planned.batch;
  for (const std::string& name : run.planned.counters) {
    info.counters += (info.counters.empty() ? "" : ",") + name;
  }
  info.device = request.worker.device;
  if (run.ready) {
    if (!info.batch) info.batch = run.ready->batch;
    info.framework = run.ready->framework;
    info.framework_version = run.ready->framework_version;
    info.device = run.ready->device;
    info.threads = run.ready->threads;
  }
  info.warmup_iterations = run.series.warmup_iterations;
  info.iterations = static_cast<int>(run.series.latencies_ns.size());
  info.status = run.status();
  info.reason = run.reason();
  info.stopped_by = run.series.stopped_by;
  for (const MeasuredBlock& block : run.series.blocks) {
    const machine::MachineState& state = block.machine;
    info.blocks.push_back({block.first_iteration, block.iterations, block.start_ns,
                           block.duration_ns, state.cpu_mhz, state.temperature_c, state.load_1min,
                           state.device.sm_clock_mhz, state.device.memory_clock_mhz,
                           state.device.temperature_c, state.device.power_w,
                           state.device.throttle_reasons});
  }
  return info;
}

// Returns the traces of a run of several processes.
std::vector<store::RunTrace> traces_of(const Run& run) {
  std::vector<store::RunTrace> traces;
  int iterations = 0, warmup = 0;
  for (const ProcessPart& process : run.processes) {
    store::RunTrace trace;
    trace.path = process.trace;
    trace.warmup_iterations = process.warmup_iterations;
    trace.iterations_before = iterations;
    trace.warmup_before = warmup;
    iterations += process.iterations;
    warmup += process.warmup_iterations;
    traces.push_back(std::move(trace));
  }
  return traces;
}

Status write_runs(const Record& record, store::Database& database) {
  for (const Run& run : *record.runs) {
    const store::RunInfo info = info_of(run, *record.request);
    std::error_code error;
    if (!run.processes.empty()) {
      XSP_CHECK_OK(store::ingest(database, info, traces_of(run)));
    } else if (std::filesystem::exists(run.trace, error)) {
      XSP_CHECK_OK(store::ingest(database, info, run.trace));
    } else {
      XSP_CHECK_OK(store::record_run(database, info));
    }
  }
  return Ok{};
}

store::Value value_of(const std::optional<double>& number) {
  return number ? store::Value(*number) : store::Value(std::monostate());
}

Status write_results(const std::vector<ResultRow>& rows, store::Database& database) {
  for (const ResultRow& row : rows) {
    const store::Value run_id =
        row.run_id ? store::Value(int64_t{*row.run_id}) : store::Value(std::monostate());
    const store::Value note =
        row.note.empty() ? store::Value(std::monostate()) : store::Value(row.note);
    XSP_CHECK_OK(database.query(
        "INSERT INTO result VALUES ($metric, $value, $low, $high, $unit, $run, $note)",
        {{"metric", row.metric},
         {"value", value_of(row.value)},
         {"low", value_of(row.low)},
         {"high", value_of(row.high)},
         {"unit", row.unit},
         {"run", run_id},
         {"note", note}}));
  }
  return Ok{};
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string short_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::map<std::string, std::string> facts_of(const Request& request, const std::vector<Run>& runs) {
  std::map<std::string, std::string> facts;
  for (const auto& [what, reason] : request.plan.not_measured) {
    facts["not_measured." + what] = reason;
  }
  facts["device"] = request.worker.device;
  facts["seed"] = std::to_string(request.worker.seed);
  facts["limits.width_pct"] = short_number(100 * request.limits.width);
  facts["limits.time_s"] = short_number(request.limits.time_s);
  for (const Run& run : runs) {
    if (!run.ready) continue;
    facts["framework"] = run.ready->framework;
    facts["framework_version"] = run.ready->framework_version;
    facts["device"] = run.ready->device;
    for (const TensorText& t : run.ready->inputs) {
      facts["input." + t.name] = t.dtype + "[" + t.dimensions + "]";
      if (!t.values.empty()) facts["input_values." + t.name] = t.values;
    }
    if (!run.ready->batch_unknown.empty()) facts["not_measured.batch"] = run.ready->batch_unknown;
    for (const TensorText& t : run.ready->outputs) {
      facts["output." + t.name] = t.dtype + "[" + t.dimensions + "]";
    }
    break;
  }
  return facts;
}

std::map<std::string, std::string> facts_of_state(const machine::MachineState& state,
                                                  const std::string& when) {
  std::map<std::string, std::string> facts;
  const auto put = [&](const char* name, const std::optional<double>& value) {
    if (value) facts["machine." + (name + ("_" + when))] = std::to_string(*value);
  };
  put("cpu_mhz", state.cpu_mhz);
  put("temperature_c", state.temperature_c);
  put("load_1min", state.load_1min);
  put("gpu_sm_clock_mhz", state.device.sm_clock_mhz);
  put("gpu_temperature_c", state.device.temperature_c);
  put("gpu_power_w", state.device.power_w);
  return facts;
}

std::vector<std::string> notes_of(const std::vector<std::string>& of_device,
                                  const std::vector<Run>& runs) {
  std::vector<std::string> notes = of_device;
  for (const Run& run : runs) {
    for (const std::string& note : run.notes) notes.push_back(name_of(run.planned) + ": " + note);
  }
  return notes;
}

Status write_record(const Record& record, store::Database& database) {
  XSP_CHECK_OK(write_runs(record, database));
  // One transaction for all: otherwise, each row would wait for the disk.
  XSP_CHECK_OK(database.execute("BEGIN TRANSACTION"));
  XSP_CHECK_OK(write_facts(database, record.facts));
  for (const machine::Peak& peak : record.peaks) {
    XSP_CHECK_OK(database.query("INSERT INTO peak VALUES ($device, $name, $value, $source)",
                                {{"device", peak.device},
                                 {"name", peak.name},
                                 {"value", peak.value},
                                 {"source", peak.source}}));
  }
  int64_t ordinal = 0;
  for (const auto& [name, type] : record.request->model_layers) {
    XSP_CHECK_OK(database.query("INSERT INTO model_layer VALUES ($ordinal, $name, $type)",
                                {{"ordinal", ordinal++}, {"name", name}, {"type", type}}));
  }
  XSP_CHECK_OK(write_results(record.results, database));
  XSP_CHECK_OK(write_settings(database));
  XSP_CHECK_OK(database.execute("COMMIT"));
  return database.finish();
}

Result<std::filesystem::path> write_elsewhere(const Record& record,
                                              const std::filesystem::path& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  std::string folder = ((error ? fs::path("/tmp") : base) / "xsp-rescued-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return failed(folder + ": cannot be made");
  const fs::path path = fs::path(folder) / name;
  const auto write = [&]() -> Status {
    XSP_TRY(store::Database database, store::Database::create(path));
    return write_record(record, database);
  };
  const Status status = write();
  if (status.ok()) return path;
  fs::remove_all(folder, error);
  return status.error();
}

Status write_outcome(const Record& record, store::Database database, Outcome* outcome) {
  const std::filesystem::path& output = record.request->output;
  outcome->file = output;
  const Status status = write_record(record, database);
  if (status.ok()) return Ok{};
  // The measurements are worth more than their place, so the file is written elsewhere.
  outcome->misplaced = failed(output.string() + ": cannot be written: " + status.error().text);
  auto elsewhere = write_elsewhere(record, output.filename());
  if (!elsewhere.ok()) return *outcome->misplaced;
  outcome->file = std::move(elsewhere).value();
  return Ok{};
}

}  // namespace xsp::experiment
