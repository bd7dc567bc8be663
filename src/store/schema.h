// Schema: is a database an .xsp file? For src/store alone.
#ifndef XSP_STORE_SCHEMA_H_
#define XSP_STORE_SCHEMA_H_

#include <string>

#include "base/result.h"
#include "store/database.h"

namespace xsp::store {

// Its tables are there, are tables, and their columns have the types that xsp writes: no cell of
// them is computed when it is read, or of another kind than those who read it take it for.
Status check_schema(Database& database, const std::string& name);

// A file from before there were samples is as one without any, and what samples had not is NULL:
// whoever asks for them need not know.
Status complete_schema(Database& database);

}  // namespace xsp::store

#endif  // XSP_STORE_SCHEMA_H_
