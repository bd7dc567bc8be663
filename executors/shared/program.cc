#include "executors/shared/program.h"

#include "shared/base/program.h"
#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::executors {

Result<std::string> run_program(const std::vector<std::string>& argv, std::string_view input) {
  auto ended = run_to_end({argv, input, Errors::kApart, std::chrono::minutes(2)});
  if (!ended.ok()) return Error{ended.error().code, ended.error().text + ": install it"};
  if (!ended->was_in_time) {
    return failed(argv[0] + ": no answer within two minutes: see that it works");
  }
  if (ended->is_success()) return std::move(ended->output);
  const std::string said = joined(split(check_text(ended->errors).text, '\n'), " | ");
  return failed(said.empty() ? argv[0] + " failed" : said);
}

}  // namespace xsp::executors
