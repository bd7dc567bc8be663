// The verbs of the command line. Each has its own file: src/desk/cli/NAME.cc defines add_NAME.
#ifndef XSP_DESK_CLI_VERBS_H_
#define XSP_DESK_CLI_VERBS_H_

#include <CLI/CLI.hpp>

#include "shared/base/result.h"

namespace xsp::cli {

// A verb adds its subcommand with options, help, examples, and a callback. The callback does the
// work and sets `exit_status`: 0 ok, 1 failed, 2 usage, 3 regression gate tripped, 4 capability not
// available.
void add_agent(CLI::App& app, int& exit_status);
void add_analyze(CLI::App& app, int& exit_status);
void add_catalogue(CLI::App& app, int& exit_status);
void add_condense(CLI::App& app, int& exit_status);
void add_ctl(CLI::App& app, int& exit_status);
void add_diff(CLI::App& app, int& exit_status);
void add_doctor(CLI::App& app, int& exit_status);
void add_evaluate(CLI::App& app, int& exit_status);
void add_export(CLI::App& app, int& exit_status);
void add_findings(CLI::App& app, int& exit_status);
void add_import(CLI::App& app, int& exit_status);
void add_models(CLI::App& app, int& exit_status);
void add_predict(CLI::App& app, int& exit_status);
void add_profile(CLI::App& app, int& exit_status);
void add_query(CLI::App& app, int& exit_status);
void add_report(CLI::App& app, int& exit_status);
void add_run(CLI::App& app, int& exit_status);
void add_serve(CLI::App& app, int& exit_status);
void add_site(CLI::App& app, int& exit_status);
void add_sweep(CLI::App& app, int& exit_status);
void add_task(CLI::App& app, int& exit_status);

// Prints "error: ..." on standard error as one line. Returns the exit status for the error.
int report(const Error& error);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_VERBS_H_
