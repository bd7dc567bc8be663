#include "desk/manifest/kept.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <tuple>

namespace xsp::manifest {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::system_clock;

// Adds a file to its model. Every use sets the time of the last access (mark_used), also where the
// file system does not.
void add_file(const fs::path& path, KeptModel* model) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return;
  if (!S_ISREG(facts.st_mode)) return;  // looking into a folder is no use of it
  model->bytes += static_cast<uint64_t>(facts.st_blocks) * 512;
  const time_t used = std::max(facts.st_atim.tv_sec, facts.st_mtim.tv_sec);
  model->used = std::max(model->used, Clock::from_time_t(used));
}

KeptModel model_at(const fs::path& path) {
  KeptModel model{path, 0, {}};
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) {
    add_file(path, &model);
    return model;
  }
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    add_file(at->path(), &model);
  }
  return model;
}

// Appends the models in a folder. `depth` is how many folders stand above each of them there.
void collect(const fs::path& folder, int depth, std::vector<KeptModel>* models) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') || name.ends_with(".part")) continue;
    if (depth > 0) {
      collect(at->path(), depth - 1, models);
    } else if (name != "export") {
      models->push_back(model_at(at->path()));
    }
  }
}

}  // namespace

std::vector<KeptModel> kept_models(const fs::path& cache) {
  std::vector<KeptModel> models;
  collect(cache / "models", 0, &models);
  collect(cache / "models" / "export", 1, &models);  // export/FRAMEWORK/RECIPE
  std::sort(models.begin(), models.end(), [](const KeptModel& a, const KeptModel& b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  return models;
}

Result<std::vector<KeptModel>> remove_models(const fs::path& cache, uint64_t most_bytes) {
  std::vector<KeptModel> removed;
  uint64_t left = 0;
  const std::vector<KeptModel> models = kept_models(cache);
  for (const KeptModel& one : models) left += one.bytes;
  const auto newest = Clock::now() - kInUse;
  for (const KeptModel& one : models) {
    if (left <= most_bytes || one.used > newest) break;
    if (one.bytes == 0) continue;  // a link: nothing is gained
    std::error_code error;
    fs::remove_all(one.path, error);
    if (error) return failed(one.path.string() + ": cannot be removed: " + error.message());
    left -= one.bytes;
    removed.push_back(one);
  }
  return removed;
}

uint64_t bytes_in(const fs::path& folder) { return model_at(folder).bytes; }

}  // namespace xsp::manifest
