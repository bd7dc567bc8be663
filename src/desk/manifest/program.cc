#include "desk/manifest/program.h"

#include "shared/base/program.h"
#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::manifest {

Status run_program(const std::vector<std::string>& argv) {
  const auto ended = run_to_end({argv, {}, Errors::kWithOutput});
  if (!ended.ok()) return Error{ended.error().code, ended.error().text + ": install it"};
  if (ended->is_success()) return Ok{};
  const std::vector<std::string> lines = split(ended->output, '\n');
  const std::string line = lines.empty() ? std::string() : check_text(lines.back()).text;
  return failed(line.empty() ? argv[0] + " failed" : line);
}

}  // namespace xsp::manifest
