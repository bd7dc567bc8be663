// Facts of things that calls refer to by a handle, such as plans: kept from when they are made, or
// first seen, until they are gone.
#ifndef XSP_COLLECTORS_LIBRARY_CALLS_KEPT_H_
#define XSP_COLLECTORS_LIBRARY_CALLS_KEPT_H_

#include "collectors/library_calls/call.h"

namespace xsp::library_calls {

// Adds what is kept for the handle, which is not 0; false: nothing is. Takes no lock.
bool add_kept(Problem* problem, uint64_t handle);
// Replaces what was kept for the handle. Does nothing where too much is kept already.
void keep(uint64_t handle, const Problem& facts);
void forget(uint64_t handle);

// Text that lasts as long as the process, and a field with that key: one for each that was asked
// for; NULL where there are too many. For names that are known only at run time. Takes a lock.
const char* kept_text(const char* text);
const Field* kept_field(const char* key, FieldKind kind);

}  // namespace xsp::library_calls

#endif  // XSP_COLLECTORS_LIBRARY_CALLS_KEPT_H_
