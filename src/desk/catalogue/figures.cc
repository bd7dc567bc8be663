#include "desk/catalogue/figures.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/compare/facts.h"
#include "desk/manifest/sha256.h"
#include "desk/store/database.h"
#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

using store::Table;
using store::Value;

// Where a figure stands in the rows of an analysis. Empty texts: the figure has no such column.
struct Source {
  const char* metric;
  const char* analysis;
  const char* column;
  const char* unit;
  const char* levels;
  const char* low = "";
  const char* high = "";
  const char* half = "";  // half the width of the interval, instead of its ends
  const char* row_column = "";
  const char* row_text = "";
  const char* second_column = "";
  const char* second_text = "";
  const char* needed = "";  // a column that is not empty in the figure's row
  const char* other = "";   // the column of the value, if the first one is empty
  const char* name = "";    // the column of a word that says of what the value is
  const char* why = "";     // the column that says why there is no value
  bool is_sum = false;
  bool is_word = false;
  bool is_counted = false;  // of kernels, some of which may have no counters

  constexpr Source ends(const char* low_column, const char* high_column) const {
    Source one = *this;
    one.low = low_column;
    one.high = high_column;
    return one;
  }
  constexpr Source half_width(const char* its_column) const {
    Source one = *this;
    one.half = its_column;
    return one;
  }
  // The figure's row has this text, or a list with it, in this column; with a second call, both.
  constexpr Source where(const char* its_column, const char* text) const {
    Source one = *this;
    const bool is_second = *one.row_column != '\0';
    (is_second ? one.second_column : one.row_column) = its_column;
    (is_second ? one.second_text : one.row_text) = text;
    return one;
  }
  constexpr Source needs(const char* its_column) const {
    Source one = *this;
    one.needed = its_column;
    return one;
  }
  constexpr Source otherwise(const char* its_column) const {
    Source one = *this;
    one.other = its_column;
    return one;
  }
  constexpr Source named(const char* its_column) const {
    Source one = *this;
    one.name = its_column;
    return one;
  }
  constexpr Source absent(const char* its_column) const {
    Source one = *this;
    one.why = its_column;
    return one;
  }
  constexpr Source counted() const {
    Source one = *this;
    one.is_counted = true;
    return one;
  }
  // The sum over all rows.
  constexpr Source sum() const {
    Source one = *this;
    one.is_sum = true;
    return one;
  }
};

constexpr Source word(const char* metric, const char* analysis, const char* column,
                      const char* levels) {
  Source one{metric, analysis, column, "word", levels};
  one.is_word = true;
  return one;
}

