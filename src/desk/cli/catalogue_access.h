// The part of `xsp catalogue` about the API's users: tokens and the audit log.
#ifndef XSP_DESK_CLI_CATALOGUE_ACCESS_H_
#define XSP_DESK_CLI_CATALOGUE_ACCESS_H_

#include <CLI/CLI.hpp>

namespace xsp::cli {

// Adds the verbs token and audit to `xsp catalogue`.
void add_access_verbs(CLI::App& catalogue, int& exit_status);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_CATALOGUE_ACCESS_H_
