#include "desk/cli/diff_outputs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "desk/cli/items.h"
#include "desk/cli/progress.h"
#include "desk/divergence/divergence.h"
#include "desk/experiment/interrupt.h"
#include "desk/experiment/plan.h"

namespace xsp::cli {
namespace {

using divergence::Compared;
using divergence::Divergence;

constexpr const char* kOutputs = "outputs";
constexpr const char* kLayers = "layers";

std::string number_text(double number) { return fmt::format("{:.3g}", number); }

// Returns the file of the steps that a model's manifest has; empty: it has no manifest.
Result<std::string> pipeline_of(const std::string& model, std::unique_ptr<ScratchFolder>* folder) {
  XSP_TRY(const bool has_one, has_manifest(model));
  if (!has_one) return std::string();
  XSP_TRY(Items items, prepare_inputs(model, {}));
  *folder = std::move(items.folder);
  return items.pipeline.string();
}

// Lets A's manifest make the inputs of a data set. The steps of B's, if it has one, tell its worker
// the sizes of inputs that the model leaves open.
Status add_data(const std::string& data, const std::vector<std::string>& models,
                divergence::Settings* settings,
                std::array<std::unique_ptr<ScratchFolder>, 2>* folders) {
  XSP_TRY(std::vector<predict::Item> set, predict::read_dataset(data));
  XSP_TRY(Items items, prepare_inputs(models[0], std::move(set)));
  (*folders)[0] = std::move(items.folder);
  settings->sides[0].worker.pipeline = items.pipeline;
  for (const predict::Item& item : items.items) settings->items.push_back(item.file);
  XSP_TRY(settings->sides[1].worker.pipeline, pipeline_of(models[1], &(*folders)[1]));
  return Ok{};
}

Result<divergence::Settings> settings_of(const DiffOutputsOptions& options,
                                         const PairOptions& pairs,
                                         const std::vector<std::string>& models,
                                         const std::string& table, const std::atomic<int>& stop) {
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  divergence::Settings settings;
  settings.sets = options.sets;
  settings.wants_layers = table != kOutputs;
  if (options.tolerance) settings.tolerance = *options.tolerance;
  for (size_t side = 0; side < 2; ++side) {
    const RequestOptions given = options_of_side(pairs, side, models[side]);
    XSP_TRY(settings.sides[side], make_request(given, installation, stop));
    if (given.batch.empty()) continue;
    XSP_TRY(const std::vector<int> batches, experiment::parse_batches(given.batch));
    if (batches.size() > 1) return usage("--batch: outputs are compared at one batch size");
    settings.sides[side].worker.batch = batches[0];
    settings.batch = static_cast<size_t>(batches[0]);
  }
  return settings;
}

store::Value number_or_null(double number) {
  if (std::isfinite(number)) return number;
  return {};
}

// Returns the table of the outputs, or of the layers in A's order.
store::Table table_of(const std::vector<Compared>& tensors, bool has_layers) {
  store::Table table;
  if (has_layers) {
    table.columns = {{"layer", "VARCHAR"}, {"type", "VARCHAR"}};
  }
  table.columns.insert(table.columns.end(), {{"tensor", "VARCHAR"},
                                             {"tensor_b", "VARCHAR"},
                                             {"type_a", "VARCHAR"},
                                             {"type_b", "VARCHAR"},
                                             {"elements", "BIGINT"},
                                             {"max_absolute", "DOUBLE"},
                                             {"max_relative", "DOUBLE"},
                                             {"rms_relative", "DOUBLE"},
                                             {"cosine", "DOUBLE"},
                                             {"equal_best_pct", "DOUBLE"},
                                             {"worst", "VARCHAR"},
                                             {"not_numbers", "BIGINT"},
                                             {"not_compared", "VARCHAR"}});
  if (has_layers) table.columns.push_back({"inputs_rms_relative", "DOUBLE"});
  for (const Compared& one : tensors) {
    std::vector<store::Value> row;
    if (has_layers) row = {one.layer, one.type};
    const divergence::Difference& d = one.difference;
    row.insert(row.end(), {one.tensor, one.tensor_b, one.dtype, one.dtype_b});
    if (one.not_compared.empty()) {
      row.insert(row.end(), {d.elements(), d.max_absolute(), d.max_relative(),
                             number_or_null(d.rms_relative()), d.cosine()});
      row.push_back(d.answers() == 0 ? store::Value()
                                     : 100 * static_cast<double>(d.equal_best()) /
                                           static_cast<double>(d.answers()));
      row.push_back(one.worst.empty() ? store::Value() : store::Value(one.worst));
      row.insert(row.end(), {d.not_numbers(), store::Value()});
    } else {
      row.resize(row.size() + 8);
      row.push_back(one.not_compared);
    }
    if (has_layers) row.push_back(number_or_null(one.inputs_rms_relative));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Returns the sentence that says where the difference begins.
std::string first_text(const Divergence& divergence, double tolerance) {
  const std::string limit = number_text(tolerance);
  if (!divergence.layers_not_compared.empty()) {
    return "The layers are not compared: " + divergence.layers_not_compared + ".";
  }
  if (!divergence.first) {
    return "No layer differs by more than " + limit + " while its inputs do not.";
  }
  const Compared& first = divergence.layers[*divergence.first];
  const divergence::Difference& d = first.difference;
  std::string text = fmt::format("The first layer that differs by more than {} is {} ({}): ", limit,
                                 first.layer, first.type);
  text += d.not_numbers() > 0
              ? fmt::format("{} of its numbers are infinite or not a number on one side alone",
                            d.not_numbers())
              : number_text(d.rms_relative());
  return text + fmt::format(", and its inputs differ by at most {}.",
                            number_text(first.inputs_rms_relative));
}

std::string json_of(const Divergence& divergence, double tolerance) {
  const auto rows = [](const store::Table& table) {
    std::string text = render_json(table);
    text.pop_back();
    return text;
  };
  const auto quoted = [](const std::string& text) {
    return nlohmann::ordered_json(text).dump(-1, ' ', false,
                                             nlohmann::ordered_json::error_handler_t::replace);
  };
  const std::string first =
      divergence.first ? quoted(divergence.layers[*divergence.first].layer) : "null";
  return "{\"outputs\": " + rows(table_of(divergence.outputs, false)) +
         ",\n\"layers\": " + rows(table_of(divergence.layers, true)) +
         ",\n\"first_layer\": " + first +
         ",\n\"text\": " + quoted(first_text(divergence, tolerance)) + "}\n";
}

Sheet sheet_of_tensors(const std::string& title, const std::string& columns, store::Table table) {
  Sheet sheet = sheet_of(std::move(table));
  sheet.title = title;
  sheet.view.options["columns"] = columns;
  for (auto& column : sheet.columns) {
    // The scale of a column would hide the small ones.
    if (column.unit == "number") column.unit = "text";
  }
  return sheet;
}

// Returns the table with short numbers.
store::Table for_people(store::Table table) {
  for (auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const auto* number = std::get_if<double>(&row[i]);
      if (number == nullptr || table.columns[i].name == "equal_best_pct") continue;
      row[i] =
          table.columns[i].name == "cosine" ? fmt::format("{:.8g}", *number) : number_text(*number);
    }
  }
  return table;
}

std::string inputs_text(const divergence::Settings& settings) {
  if (!settings.items.empty()) {
    return fmt::format("{} file{}", settings.items.size(), settings.items.size() == 1 ? "" : "s");
  }
  return fmt::format("{} set{} of inputs", settings.sets, settings.sets == 1 ? "" : "s");
}

std::string text_of(const Divergence& divergence, const std::vector<std::string>& models,
                    const std::string& table, const divergence::Settings& settings,
                    const OutputOptions& output) {
  const Terminal terminal = terminal_of(1);
  std::string text = "A  " + models[0] + "\nB  " + models[1] + "\n";
  if (table != kLayers) {
    std::string columns =
        "tensor,tensor_b,elements,max_absolute,max_relative,rms_relative,cosine,equal_best_pct,"
        "worst";
    const auto has_gap = [](const Compared& one) { return !one.not_compared.empty(); };
    const auto& all = divergence.outputs;
    if (std::any_of(all.begin(), all.end(), has_gap)) columns += ",not_compared";
    text += "\n" + render(sheet_of_tensors("Outputs, for " + inputs_text(settings), columns,
                                           for_people(table_of(all, false))),
                          output, terminal);
  }
  if (table == kOutputs) return text;
  text += "\n" + first_text(divergence, settings.tolerance) + "\n";
  if (divergence.layers.empty()) return text;
  std::vector<Compared> layers = divergence.layers;
  const auto added = [](const Compared& layer) {
    return layer.difference.rms_relative() - layer.inputs_rms_relative;
  };
  std::stable_sort(layers.begin(), layers.end(),
                   [&](const Compared& a, const Compared& b) { return added(a) > added(b); });
  Sheet sheet = sheet_of_tensors("Layers, those first that add most",
                                 "layer,type,rms_relative,inputs_rms_relative,max_absolute,cosine",
                                 for_people(table_of(layers, true)));
  sheet.view.options["top"] = "10";
  return text + "\n" + render(sheet, output, terminal);
}

}  // namespace

void add_diff_outputs_options(CLI::App& verb, CLI::Option& run, DiffOutputsOptions& options) {
  CLI::Option* wanted =
      verb.add_flag("--outputs", options.is_wanted,
                    "With --run: compares what A and B answer to the same inputs, and not their "
                    "latencies; layer by layer if both are ONNX files")
          ->needs(&run)
          ->group("With --run");
  CLI::Option* sets =
      verb.add_option("--sets", options.sets, "With --outputs: sets of inputs, each made up anew")
          ->needs(wanted)
          ->check(CLI::Range(1, 10'000))
          ->capture_default_str()
          ->group("With --run");
  verb.add_option("--data", options.data,
                  "With --outputs: the inputs are these files, by the steps of A's manifest: a "
                  "folder with a folder for each label, or a list with a file in each line")
      ->needs(wanted)
      ->excludes(sets)
      ->group("With --run");
  verb.add_option("--tolerance", options.tolerance,
                  "With --outputs: exit with 3 if an output differs by more, as the root of the "
                  "mean square, relative to A's; layers that differ by less count as equal "
                  "(0.001)")
      ->needs(wanted)
      ->check(CLI::NonNegativeNumber)
      ->group("With --run");
}

Result<bool> diff_outputs(const DiffOutputsOptions& options, const PairOptions& pairs,
                          const std::vector<std::string>& models, const std::string& table,
                          const OutputOptions& output) {
  if (!table.empty() && table != kOutputs && table != kLayers) {
    return usage("--table '" + table + "': outputs have none: give outputs or layers");
  }
  const experiment::Interrupts interrupts;
  XSP_TRY(divergence::Settings settings,
          settings_of(options, pairs, models, table, interrupts.count()));
  std::array<std::unique_ptr<ScratchFolder>, 2> folders;
  if (!options.data.empty()) XSP_CHECK_OK(add_data(options.data, models, &settings, &folders));
  Result<Divergence> divergence = failed("");
  {
    const auto progress = make_progress(models[0] + " and " + models[1],
                                        pairs.quiet ? Verbosity::kQuiet : Verbosity::kNormal);
    divergence = compare_outputs(settings, *progress, interrupts.count());
  }
  if (!divergence.ok()) return divergence.error();
  if (output.format == Format::kJson) {
    XSP_CHECK_OK(write_stdout(json_of(*divergence, settings.tolerance)));
  } else if (output.format == Format::kCsv) {
    const bool has_layers = table == kLayers;
    XSP_CHECK_OK(write_stdout(
        render_csv(table_of(has_layers ? divergence->layers : divergence->outputs, has_layers))));
  } else {
    XSP_CHECK_OK(write_stdout(text_of(*divergence, models, table, settings, output)));
  }
  const auto is_far = [&](const Compared& one) {
    return !one.not_compared.empty() || one.difference.not_numbers() > 0 ||
           one.difference.rms_relative() > settings.tolerance;
  };
  return !options.tolerance ||
         std::none_of(divergence->outputs.begin(), divergence->outputs.end(), is_far);
}

}  // namespace xsp::cli