constexpr const char* kModelAnalysis = "model_information";
constexpr const char* kSummary = "model_summary";
constexpr const char* kRoofline = "layer_roofline";
constexpr const char* kConvolution = "convolution_share";
constexpr const char* kThird = "dominant_third";
constexpr const char* kKernels = "kernels_in_model";
constexpr std::array kSources = {
    Source{"inference.latency", kModelAnalysis, "latency_ns", "ns", "model"}.ends("low_ns",
                                                                                  "high_ns"),
    Source{"inference.p50", kModelAnalysis, "median_ns", "ns", "model"},
    Source{"inference.p90", kModelAnalysis, "p90_ns", "ns", "model"},
    Source{"inference.p99", kModelAnalysis, "p99_ns", "ns", "model"},
    Source{"inference.device", kModelAnalysis, "device_ns", "ns", "kernel"},
    Source{"inference.span", kModelAnalysis, "span_ns", "ns", "kernel"},
    Source{"step.period", kModelAnalysis, "step_ns", "ns", ""}.ends("step_low_ns", "step_high_ns"),
    Source{"throughput", kModelAnalysis, "throughput_per_s", "per_s", "model"}.absent(
        "throughput_of"),
    Source{"best_batch.knee", kModelAnalysis, "batch", "count", "model"}.where("role", "knee"),
    Source{"best_batch.peak", kModelAnalysis, "batch", "count", "model"}.where("role", "peak"),
    Source{"layers.flops", kSummary, "value", "flops", "layer"}
        .where("section", "work")
        .where("item", "flops"),
    Source{"layers.rate", kSummary, "value", "flops_per_s", "layer"}
        .where("section", "work")
        .where("item", "rate"),
    Source{"layers.weights", kSummary, "value", "bytes", "layer"}
        .where("section", "memory")
        .where("item", "weights"),
    Source{"layers.bytes", kRoofline, "bytes", "bytes", "layer"}.sum(),
    Source{"ceiling.arithmetic", kRoofline, "peak_flops_per_s", "flops_per_s", ""},
    Source{"ceiling.memory", kRoofline, "peak_bytes_per_s", "bytes_per_s", ""},
    Source{"convolution.latency_share", kConvolution, "share_pct", "pct", "layer"}
        .where("figure", "latency")
        .where("source", "host"),
    Source{"convolution.kernel_share", kConvolution, "share_pct", "pct", "kernel"}
        .where("figure", "kernel latency")
        .where("source", "device"),
    Source{"third.latency", kThird, "latency_pct", "pct", "layer"}
        .where("dominates", "latency")
        .named("third"),
    Source{"third.kernels", kThird, "kernel_latency_pct", "pct", "kernel"}
        .where("dominates", "kernel latency")
        .named("third"),
    Source{"third.memory", kThird, "memory_pct", "pct", "layer"}
        .where("dominates", "memory")
        .named("third"),
    Source{"third.flops", kThird, "counted_flops_pct", "pct", "layer"}
        .where("dominates", "flops")
        .named("third")
        .otherwise("flops_pct"),
    Source{"third.accesses", kThird, "counted_accesses_pct", "pct", "layer"}
        .where("dominates", "accesses")
        .named("third")
        .otherwise("accesses_pct"),
    // Without the work of the layers or kernels, the bottleneck is only what nobody recorded.
    word("bottleneck", "bottleneck", "bottleneck", "").needs("work"),
    Source{"bottleneck.share", "bottleneck", "share_pct", "pct", ""}.needs("work"),
    word("work.bound", "bottleneck", "work_bound", ""),
    Source{"kernels.count", kKernels, "kernels", "count", "kernel"},
    Source{"kernels.latency", kKernels, "kernel_latency_ns", "ns", "kernel"},
    Source{"kernels.share", kKernels, "gpu_share_pct", "pct", "kernel"},
    Source{"kernels.flops", kKernels, "flops", "flops", "kernel"}.counted(),
    Source{"kernels.read", kKernels, "dram_read_bytes", "bytes", "kernel"}.counted(),
    Source{"kernels.written", kKernels, "dram_write_bytes", "bytes", "kernel"}.counted(),
    Source{"kernels.occupancy", kKernels, "occupancy_pct", "pct", "kernel"}.counted(),
    Source{"kernels.intensity", kKernels, "intensity_flops_per_byte", "flops_per_byte", "kernel"}
        .counted(),
    Source{"kernels.ideal_intensity", kKernels, "ideal_flops_per_byte", "flops_per_byte", "kernel"}
        .counted(),
    Source{"kernels.rate", kKernels, "arithmetic_flops_per_s", "flops_per_s", "kernel"}.counted(),
    word("kernels.bound", kKernels, "bound", "kernel").counted(),
    Source{"energy.inference", "energy", "energy_j", "j", "model"}.half_width("uncertainty_j"),
    Source{"energy.input", "energy", "input_j", "j", "model"},
    Source{"power", "energy", "mean_w", "w", "model"},
    Source{"cost.million_inputs", "cost", "cost_per_million", "price", "model"},
};

// Finds the columns of an analysis's rows by name.
class Rows {
 public:
  explicit Rows(const Table& table) : table_(table) {}
  const Value& at(const std::vector<Value>& row, std::string_view name) const {
    static const Value nothing;
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (table_.columns[i].name == name) return row[i];
    }
    return nothing;
  }
  bool fits(const std::vector<Value>& row, const Source& source, int64_t batch) const {
    const auto its_batch = store::maybe_int(at(row, "batch"));
    if (batch != kBatchUnknown && its_batch && *its_batch != batch) return false;
    const bool has_needed =
        *source.needed == '\0' || !store::text_of(at(row, source.needed)).empty();
    return has_needed && has(row, source.row_column, source.row_text) &&
           has(row, source.second_column, source.second_text);
  }
  const std::vector<std::vector<Value>>& all() const { return table_.rows; }

 private:
  // A cell may have several words: "knee, peak".
  bool has(const std::vector<Value>& row, const std::string& column,
           const std::string& text) const {
    if (column.empty()) return true;
    const std::string cell = ", " + store::text_of(at(row, column)) + ", ";
    return cell.find(", " + text + ", ") != std::string::npos;
  }
  const Table& table_;
};

