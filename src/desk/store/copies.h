// Copies: lets DuckDB write rows of an .xsp file to files of other formats.
#ifndef XSP_DESK_STORE_COPIES_H_
#define XSP_DESK_STORE_COPIES_H_

#include <filesystem>
#include <functional>
#include <string>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::store {

// Opens the .xsp file in a separate process, which is confined to it and to the folder `to`
// (bounded.h), and calls `work` there. Its statements may be COPY ... TO a file in `to`. Returns
// what `work` returns. The calling process must have no other threads.
Result<std::string> with_copies(const std::filesystem::path& file, const std::filesystem::path& to,
                                const std::function<Result<std::string>(Database&)>& work);

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_COPIES_H_
