// Table: lays a sheet out in columns of text, for a terminal or for Markdown.
#ifndef XSP_DESK_CLI_TABLE_H_
#define XSP_DESK_CLI_TABLE_H_

#include <string>

#include "desk/cli/output.h"

namespace xsp::cli {

std::string render_table(const Sheet& sheet, const OutputOptions& options,
                         const Terminal& terminal);
std::string render_markdown(const Sheet& sheet);
// Returns the sheet with the `count` rows alone that a table shows first, in its order.
Sheet top_rows(const Sheet& sheet, size_t count);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_TABLE_H_
