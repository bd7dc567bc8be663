// Schema: checks that a database is an .xsp file. For src/desk/store alone.
//
// Tables are tables, columns have the types that xsp writes, and none is computed. Views are never
// those of the file. Refused: casts in each query, which leave the views; comparing the text of
// views, which DuckDB writes anew and may write otherwise in its next version.
#ifndef XSP_DESK_STORE_SCHEMA_H_
#define XSP_DESK_STORE_SCHEMA_H_

#include <string>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::store {

// Fails unless the tables exist, are tables and not views, and have columns of xsp's types. So no
// cell is computed when it is read, or has a type that readers do not expect.
Status check_schema(Database& database, const std::string& name);

// Hides the file's views behind xsp's own definitions of them, because a view of a foreign file may
// be a query that never ends. Fails if the tables below them are not there.
Status replace_views(Database& database, const std::string& name);

// Adds empty tables, and columns of NULL, for samples that an old file lacks, so that readers need
// no special case.
Status complete_schema(Database& database);

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_SCHEMA_H_