// Reads a figure's interval. The interval of a throughput is that of the time it is computed from:
// the step's if there is one, else the inference's.
void read_interval(const Rows& rows, const std::vector<Value>& row, const Source& source,
                   Figure* figure) {
  const auto number = [&](const char* name) { return store::maybe_double(rows.at(row, name)); };
  figure->low = number(source.low);
  figure->high = number(source.high);
  if (const auto half = number(source.half); half && figure->value) {
    figure->low = *figure->value - *half;
    figure->high = *figure->value + *half;
  }
  if (figure->metric != "throughput" || !figure->value) return;
  const bool is_step = number("step_ns").has_value();
  const auto time = number(is_step ? "step_ns" : "latency_ns");
  const auto low = number(is_step ? "step_low_ns" : "low_ns");
  const auto high = number(is_step ? "step_high_ns" : "high_ns");
  if (!time || !low || !high || *low <= 0) return;
  figure->low = *figure->value * *time / *high;
  figure->high = *figure->value * *time / *low;
}

Figure blank(const Source& source) {
  Figure figure;
  figure.metric = source.metric;
  figure.unit = source.unit;
  figure.levels = source.levels;
  return figure;
}

// Returns why a figure of counted kernels is not that of all; empty: nearly all are counted.
std::string doubt_of_count(const Rows& rows, const std::vector<Value>& row) {
  const double uncounted = store::maybe_double(rows.at(row, "uncounted_pct")).value_or(0);
  if (uncounted < 1) return {};
  char text[80];
  std::snprintf(text, sizeof text, "not all counted: %.3g %% of the kernels' time was not",
                uncounted);
  return text;
}

// Returns nothing if no row fits, which is no lack: only one batch size is the best.
std::optional<Figure> figure_of(const Table& table, const Source& source, int64_t batch) {
  const Rows rows(table);
  Figure figure = blank(source);
  bool is_found = false;
  for (const auto& row : rows.all()) {
    if (!rows.fits(row, source, batch)) continue;
    auto value = store::maybe_double(rows.at(row, source.column));
    if (!value) value = store::maybe_double(rows.at(row, source.other));
    const std::string doubt = store::text_of(rows.at(row, "doubt"));
    if (!doubt.empty()) figure.doubt = doubt;
    if (source.is_counted) figure.doubt = doubt_of_count(rows, row);
    if (*source.name != '\0') figure.word = store::text_of(rows.at(row, source.name));
    if (source.is_word) figure.word = store::text_of(rows.at(row, source.column));
    if (source.is_sum) {
      if (value) figure.value = figure.value.value_or(0) + *value;
    } else if (!is_found || (value && value > figure.value)) {
      if (!source.is_word) figure.value = value;
      read_interval(rows, row, source, &figure);
      const std::string why = store::text_of(rows.at(row, source.why));
      if (!value && why.starts_with("not measured: ")) figure.note = why;
    }
    is_found = true;
  }
  if (!is_found) return std::nullopt;
  return figure;
}

// Answers analyses about one file. Each is run once, or once for each batch size if it takes one.
class Asked {
 public:
  explicit Asked(store::Database& database) : database_(database) {}

  Status add(const Source& source, Evaluation* evaluation) {
    XSP_TRY(const analyze::Analysis* const analysis, analyze::find(source.analysis));
    std::string batch;
    for (const analyze::Param& param : analysis->params) {
      if (param.name != "batch" || evaluation->batch == kBatchUnknown) continue;
      batch = std::to_string(evaluation->batch);
    }
    const auto key = std::make_pair(analysis->name, batch);
    auto known = answers_.find(key);
    if (known == answers_.end()) {
      analyze::Parameters parameters;
      if (!batch.empty()) parameters["batch"] = batch;
      known = answers_.emplace(key, analyze::run(database_, *analysis, parameters)).first;
    }
    const Result<Table>& answer = known->second;
    if (!answer.ok() && answer.error().code != Code::kNotAvailable) return answer.error();
    if (!answer.ok()) {
      if (*source.row_column != '\0') return Ok{};
      Figure figure = blank(source);
      figure.note = answer.error().text;
      evaluation->figures.push_back(std::move(figure));
      return Ok{};
    }
    auto figure = figure_of(*answer, source, evaluation->batch);
    if (figure && (figure->value || !figure->word.empty() || !figure->note.empty())) {
      evaluation->figures.push_back(std::move(*figure));
    }
    return Ok{};
  }

