// Loads the part of the prelude that a query needs. For src/desk/analyze alone.
#ifndef XSP_DESK_ANALYZE_PRELUDE_LOAD_H_
#define XSP_DESK_ANALYZE_PRELUDE_LOAD_H_

#include <string_view>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::analyze {

// Loads what `sql` names and the session lacks.
Status load_prelude_for(store::Database& database, std::string_view sql);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_PRELUDE_LOAD_H_
