// condense: a copy of an evaluation that holds the typical inferences only.
//
// Every figure of an evaluation is a mean over its typical inferences
// (analyses/prelude_1_runs.sql), so the deeper spans of the others change no answer. The copy has
// all spans of the levels application and model; those of the level layer in the run that the
// layers are told from, because an analysis shows how they vary; and all deeper ones of the typical
// inferences, of all inferences of runs that count events or energy, and of the first inference
// with events of a memory allocator. A copy for which a greatest number of inferences was named is
// that of a shorter measurement: its figures are means over fewer inferences.
#ifndef XSP_DESK_ANALYZE_CONDENSE_H_
#define XSP_DESK_ANALYZE_CONDENSE_H_

#include <filesystem>
#include <optional>

#include "desk/store/subset.h"
#include "shared/base/result.h"

namespace xsp::analyze {

// Writes the copy of `file` to `output`. `most` inferences at most are kept of each run that
// recorded more than the level model; nothing: all. Fails for a program that xsp watched, because
// its analyses ask for all of its steps; and for a file that is a copy already, unless `most` is
// named. The calling process must have no other threads.
Result<store::Subset> condense(const std::filesystem::path& file,
                               const std::filesystem::path& output,
                               std::optional<int> most = std::nullopt);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_CONDENSE_H_
