// Reads the spans of an .xsp file for exporters that write traces.
#ifndef XSP_EXPORTERS_SHARED_SPANS_H_
#define XSP_EXPORTERS_SHARED_SPANS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desk/store/database.h"
#include "exporters/shared/exporter.h"
#include "shared/base/result.h"

namespace xsp::exporters {

// An attribute, which is a text, or a counter, which is a number.
struct Fact {
  std::string key;
  std::string text;
  std::optional<double> number;
};

// A row of the table span, with its facts.
struct Span {
  int64_t run = 0;
  int64_t id = 0;  // unique within the run
  std::optional<int64_t> parent;
  uint32_t level = 0;
  std::string name;
  std::string type;  // empty: none
  std::optional<int64_t> iteration;
  int64_t start_ns = 0;  // UNIX time
  int64_t duration_ns = 0;
  std::optional<int64_t> process;
  std::optional<int64_t> thread;
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
  std::optional<int64_t> correlation;
  bool is_open = false;  // it never ended
  int64_t site = 0;
  // The span that launched it, if it is an execution; itself, if it is the launch of an execution.
  std::optional<int64_t> launch;
  std::vector<Fact> facts;  // of the span, and those of its site that the span does not have itself

  int64_t end_ns() const { return start_ns + duration_ns; }
  bool is_launch() const { return launch == id; }
  // Returns a number that is unique within the file.
  static uint64_t unique(int64_t run, int64_t span) {
    constexpr int kSpanBits = 40;
    return static_cast<uint64_t>(run) << kSpanBits | static_cast<uint64_t>(span);
  }
  uint64_t unique_id() const { return unique(run, id); }
};

// Opens the file, with the limits that suit the reading of a whole table.
Result<store::Database> open_for_export(const Request& request);
// Gives each span of the request to `take`, in the order of the starts; of spans that start at one
// moment, the longer and the outer comes first. Memory is bounded, however many spans there are.
// Fails if there are none. Returns their number.
Result<uint64_t> each_span(store::Database& database, const Request& request,
                           const std::function<Status(const Span& span)>& take);
// Returns the rows of the table evaluation, which describe the model and the machine.
Result<std::vector<std::pair<std::string, std::string>>> facts_of_evaluation(
    store::Database& database);

}  // namespace xsp::exporters

#endif  // XSP_EXPORTERS_SHARED_SPANS_H_
