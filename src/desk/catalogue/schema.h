// Schema: the tables of a catalogue, and the steps from one version of them to the next.
#ifndef XSP_DESK_CATALOGUE_SCHEMA_H_
#define XSP_DESK_CATALOGUE_SCHEMA_H_

#include <cstdint>
#include <string>

#include "desk/catalogue/engine.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

// Returns the version that this xsp writes and reads.
int schema_version();

// Makes the tables, or brings them to schema_version(), in one transaction. Fails, and changes
// nothing, if a newer xsp made them.
Status migrate(Engine& engine);

// Checks that the tables have schema_version(). The error has the command that brings them there.
Status check_schema(Engine& engine, const std::string& place);
// Returns the version of the tables; an error: no catalogue is there.
Result<int64_t> version_of(Engine& engine);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_SCHEMA_H_
