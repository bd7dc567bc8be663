// Schema: the tables of a catalogue, and the steps from one version of them to the next.
#ifndef XSP_DESK_CATALOGUE_SCHEMA_H_
#define XSP_DESK_CATALOGUE_SCHEMA_H_

#include "desk/catalogue/engine.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

// Returns the version that this xsp writes and reads.
int schema_version();

// Makes the tables, or brings them to schema_version(), in one transaction. Fails, and changes
// nothing, if a newer xsp made them.
Status migrate(Engine& engine);

// Checks that the tables have schema_version(). The error says how to get them.
Status check_schema(Engine& engine);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_SCHEMA_H_
