#include "desk/cli/replaced.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <optional>

#include "desk/serve/page.h"
#include "desk/store/database.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMinuteLength = 16;  // of "2026-11-25T21:40:05Z", to its minutes

// Returns a description of an evaluation that xsp wrote, if the file is one.
std::optional<std::string> evaluation_at(const fs::path& path) {
  auto database = store::Database::open(path);
  if (!database.ok()) return std::nullopt;
  const auto fact = [&database](const char* key) -> std::string {
    const auto rows = database->query("SELECT value FROM evaluation WHERE key = $key",
                                      {{"key", std::string(key)}});
    if (!rows.ok() || rows->rows.empty()) return {};
    const auto* text = std::get_if<std::string>(&rows->rows[0][0]);
    return text == nullptr ? std::string() : *text;
  };
  std::string text = "an evaluation";
  if (const std::string model = fact("model"); !model.empty()) text += " of " + model;
  std::string when = fact("started_at").substr(0, kMinuteLength);
  std::replace(when.begin(), when.end(), 'T', ' ');
  return when.empty() ? text : text + ", " + when + " UTC";
}

std::optional<std::string> page_at(const fs::path& path) {
  const std::string_view page = serve::embedded_page();
  // The page's script differs from version to version; its head does not.
  const std::string_view head = page.substr(0, page.find("<script"));
  std::string begin(head.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (head.empty() || !file || begin != head) return std::nullopt;
  return "an earlier page";
}

bool is_input(const Place& place) {
  std::error_code error;
  return std::any_of(place.inputs.begin(), place.inputs.end(), [&](const fs::path& input) {
    return fs::equivalent(input, place.output, error);
  });
}

}  // namespace

Result<std::string> replaced_by(const Place& place) {
  const std::string name = place.output.string();
  std::error_code error;
  const fs::file_status status = fs::symlink_status(place.output, error);
  if (!fs::exists(status)) return std::string();
  if (is_input(place)) {
    return usage(name + ": is an input, and would be replaced: name another file with -o");
  }
  if (fs::is_directory(place.output, error)) {
    return failed(name + ": is a folder: name a file with -o");
  }
  if (!fs::is_regular_file(status) && !fs::is_symlink(status)) {
    return failed(name + ": is not a regular file: name another with -o");
  }
  const auto own =
      place.kind == Place::Kind::kEvaluation ? evaluation_at(place.output) : page_at(place.output);
  if (own) return " in place of " + *own;
  if (!place.is_forced) {
    return failed(name +
                  ": is there already, and xsp did not write it: name another with -o, or replace "
                  "it with --force");
  }
  const uintmax_t bytes = fs::file_size(place.output, error);
  return fmt::format(" in place of a file of {} bytes that xsp did not write", error ? 0 : bytes);
}

void add_force(CLI::App& verb, bool& is_forced) {
  verb.add_flag("--force", is_forced, "Replace a file that xsp did not write, but never an input");
}

}  // namespace xsp::cli
