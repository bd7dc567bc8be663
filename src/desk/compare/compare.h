// Compare: two to six evaluations side by side, framework against framework, GPU against GPU,
// version against version. The first is the reference: ratios, differences and alignments are
// relative to it.
//
// Tables:
//   model    a row for each batch size that any of them measured: latencies with their intervals,
//            throughput, the ratio of latencies with its interval. If all evaluations are of
//            watched programs that repeat a step, the step stands in place of the latency, as
//            `xsp run` tells it. The ratio is that of the two latencies beside it. Files of one
//            experiment (`xsp diff --run`) are compared round by round; others by their blocks,
//            with an allowance for the spread between processes, which is greater where the GPU
//            waits for the host
//   causes   a row for each cause of the time of an inference, or of a step, as time_of_step
//            divides it, greatest difference first, and their sum
//   layers   a row for each matched layer or group of layers (align.h), greatest
//            difference first. The differences add up to the difference of the sums.
//   kernels  a row for each kernel and its counterpart, sorted and summed in the same way
//   facts    the compared subjects, and where they differ: model, inputs, framework, device, ...
//
// The evaluations are called A to F in the order given; their columns end in a, b, ... before the
// unit: latency_a_ns, latency_b_ns. NULL: the evaluation does not have the value or did not
// measure it.
//
// Thread rule: one thread at a time per Database.
#ifndef XSP_DESK_COMPARE_COMPARE_H_
#define XSP_DESK_COMPARE_COMPARE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::compare {

inline constexpr size_t kComparedMin = 2;
inline constexpr size_t kComparedMax = 6;

// The standard deviation of the latency between processes of the same model, relative to the
// latency. One process cannot show it: it depends on where memory happens to lie, and far more on
// the load of other programs. So it grows with the share of the processors that others used, which
// files record (machine.other_load_pct). `bench/gate.py` measures it.
inline constexpr double kQuietSpread = 0.02;  // no other program used the processors
inline constexpr double kLoadSpread = 0.16;   // added in proportion; the value if others used all
                                              // of them
constexpr double process_spread(double other_load) {
  return kQuietSpread + kLoadSpread * other_load;
}

// The same, of a model whose GPU waits for the host: how fast the host launches differs from
// process to process and from machine to machine, while the kernels of one process take as long as
// those of the next. It grows with the share of the latency in which the GPU waits for the host,
// until that time alone is the latency. An uncertainty that the compared recordings cannot show is
// taken from earlier ones, as a Type B evaluation (JCGM 100:2008, "Guide to the expression of
// uncertainty in measurement", 4.3). Only more processes replace it: T. Kalibera and R. Jones,
// "Rigorous benchmarking in reasonable time", ISMM 2013. Measured on the 75 models of results/ that
// two processes recorded at batch 1: their ratios spread by 0.18 in each class of models whose GPU
// waits for more than a third of the latency, and by less than 0.02 where it does not wait.
inline constexpr double kHostSpread = 0.18;
inline constexpr double kHostBound = 0.36;  // from this share on
constexpr double host_spread(double host_share) {
  return kHostSpread * std::min(1.0, host_share / kHostBound);
}

// The source of a layer's latency. On a GPU, the host's time is that of launching the layer's work,
// and the work's time is that of its kernels.
enum class LayerTime {
  kWork,  // that of its kernels if they were measured, else the host's
  kHost,
};

struct CompareOptions {
  // For the table model: only this one. For the others: by default the smallest that all have.
  std::optional<int64_t> batch;
  LayerTime time = LayerTime::kWork;
};

struct Comparison {
  std::vector<analyze::Column> columns;  // one for each column of the table
  store::Table table;
  std::optional<int64_t> batch;       // the compared batch size; nothing: the table has all
  std::vector<std::string> warnings;  // what a reader must know before the numbers, one line each
  // The inputs that differ in more than their types and their batch, in words: then the inferences
  // do not do the same work. Empty: none do.
  std::string other_inputs;
  // The table model names the evaluations here whose calls differ in their number of inputs, or do
  // not tell it, each with the reason. Empty: there are none.
  std::string unknown_batches;
};

// Returns the names of the tables, in the order above.
const std::vector<std::string>& comparison_tables();

// Returns "A" for the first, and so on.
std::string letter_of(size_t evaluation);

// Fails with Code::kUsage for an unknown table, or too few or too many evaluations. Fails with
// Code::kNotAvailable, and a text that begins with "not measured: ", if the reference, or every
// other evaluation, lacks the numbers. Does not write to the databases.
Result<Comparison> compare(std::string_view table, std::span<store::Database* const> evaluations,
                           const CompareOptions& options = {});

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_COMPARE_H_
