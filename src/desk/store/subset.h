// Subset: a copy of an .xsp file with some of its spans, and everything else.
#ifndef XSP_DESK_STORE_SUBSET_H_
#define XSP_DESK_STORE_SUBSET_H_

#include <cstdint>
#include <filesystem>
#include <functional>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::store {

struct Subset {
  int64_t spans = 0;  // of the file
  int64_t kept = 0;   // of these, in the copy
};

// Writes the copy to `output`, as Database::create() does. `choose` gets the file, opened for
// reading in a confined process. It makes the temporary tables kept(run_id, span_id) and
// added_fact(run_id, name, value); the latter's rows are added to the copy's audit_fact. The
// calling process must have no other threads.
Result<Subset> write_subset(const std::filesystem::path& file, const std::filesystem::path& output,
                            const std::function<Status(Database&)>& choose);

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_SUBSET_H_
