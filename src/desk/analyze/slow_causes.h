// Computes the causes of a step a second time, in a slow and simple way, from the raw rows.
#ifndef XSP_DESK_ANALYZE_SLOW_CAUSES_H_
#define XSP_DESK_ANALYZE_SLOW_CAUSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::analyze {

struct SlowPeriod {
  int64_t process = 0, thread = 0, start_ns = 0, end_ns = 0;
  int64_t busy_ns = 0;  // union of the device's raw records in the period
};

// A row of the table period_piece. Neighbours that differ only in time are joined.
struct SlowPiece {
  int64_t process = 0, period_ns = 0, start_ns = 0, end_ns = 0;
  bool is_hidden = false;
  std::string cause;
  int64_t thread = -1;   // -1: the device's time
  int64_t span_id = -1;  // -1: in no span
};

struct SlowCauses {
  std::vector<SlowPeriod> periods;
  std::vector<SlowPiece> pieces;
};

// Follows the description at the head of analyses/prelude_8_causes.sql, for at most `how_many`
// periods of each process. Uses only those macros of the database that other tests prove: its run,
// steps and typical inferences, and the kind of work by a kernel's name. The prelude must be
// loaded.
Result<SlowCauses> slow_causes(store::Database& database, int64_t how_many);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_SLOW_CAUSES_H_
