#include "desk/experiment/local.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "shared/base/cache.h"
#include "shared/base/program.h"
#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHelperEnding = "_local.py";
constexpr int kNotThereStatus = 4;
constexpr int kNotMineStatus = 5;  // the model has nothing to do with the helper's framework
constexpr const char* kNotMine = "it makes models of other frameworks alone";

// Returns the interpreter of the environment in which xsp runs.
std::string python() {
  const char* named = std::getenv("XSP_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

// Runs the helper to its end, and returns the lines that it printed. It shares our standard error,
// for progress. The last line of a helper that fails is the reason.
Result<std::vector<std::string>> ask(const LocalFramework& framework,
                                     std::vector<std::string> words) {
  words.insert(words.begin(), {python(), framework.helper.string()});
  const auto ended = run_to_end({std::move(words)});
  if (!ended.ok()) return Error{ended.error().code, ended.error().text + ": install Python"};
  std::vector<std::string> lines = split(ended->output, '\n');
  std::erase(lines, "");
  if (ended->is_success()) return lines;
  const std::string why = lines.empty() ? framework.helper.string() + " failed: run it to see why"
                                        : check_text(lines.back()).text;
  if (ended->status == kNotMineStatus) return not_available(kNotMine);
  return ended->status == kNotThereStatus ? not_available(why) : failed(why);
}

// Sets the variables of the lines "variable<TAB>NAME<TAB>VALUE". The user's own values stay.
void set_variables(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = split(line, '\t');
    if (parts.size() == 3 && parts[0] == "variable") {
      ::setenv(parts[1].c_str(), parts[2].c_str(), 0);
    }
  }
}

// Returns the Python file of "net.py:build"; empty: the word is none.
std::string python_file_of(const std::string& word) {
  const size_t colon = word.rfind(':');
  if (colon == std::string::npos || colon + 1 == word.size()) return {};
  return word.substr(0, colon);
}

bool makes(const LocalFramework& framework, const std::string& word) {
  const std::string file = python_file_of(word);
  std::error_code error;
  return std::any_of(framework.makes.begin(), framework.makes.end(), [&](const std::string& mark) {
    if (mark.ends_with('/')) return word.starts_with(mark);
    return fs::path(file).extension() == mark && fs::is_regular_file(file, error);
  });
}

}  // namespace

std::vector<std::string> words_after(const fs::path& file, const std::string& mark) {
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(mark)) continue;
    std::vector<std::string> words = split(line.substr(mark.size()), ' ');
    std::erase(words, "");
    return words;
  }
  return {};
}

std::vector<LocalFramework> local_frameworks(const fs::path& adapters) {
  std::vector<LocalFramework> frameworks;
  std::error_code error;
  for (fs::directory_iterator it(adapters, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.ends_with(kHelperEnding)) continue;
    frameworks.push_back({name.substr(0, name.size() - kHelperEnding.size()), it->path(),
                          words_after(it->path(), "# opens:"),
                          words_after(it->path(), "# makes:")});
  }
  std::sort(frameworks.begin(), frameworks.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return frameworks;
}

Result<std::string> local_status(const LocalFramework& framework) {
  XSP_TRY(const std::vector<std::string> lines, ask(framework, {"status"}));
  set_variables(lines);
  return lines.empty() ? std::string() : lines.back();
}

Result<std::optional<fs::path>> local_adapter(const LocalFramework& framework,
                                              const std::string& library) {
  XSP_TRY(const fs::path cache, make_cache_folder("adapters"));
  XSP_TRY(const std::vector<std::string> lines,
          ask(framework, {"adapter", cache.string(), library}));
  if (lines.empty()) return std::optional<fs::path>();
  return std::optional<fs::path>(lines.back());
}

bool is_local_model(const std::vector<LocalFramework>& frameworks, const std::string& word) {
  return std::any_of(frameworks.begin(), frameworks.end(),
                     [&](const LocalFramework& framework) { return makes(framework, word); });
}

Result<LocalModel> make_local_model(const std::vector<LocalFramework>& frameworks,
                                    const std::string& word, const std::string& wanted) {
  XSP_TRY(const fs::path cache, make_cache_folder("made"));
  std::string reasons;
  for (const LocalFramework& framework : frameworks) {
    if (!makes(framework, word) || (!wanted.empty() && framework.name != wanted)) continue;
    std::error_code error;
    const std::string place = fs::absolute(word, error).string() + " " + framework.name;
    const fs::path folder = cache / std::to_string(std::hash<std::string>()(place));
    fs::create_directories(folder, error);
    if (error) return failed(folder.string() + ": cannot be made: " + error.message());
    const auto lines = ask(framework, {"export", word, folder.string()});
    if (!lines.ok() && lines.error().code != Code::kNotAvailable) return lines.error();
    if (!lines.ok() && lines.error().text == kNotMine) continue;
    if (!lines.ok()) {
      reasons += (reasons.empty() ? "" : "; ") + lines.error().text;
      continue;
    }
    LocalModel model;
    model.framework = framework.name;
    set_variables(*lines);
    for (const std::string& line : *lines) {
      if (line.starts_with("model\t")) model.file = line.substr(6);
      if (line.starts_with("input\t")) model.inputs.push_back(line.substr(6));
    }
    return model;
  }
  return not_available(reasons.empty() ? word + ": --framework " + wanted +
                                             " makes no such models: leave it out"
                                       : reasons);
}

}  // namespace xsp::experiment
