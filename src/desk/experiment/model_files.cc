#include "desk/experiment/model_files.h"

#include <algorithm>
#include <system_error>

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the part of the name before the ending, or nothing if it ends otherwise.
std::optional<std::string> stem_of(const std::string& name, const std::string& ending) {
  size_t at = name.size();
  for (auto c = ending.rbegin(); c != ending.rend(); ++c) {
    if (*c == '#') {
      const size_t end = at;
      while (at > 0 && is_digit(name[at - 1])) --at;
      if (at == end) return std::nullopt;
    } else if (at == 0 || name[--at] != *c) {
      return std::nullopt;
    }
  }
  if (at == 0) return std::nullopt;
  return name.substr(0, at);
}

// Returns the last file of the folder, by name, that has this stem and ending.
fs::path file_with(const fs::path& folder, const std::string& stem, const std::string& ending) {
  fs::path found;
  std::error_code error;
  const fs::path here = folder.empty() ? fs::path(".") : folder;
  for (fs::directory_iterator it(here, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (stem_of(name, ending) == stem && it->is_regular_file(error)) {
      found = std::max(found, folder / name);
    }
  }
  return found;
}

}  // namespace

std::optional<ModelPair> pair_of(const fs::path& file, const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    const size_t plus = pair.find('+');
    if (plus == std::string::npos) continue;
    const std::string endings[] = {pair.substr(0, plus), pair.substr(plus + 1)};
    for (const size_t side : {0, 1}) {
      const auto stem = stem_of(file.filename(), endings[side]);
      if (stem) return ModelPair{*stem, file_with(file.parent_path(), *stem, endings[1 - side])};
    }
  }
  return std::nullopt;
}

}  // namespace xsp::experiment
