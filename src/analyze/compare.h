// Compare: two to six evaluations side by side, framework against framework, GPU against GPU,
// version against version. The first is the reference: ratios, differences and alignments are to
// it.
//
// Tables:
//   model    a row for each batch size that any of them measured: latencies with their intervals,
//            throughput, the ratio of latencies with its interval. The ratio is that of the two
//            latencies beside it. Files of one experiment (`xsp diff --run`) are compared round by
//            round; others by their blocks, with an allowance for the spread between processes
//   layers   a row for each layer, or group of layers, that belong together (compare_align.h),
//            greatest difference first. The differences add up to the difference of the sums.
//   kernels  a row for each kernel and what runs in its place, greatest difference first; likewise
//   facts    what was compared, and where it differs: model, inputs, framework, device, ...
//
// The evaluations are called A to F in the order given; their columns end in a, b, ... before the
// unit: latency_a_ns, latency_b_ns. NULL is what an evaluation does not have or did not measure.
//
// Thread rule: one thread at a time per Database.
#ifndef XSP_ANALYZE_COMPARE_H_
#define XSP_ANALYZE_COMPARE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/catalogue.h"
#include "base/result.h"
#include "store/database.h"

namespace xsp::analyze {

inline constexpr size_t kComparedMin = 2;
inline constexpr size_t kComparedMax = 6;

// The standard deviation by which the latency of one process differs from that of the next process
// of the same model, relative to the latency. One process cannot show it: it comes from where
// memory happens to lie, and far more from what other programs leave to a process. So it grows with
// the share of the processors that others used, which files say (machine.other_load_pct).
// `bench/gate.py` measures it.
inline constexpr double kQuietSpread = 0.02;  // nobody else used the processors
inline constexpr double kLoadSpread = 0.16;   // is added in proportion, if others used all of them
constexpr double process_spread(double other_load) {
  return kQuietSpread + kLoadSpread * other_load;
}

// Whose time a layer's latency is. On a GPU the host's is that of launching the layer's work, and
// the work's own is that of its kernels.
enum class LayerTime {
  kWork,  // of its kernels where they were measured, else the host's
  kHost,
};

struct CompareOptions {
  // Of model: only this one; of layers and kernels: by default the smallest that all have.
  std::optional<int64_t> batch;
  LayerTime time = LayerTime::kWork;
};

struct Comparison {
  std::vector<Column> columns;  // as many as the table's
  store::Table table;
  std::optional<int64_t> batch;       // that was compared; nothing: the table has all
  std::vector<std::string> warnings;  // what a reader must know before the numbers, one line each
};

// The names of the tables, in the order above.
const std::vector<std::string>& comparison_tables();

// "A" for the first, and so on.
std::string letter_of(size_t evaluation);

// Code::kUsage: an unknown table; too few or too many evaluations. Code::kNotAvailable, with a text
// that begins with "not measured: ": the reference has no such numbers, or no other has. The
// databases are not written to.
Result<Comparison> compare(std::string_view table, std::span<store::Database* const> evaluations,
                           const CompareOptions& options = {});

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_COMPARE_H_
