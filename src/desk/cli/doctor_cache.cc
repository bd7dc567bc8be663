// The folders that xsp writes to, and what its cache folder holds.
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "desk/cli/doctor.h"
#include "desk/cli/output.h"
#include "desk/cli/units.h"
#include "desk/manifest/kept.h"
#include "shared/base/cache.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

// More than this is worth a hint.
constexpr uint64_t kMuch = uint64_t{10} << 30;

std::string size_text(uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  const Scale scale("bytes", {value});
  return scale.text(value) + " " + scale.label();
}

uint64_t bytes_of(const std::vector<manifest::KeptModel>& models) {
  uint64_t bytes = 0;
  for (const manifest::KeptModel& one : models) bytes += one.bytes;
  return bytes;
}

// Returns text like "3.00 MiB in 2 models".
std::string told(const std::vector<manifest::KeptModel>& models) {
  return size_text(bytes_of(models)) + " in " + std::to_string(models.size()) +
         (models.size() == 1 ? " model" : " models");
}

}  // namespace

Finding folder_finding(const std::string& name, const fs::path& folder, const char* variable) {
  const std::string action = std::string("name another folder with ") + variable;
  // The folder may not exist yet, so its nearest existing parent decides.
  fs::path existing = folder;
  std::error_code error;
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  if (::access(existing.c_str(), W_OK) != 0) {
    return {"facility", name, kNotAvailable, folder.string() + " cannot be written", action};
  }
  struct statvfs space {};
  if (::statvfs(existing.c_str(), &space) != 0) {
    return {"facility", name, kNotAvailable, folder.string() + " cannot be examined", action};
  }
  const uint64_t free = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
  const std::string text = folder.string() + ", " + std::to_string(free >> 20) + " MiB free";
  constexpr uint64_t kEnough = uint64_t{1} << 30;
  if (free < kEnough) {
    return {"facility", name, kLimited, text, "make room: large models need gigabytes"};
  }
  return {"facility", name, kAvailable, text, ""};
}

Finding cache_finding() {
  const auto folder = cache_folder();
  if (!folder.ok()) {
    return {"facility", "cache folder", kNotAvailable, folder.error().text, ""};
  }
  Finding finding = folder_finding("cache folder", *folder, "XDG_CACHE_HOME");
  const uint64_t models = bytes_of(manifest::kept_models(*folder));
  finding.reason += ", holds " + size_text(manifest::bytes_in(*folder)) + ", of which " +
                    size_text(models) + " are models";
  if (models > kMuch && finding.action.empty()) {
    finding.action = "xsp doctor --clean-models 5GiB removes models that were not used for long";
  }
  return finding;
}

Status clean_models(uint64_t most_bytes) {
  XSP_TRY(const fs::path folder, cache_folder());
  XSP_TRY(const auto removed, manifest::remove_models(folder, most_bytes));
  const auto left = manifest::kept_models(folder);
  std::string text;
  for (const manifest::KeptModel& one : removed) {
    text += "removed " + one.path.string() + ", " + size_text(one.bytes) + "\n";
  }
  text += "removed " + told(removed) + "; kept " + told(left);
  if (bytes_of(left) > most_bytes) text += ": they were used in the last hour";
  return write_stdout(text + "\n");
}

}  // namespace xsp::cli
