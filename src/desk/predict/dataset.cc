#include "desk/predict/dataset.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "desk/manifest/sha256.h"
#include "formats/list/labelled_files.h"
#include "shared/base/nearest.h"

namespace xsp::predict {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kListBytesMax = 1u << 30;

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

// Returns the folder's entries that are not hidden, by name.
Result<std::vector<fs::path>> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!is_hidden(it->path())) paths.push_back(it->path());
  }
  if (error) return failed(folder.string() + ": cannot be read: " + error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Status add_files(const fs::path& folder, const std::string& label, std::vector<Item>* items) {
  XSP_TRY(const std::vector<fs::path> paths, entries_of(folder));
  for (const fs::path& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error) && !fs::is_symlink(path, error)) {
      XSP_CHECK_OK(add_files(path, label, items));
    } else if (fs::is_regular_file(path, error)) {
      items->push_back({path, label, folder});
    }
  }
  return Ok{};
}

Result<std::vector<Item>> read_folder(const fs::path& folder) {
  std::vector<Item> items;
  XSP_TRY(const std::vector<fs::path> paths, entries_of(folder));
  for (const fs::path& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      XSP_CHECK_OK(add_files(path, path.filename(), &items));
    }
  }
  if (items.empty()) {
    return failed(folder.string() +
                  ": no files in folders: put each file into a folder that has its label's name");
  }
  return items;
}

Result<std::vector<Item>> read_list(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || fs::file_size(path, error) > kListBytesMax || error) {
    return failed(path + ": cannot be read: name a folder, or a list of files and labels");
  }
  std::ostringstream text;
  text << file.rdbuf();
  XSP_TRY(const auto files, formats::parse_labelled_files(text.str(), path));
  const fs::path folder = fs::path(path).parent_path();
  std::vector<Item> items;
  for (const formats::LabelledFile& entry : files) {
    Item item{(folder / entry.file).lexically_normal(), entry.label,
              path + ":" + std::to_string(entry.line)};
    if (!fs::is_regular_file(item.file, error)) {
      return failed(item.place + ": " + item.file +
                    ": no such file: paths are relative to the list's folder");
    }
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

Result<std::vector<Item>> read_dataset(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return failed(path + ": no such file: name a folder, or a list of files and labels");
  }
  return fs::is_directory(path, error) ? read_folder(path) : read_list(path);
}

Status check_labels(const std::vector<Item>& items, const std::vector<std::string>& labels) {
  const std::set<std::string> known(labels.begin(), labels.end());
  for (const Item& item : items) {
    if (known.count(item.label) > 0) continue;
    return failed(item.place + ": label '" + item.label + "' is none of the model's " +
                  std::to_string(labels.size()) + ": " +
                  did_you_mean(item.label, labels, "see 'labels' in the manifest"));
  }
  return Ok{};
}

Result<std::map<std::string, std::string>> facts_of_dataset(const std::string& path,
                                                            const std::vector<Item>& items) {
  std::vector<std::string> lines;
  for (const Item& item : items) {
    XSP_TRY(const std::string contents, manifest::sha256_of_file(item.file));
    lines.push_back(contents + ' ' + item.label + '\n');
  }
  std::sort(lines.begin(), lines.end());
  manifest::Sha256 all;
  for (const std::string& line : lines) all.add(line.data(), line.size());
  // "set/" and "." have no last part of their own.
  std::error_code error;
  fs::path whole = fs::absolute(path, error).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  return std::map<std::string, std::string>{{"dataset.name", whole.filename()},
                                            {"dataset.sha256", all.finish()}};
}

}  // namespace xsp::predict
