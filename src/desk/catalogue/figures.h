// Figures: what a catalogue keeps of an .xsp file. Every figure is a cell of an analysis, or a row
// of the file's table `result`; nothing is computed here that xsp does not also show elsewhere.
//
// Thread rule: any number of threads, each with its own file.
#ifndef XSP_DESK_CATALOGUE_FIGURES_H_
#define XSP_DESK_CATALOGUE_FIGURES_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::catalogue {

// One figure of an evaluation. Without a value and a word it was not measured, and the note says
// why.
struct Figure {
  std::string metric;
  std::optional<double> value;
  std::string word;           // a figure that is a word, such as a bound; or of what the value is
  std::optional<double> low;  // 95 % interval
  std::optional<double> high;
  std::string unit;
  std::string levels;  // that were recorded in its run; empty: not of one run
  std::string doubt;   // why it is less certain than was asked; empty: it is not
  std::string note;
};

// The batch of an evaluation whose batches differ, or have a size that is not known.
inline constexpr int64_t kBatchUnknown = 0;
// Returns a batch size for a person: "4", "not known".
std::string batch_text(int64_t batch);

// One batch size of a file.
struct Evaluation {
  int64_t batch = kBatchUnknown;
  std::vector<Figure> figures;
};

struct FileFigures {
  std::string sha256;
  std::string model;
  std::string model_version;
  std::string framework;  // "onnxruntime"; "torch+aotinductor": with the compiler of the model
  std::string framework_version;
  std::string device;    // "cpu", "cuda:0"
  std::string scenario;  // as in `xsp evaluate`; "profile" or "run" for the other verbs
  std::string started_at;
  std::string dataset;                        // empty: none
  std::string task;                           // "SWEEP/TASK"; empty: not of a sweep
  std::map<std::string, std::string> system;  // facts of the machine, without its state
  std::map<std::string, std::string> facts;   // framework's options, inputs, load
  std::vector<Evaluation> evaluations;
};

// The metric's name, and the analysis and column that define it: for documentation and tests.
struct MetricSource {
  std::string metric;
  std::string analysis;
  std::string column;
};
std::vector<MetricSource> metric_sources();

// Reads a file, in a separate process if read_apart() was called.
Result<FileFigures> read_figures(const std::filesystem::path& path);

// Returns the name of a system's state: 16 hexadecimal digits that its facts decide.
std::string fingerprint_of(const std::map<std::string, std::string>& system);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_FIGURES_H_
