// Table: lays a sheet out in columns of text, for a terminal or for Markdown.
#ifndef XSP_CLI_TABLE_H_
#define XSP_CLI_TABLE_H_

#include <string>

#include "cli/output.h"

namespace xsp::cli {

std::string render_table(const Sheet& sheet, const OutputOptions& options,
                         const Terminal& terminal);
std::string render_markdown(const Sheet& sheet);

}  // namespace xsp::cli

#endif  // XSP_CLI_TABLE_H_
