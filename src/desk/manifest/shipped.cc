#include "desk/manifest/shipped.h"

#include <algorithm>
#include <cstdlib>

#include "desk/manifest/semver.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::manifest {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFilesMax = 100'000;

void add_folder(const fs::path& folder, std::vector<std::string>* paths) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (paths->size() >= kFilesMax) return;
    if (is_manifest(at->path().string())) paths->push_back(at->path().string());
  }
}

}  // namespace

Result<fs::path> shipped_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return failed("/proc/self/exe: cannot be read: is /proc mounted?");
  return program.parent_path().parent_path() / "share" / "xsp";
}

std::vector<Found> all_manifests() {
  std::vector<std::string> paths;
  if (const auto folder = shipped_folder(); folder.ok()) add_folder(*folder / "manifests", &paths);
  if (const char* folders = std::getenv("XSP_MANIFESTS"); folders != nullptr) {
    for (const std::string& folder : split(folders, ':')) add_folder(folder, &paths);
  }
  std::vector<Found> all;
  for (const std::string& path : paths) {
    auto read = read_manifests(path);
    if (!read.ok()) all.push_back({path, read.error()});
    if (!read.ok()) continue;
    for (Manifest& manifest : *read) all.push_back({path, std::move(manifest)});
  }
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    const std::string& left = a.manifest.ok() ? a.manifest->name : a.path;
    const std::string& right = b.manifest.ok() ? b.manifest->name : b.path;
    return left != right ? left < right : a.path < b.path;
  });
  return all;
}

Result<Manifest> find_manifest(const std::string& name) {
  const size_t at = name.find('@');
  const std::string wanted = name.substr(0, at);
  auto constraint = Constraint::parse(at == std::string::npos ? "*" : name.substr(at + 1));
  if (!constraint.ok()) return usage(name + ": " + constraint.error().text);
  std::vector<std::string> names, versions;
  std::optional<Manifest> newest;
  for (Found& found : all_manifests()) {
    if (!found.manifest.ok()) continue;
    Manifest& manifest = *found.manifest;
    names.push_back(manifest.name);
    if (manifest.name != wanted) continue;
    versions.push_back(manifest.version);
    const auto version = parse_version(manifest.version);
    if (at != std::string::npos && !constraint->is_satisfied_by(*version)) continue;
    if (!newest || *parse_version(newest->version) < *version) newest = std::move(manifest);
  }
  if (newest) return std::move(*newest);
  if (!versions.empty()) {
    return usage(name + ": no version satisfies it: there is " + joined(versions));
  }
  return usage(name + ": there is no such manifest: " +
               did_you_mean(wanted, names, "see xsp models --list"));
}

}  // namespace xsp::manifest
