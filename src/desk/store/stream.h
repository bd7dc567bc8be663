// Stream: the rows of an answer as they are computed, and its columns before them.
#ifndef XSP_DESK_STORE_STREAM_H_
#define XSP_DESK_STORE_STREAM_H_

#include <string_view>
#include <vector>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::store {

// Works like Database::stream(), without parameters. `columns` is set before `take` gets the first
// row, so it is known, too, if `take` ends the answer.
Status stream(Database& database, std::string_view sql, std::vector<Column>* columns,
              const TakeRow& take);

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_STREAM_H_
