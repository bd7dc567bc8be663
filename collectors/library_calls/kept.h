// Facts of objects to which calls refer by a handle, such as plans. They are kept from the creation
// of the object, or from its first use, until it is destroyed.
#ifndef XSP_COLLECTORS_LIBRARY_CALLS_KEPT_H_
#define XSP_COLLECTORS_LIBRARY_CALLS_KEPT_H_

#include "collectors/library_calls/call.h"

namespace xsp::library_calls {

// Adds the facts that are kept for the handle, which is not 0. Returns false if there are none.
// Takes no lock.
bool add_kept(Problem* problem, uint64_t handle);
// Replaces the facts of the handle. Does nothing if too many facts are kept already.
void keep(uint64_t handle, const Problem& facts);
void forget(uint64_t handle);

// Return a text that lasts as long as the process, and a field with that key: always the same one
// for the same argument, or NULL if there are too many. They serve names that are known only at run
// time. Each takes a lock.
const char* kept_text(const char* text);
const Field* kept_field(const char* key, FieldKind kind);

}  // namespace xsp::library_calls

#endif  // XSP_COLLECTORS_LIBRARY_CALLS_KEPT_H_
