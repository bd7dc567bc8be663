// The programs that `xsp serve` starts for requests: what may run, and why one failed.
#ifndef XSP_DESK_CLI_SERVE_CHILD_H_
#define XSP_DESK_CLI_SERVE_CHILD_H_

#include <filesystem>
#include <string>

#include "desk/manifest/manifest.h"
#include "shared/base/result.h"

namespace xsp::cli {

// Code of a manifest runs with the server's rights, so a request from the network starts none.
Status check_no_code(const manifest::Manifest& manifest);

// Returns the last error that a program printed to this file; empty: none.
std::string reason_of(const std::filesystem::path& log);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SERVE_CHILD_H_
