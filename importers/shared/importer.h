// Importers read traces of other tools. Each importers/NAME.cc defines NAME_importers(); the build
// collects them, so a new format is a new file.
#ifndef XSP_IMPORTERS_SHARED_IMPORTER_H_
#define XSP_IMPORTERS_SHARED_IMPORTER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/result.h"

namespace xsp::importers {

// A run of an evaluation that xsp exported: a row of the table `run`.
struct ForeignRun {
  uint32_t id = 0;  // from 1; 0: that of the spans of no known run, which are all of other tools
  std::string levels;
  std::optional<int> batch;
  std::string counters;
  std::string framework;
  std::string framework_version;
  std::string device;
};

// A span of a foreign trace. Its parent is found as that of any other span: by its thread and time.
struct ForeignSpan {
  uint32_t run = 0;    // see ForeignRun
  uint32_t level = 0;  // XSP_LEVEL_*
  std::string name;
  std::string type;  // empty: none
  uint32_t process = 0;
  uint32_t thread = 0;  // 0: not known
  std::optional<uint32_t> device;
  std::optional<uint32_t> stream;
  int64_t start_ns = 0;  // UNIX time, or of any other clock that all spans share
  int64_t duration_ns = 0;
  uint64_t correlation = 0;  // ties a launch to its executions; 0: none
  // The number of the inference, which the files have that xsp exported; negative: warm-up.
  std::optional<int64_t> iteration;
  bool is_open = false;  // it never ended; its duration is that until the trace's end
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, double>> counters;
};

// Receives the spans of a foreign trace, in any order.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual Status add(const ForeignSpan& span) = 0;
  // Describes a run, before its spans.
  virtual void add_run(const ForeignRun& run) = 0;
};

inline constexpr size_t kHeadBytes = 4096;  // bytes, unpacked, by which a format is recognised

struct Importer {
  std::string name;
  std::string title;  // one line for --help: the files that it reads
  // Returns whether the file that begins with `head` is of this format.
  bool (*recognises)(std::string_view head) = nullptr;
  // Gives each span of the file to `sink`. Returns the number of events that are no spans and are
  // left out. The bytes are foreign: nothing in them is trusted.
  Result<uint64_t> (*read)(const std::filesystem::path& file, SpanSink& sink) = nullptr;
};

// Returns all importers, ordered by name. The build generates this function.
std::vector<Importer> all_importers();

// Returns the importer that recognises the file, or an error that names the formats there are.
Result<Importer> importer_of(const std::filesystem::path& file);

struct ConvertedRun {
  ForeignRun run;
  std::vector<std::filesystem::path> traces;  // one for each process
  bool has_iterations = false;                // the inferences have their numbers
};

// Writes the spans of a foreign trace as .xtrace files into the folder, and returns them by run.
// The events that are left out are counted as losses of the first file.
Result<std::vector<ConvertedRun>> convert(const Importer& importer,
                                          const std::filesystem::path& file,
                                          const std::filesystem::path& folder);

}  // namespace xsp::importers

#endif  // XSP_IMPORTERS_SHARED_IMPORTER_H_