 private:
  store::Database& database_;
  std::map<std::pair<std::string, std::string>, Result<Table>> answers_;
};

// Adds the rows of the file's own table `result`: scores, and the figures of a load. Older files
// lack it. A figure of a run belongs to the run's batch size, and one of none to all.
Status add_results(store::Database& database, FileFigures* file) {
  XSP_TRY(const Table has, database.query("SELECT 1 FROM duckdb_tables() WHERE table_name = "
                                          "'result' AND NOT internal"));
  if (has.rows.empty()) return Ok{};
  XSP_TRY(const Table table,
          database.query("SELECT metric, value, low, high, unit, levels, note, batch FROM result "
                         "LEFT JOIN run USING (run_id) ORDER BY metric, run_id"));
  for (Evaluation& evaluation : file->evaluations) {
    std::set<std::string> known;
    for (const auto& row : table.rows) {
      const auto batch = store::maybe_int(row[7]);
      if (batch && *batch != evaluation.batch) continue;
      Figure figure;
      figure.metric = store::text_of(row[0]);
      figure.value = store::maybe_double(row[1]);
      figure.low = store::maybe_double(row[2]);
      figure.high = store::maybe_double(row[3]);
      figure.unit = store::text_of(row[4]);
      figure.levels = store::text_of(row[5]);
      figure.note = store::text_of(row[6]);
      // The points of a search for the highest rate repeat their names; the first is the figure.
      if (known.insert(figure.metric).second) evaluation.figures.push_back(std::move(figure));
    }
  }
  return Ok{};
}

std::string take(compare::Facts* facts, const std::string& key, const std::string& otherwise = "") {
  const auto found = facts->find(key);
  if (found == facts->end()) return otherwise;
  std::string value = std::move(found->second);
  facts->erase(found);
  return value;
}

// Facts that differ between equal machines (names of hosts), are of the recording and not of the
// machine, or were measured.
bool is_of_system(const std::string& key) {
  const std::string_view subject = compare::subject_of_fact(key);
  if (subject != "machine" && subject != "device") return false;
  return key != "machine.host" && key != "cupti_library" && key != "gpu.price_per_hour" &&
         !key.starts_with("peak.") && !compare::is_always_another(key);
}

// `xsp run` writes the facts of the machine without "machine." before them.
void name_facts(compare::Facts* facts) {
  if (facts->count("machine.cpu") != 0 || facts->count("cpu") == 0) return;
  static const std::array kNames = {"architecture",
                                    "clock_source",
                                    "container",
                                    "container_cpu_limit",
                                    "container_image",
                                    "container_memory_limit",
                                    "cores_online",
                                    "cpu",
                                    "host",
                                    "hyper_threading",
                                    "hypervisor",
                                    "kernel",
                                    "last_level_cache_bytes",
                                    "memory_bytes",
                                    "os",
                                    "processors",
                                    "processors_usable"};
  for (const char* name : kNames) {
    if (facts->count(name) != 0) (*facts)[std::string("machine.") + name] = take(facts, name);
  }
}

// Names the facts of the GPU that was used as those of GPU 0: which of a machine's equal GPUs it
// was means nothing. An evaluation on several GPUs keeps their numbers.
void number_gpu(compare::Facts* facts) {
  std::set<std::string> numbers;
  for (const auto& [key, value] : *facts) {
    const size_t end = key.find('.', 4);
    const bool is_numbered =
        key.starts_with("gpu.") && key.size() > 4 && end != std::string::npos &&
        std::all_of(key.begin() + 4, key.begin() + static_cast<std::ptrdiff_t>(end),
                    [](char c) { return c >= '0' && c <= '9'; });
    if (is_numbered) numbers.insert(key.substr(0, end + 1));
  }
  if (numbers.size() != 1 || *numbers.begin() == "gpu.0.") return;
  compare::Facts renamed;
  for (auto& [key, value] : *facts) {
    const bool is_own = key.starts_with(*numbers.begin());
    renamed[is_own ? "gpu.0." + key.substr(numbers.begin()->size()) : key] = std::move(value);
  }
  *facts = std::move(renamed);
}

