// xsp: an across-stack profiler for machine-learning models.
#include <cstdio>

#include "cli/verbs.h"

namespace xsp::cli {

int report(const Error& error) {
  std::string line = error.text;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "error: %s\n", line.c_str());
  switch (error.code) {
    case Code::kUsage:
      return 2;
    case Code::kNotAvailable:
      return 4;
    case Code::kFailed:
    case Code::kCorrupt:
    case Code::kInterrupted:
      return 1;
  }
  return 1;
}

}  // namespace xsp::cli

int main(int argc, char** argv) {
  CLI::App app("xsp: an across-stack profiler for machine-learning models", "xsp");
  app.require_subcommand(1);
  app.set_version_flag("--version", XSP_VERSION);
  int exit_status = 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit_status;
}