void read_facts(compare::Facts facts, FileFigures* file) {
  name_facts(&facts);
  number_gpu(&facts);
  file->model = take(&facts, "model", "not known");
  file->model_version = take(&facts, "manifest.version");
  file->framework = take(&facts, "framework");
  // A model that its framework's compiler compiled is compared with the same one that it did not.
  const auto compiler = facts.find("setting.compiler");
  if (compiler != facts.end()) file->framework += "+" + compiler->second;
  file->framework_version = take(&facts, "framework_version");
  file->device = take(&facts, "device");
  const bool is_watched = facts.count("recorded_by") != 0;
  file->scenario = take(&facts, "scenario", is_watched ? "run" : "profile");
  file->started_at = take(&facts, "started_at");
  file->dataset = take(&facts, "dataset.name");
  const std::string sweep = take(&facts, "tag.sweep"), task = take(&facts, "tag.task");
  if (!sweep.empty() && !task.empty()) file->task = sweep + "/" + task;
  for (auto& [key, value] : facts) {
    const std::string_view subject = compare::subject_of_fact(key);
    if (is_of_system(key)) {
      file->system[key] = value;
    } else if (subject == "model" || subject == "framework" || key.starts_with("scenario.") ||
               key.starts_with("dataset.") || key.starts_with("input_values.")) {
      if (!compare::is_always_another(key) && key != "batches") file->facts[key] = value;
    }
  }
}

// Runs name the framework and the device if the facts do not. Where the batches have no one size
// that is known, the file is one evaluation.
Status read_runs(store::Database& database, FileFigures* file) {
  XSP_TRY(const Table table,
          database.query("SELECT CASE WHEN EXISTS (FROM evaluation WHERE key = "
                         "'not_measured.batch') THEN $unknown ELSE coalesce(batch, 1) END AS size, "
                         "any_value(framework), any_value(framework_version), any_value(device) "
                         "FROM run WHERE status <> 'failed' GROUP BY ALL ORDER BY size",
                         {{"unknown", kBatchUnknown}}));
  for (const auto& row : table.rows) {
    file->evaluations.push_back({store::int_of(row[0]), {}});
    if (file->framework.empty()) file->framework = store::text_of(row[1]);
    if (file->framework_version.empty()) file->framework_version = store::text_of(row[2]);
    if (file->device.empty()) file->device = store::text_of(row[3]);
  }
  if (file->framework.empty()) file->framework = "not known";
  if (file->device.empty()) file->device = "not known";
  if (file->evaluations.empty())
    return failed("it has no run that succeeded: nothing to catalogue");
  return Ok{};
}

}  // namespace

std::vector<MetricSource> metric_sources() {
  std::vector<MetricSource> all;
  for (const Source& one : kSources) all.push_back({one.metric, one.analysis, one.column});
  return all;
}

Result<FileFigures> read_figures(const std::filesystem::path& path) {
  FileFigures file;
  XSP_TRY(file.sha256, manifest::sha256_of_file(path.string()));
  XSP_TRY(store::Database database, store::Database::open(path));
  XSP_TRY(compare::Facts facts, compare::facts_of(database));
  read_facts(std::move(facts), &file);
  XSP_CHECK_OK(read_runs(database, &file));
  Asked asked(database);
  for (Evaluation& evaluation : file.evaluations) {
    for (const Source& source : kSources) XSP_CHECK_OK(asked.add(source, &evaluation));
  }
  XSP_CHECK_OK(add_results(database, &file));
  return file;
}

std::string batch_text(int64_t batch) {
  return batch == kBatchUnknown ? "not known" : std::to_string(batch);
}

std::string fingerprint_of(const std::map<std::string, std::string>& system) {
  std::string text;
  for (const auto& [key, value] : system) text += key + "=" + value + "\n";
  return manifest::sha256_of(text).substr(0, 16);
}

}  // namespace xsp::catalogue
