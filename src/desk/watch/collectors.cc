#include "desk/watch/collectors.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "desk/experiment/collector_entry.h"
#include "desk/experiment/monitor.h"
#include "desk/experiment/plan.h"
#include "process/watch/run_folder.h"
#include "shared/base/levels.h"
#include "xsp/plugin.h"

namespace xsp::watch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPreloadVariable = "LD_PRELOAD";
constexpr const char* kInjectionVariable = "CUDA_INJECTION64_PATH";
constexpr const char* kLayersVariable = "OPENCL_LAYERS";
constexpr const char* kNvtxVariable = "NVTX_INJECTION64_PATH";
// The maximum number of devices of one process.
constexpr int kDevicesMax = 64;

std::vector<fs::path> libraries_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".so") paths.push_back(it->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string text_of(const store::Table& table, size_t row, size_t column) {
  const auto& value = table.rows[row][column];
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

Result<std::vector<std::string>> texts(store::Database& database, const std::string& sql) {
  XSP_TRY(const store::Table table, database.query(sql));
  std::vector<std::string> values;
  for (size_t row = 0; row < table.rows.size(); ++row) values.push_back(text_of(table, row, 0));
  return values;
}

// Puts a library in front of the libraries that the variable lists.
void prepend(const char* variable, const fs::path& library) {
  const char* before = ::getenv(variable);
  const bool is_alone = before == nullptr || *before == '\0';
  ::setenv(variable, (library.string() + (is_alone ? "" : ":") + (is_alone ? "" : before)).c_str(),
           1);
}

// Returns the levels of a run that were recorded: those in its text, except `bits`.
std::string without(const std::string& levels, uint32_t bits) {
  const Result<uint32_t> all = experiment::parse_levels(levels);
  return all.ok() ? levels_text(*all & ~bits) : levels;
}

}  // namespace

AttachedCollectors::AttachedCollectors(const experiment::Installation& installation,
                                       uint32_t levels)
    : installation_(installation), wanted_(levels) {
  for (const fs::path& path : libraries_in(installation.collectors)) {
    const xsp_collector* entry = experiment::collector_entry(path);
    if (entry == nullptr || (entry->levels & levels) == 0) continue;
    const bool is_host = !XSP_HAS(xsp_collector, entry, device) || entry->device == nullptr;
    all_.push_back({path.stem(), path, is_host ? process::kHostKind : entry->device,
                    entry->levels & levels, experiment::is_preloaded(entry)});
  }
}

uint32_t AttachedCollectors::levels() const {
  uint32_t bits = 0;
  for (const One& one : all_) bits |= one.levels;
  return bits;
}

bool AttachedCollectors::watch_devices_alone(uint32_t levels) const {
  uint32_t of_devices = 0;
  for (const One& one : all_) {
    if (one.kind != process::kHostKind) of_devices |= one.levels;
  }
  return (levels & ~of_devices) == 0;
}

void AttachedCollectors::set_environment(const fs::path& scratch) const {
  std::string list;
  bool has_cuda = false;
  for (const One& one : all_) {
    fs::path path = one.path;
    if (path.string().find_first_of(" :") != std::string::npos) {
      // The loader looks for the library's dependencies beside the file that the link points to.
      std::error_code error;
      path = scratch / one.path.filename();
      fs::create_symlink(one.path, path, error);
    }
    list += (list.empty() ? "" : ":") + one.kind + "=" + path.string();
    if (one.is_preloaded) prepend(kPreloadVariable, path);
    // The OpenCL loader loads the library when a process first uses OpenCL.
    if (one.kind == process::kOpenclKind) prepend(kLayersVariable, path);
    has_cuda = has_cuda || one.kind == process::kCudaKind;
  }
  ::setenv(process::kCollectorsVariable, list.c_str(), 1);
  // The setting of another tool is kept: NVTX sends its ranges to only one library.
  ::setenv(kNvtxVariable, installation_.attach.c_str(), 0);
  if (!has_cuda) return;
  const char* before = ::getenv(kInjectionVariable);
  if (before != nullptr && *before != '\0') ::setenv(process::kOtherInjectionVariable, before, 1);
  ::setenv(kInjectionVariable, installation_.attach.c_str(), 1);
}

Result<bool> has_used_cuda(store::Database& database) {
  XSP_TRY(const auto rows, texts(database, std::string("SELECT value FROM site_attribute WHERE "
                                                       "key = '") +
                                               process::kUsesCudaKey + "' LIMIT 1"));
  return !rows.empty();
}

Result<std::string> AttachedCollectors::why_not(store::Database& database, uint32_t level) const {
  XSP_TRY(const auto recorded, texts(database, "SELECT 'yes' FROM span WHERE level = " +
                                                   std::to_string(level) + " LIMIT 1"));
  if (!recorded.empty()) return std::string();
  std::vector<const One*> able;
  for (const One& one : all_) {
    if ((one.levels & XSP_LEVEL_BIT(level)) != 0) able.push_back(&one);
  }
  if (able.empty()) return std::string("no collector of this installation records it");
  std::string why;
  for (const One* one : able) {
    XSP_TRY(const auto said, texts(database,
                                   "SELECT DISTINCT value FROM site_attribute WHERE key "
                                   "= '" +
                                       (process::kCollectorKey + one->name) + "'"));
    // It is enough if one process recorded the level.
    if (std::find(said.begin(), said.end(), process::kRecorded) != said.end()) {
      return std::string();
    }
    if (!said.empty()) why = said[0];
  }
  if (!why.empty()) return why;
  XSP_TRY(const bool uses_cuda, has_used_cuda(database));
  if (able[0]->kind == process::kCudaKind && !uses_cuda) {
    return std::string("no process of the command used CUDA");
  }
  return std::string("no process of the command started its collector");
}

Status AttachedCollectors::write_devices(store::Database& database,
                                         std::map<std::string, std::string>* facts) const {
  XSP_TRY(const auto devices,
          texts(database,
                "SELECT DISTINCT CAST(device AS VARCHAR) FROM span WHERE device IS NOT "
                "NULL ORDER BY 1 LIMIT " +
                    std::to_string(kDevicesMax)));
  if (devices.empty()) return Ok{};
  XSP_TRY(const bool uses_cuda, has_used_cuda(database));
  const std::string kind = uses_cuda ? "cuda:" : "opencl:";
  // If a run used several devices, its row names the first; the table `span` has the device of each
  // span.
  XSP_CHECK_OK(database.query(
      "UPDATE run SET device = (SELECT $kind || min(device) FROM span WHERE span.run_id = "
      "run.run_id AND device IS NOT NULL)",
      {{"kind", kind}}));
  (*facts)["device"] = kind + devices[0];
  if (!uses_cuda) return Ok{};
  const std::atomic<int> never{0};
  for (const std::string& number : devices) {
    const std::string device = "cuda:" + number;
    experiment::Monitors monitors(device, never);
    monitors.start(installation_.worker, libraries_that_watch(process::kCudaKind));
    for (const auto& [key, value] : monitors.facts()) facts->emplace(key, value);
    for (const machine::Peak& peak : monitors.peaks()) {
      XSP_CHECK_OK(database.query("INSERT INTO peak VALUES ($device, $name, $value, $source)",
                                  {{"device", peak.device},
                                   {"name", peak.name},
                                   {"value", peak.value},
                                   {"source", peak.source}}));
    }
    int note = 0;
    for (const std::string& text : monitors.take_notes()) {
      facts->emplace("note." + device + "." + std::to_string(++note), text);
    }
  }
  return Ok{};
}

std::vector<fs::path> AttachedCollectors::libraries_that_watch(const std::string& kind) const {
  std::vector<fs::path> paths;
  for (const fs::path& path : libraries_in(installation_.collectors)) {
    const xsp_collector* entry = experiment::collector_entry(path);
    if (entry == nullptr || !XSP_HAS(xsp_collector, entry, describe)) continue;
    if (entry->describe != nullptr && entry->device != nullptr && entry->device == kind) {
      paths.push_back(path);
    }
  }
  return paths;
}

Status AttachedCollectors::complete(store::Database& database,
                                    std::map<std::string, std::string>* facts) const {
  uint32_t missing = 0;
  for (const uint32_t level : {XSP_LEVEL_LIBRARY, XSP_LEVEL_API, XSP_LEVEL_KERNEL}) {
    if ((wanted_ & XSP_LEVEL_BIT(level)) == 0) continue;
    XSP_TRY(const std::string why, why_not(database, level));
    if (why.empty()) continue;
    missing |= XSP_LEVEL_BIT(level);
    (*facts)["not_measured." + std::string(level_name(level))] = why;
  }
  XSP_TRY(const auto texts_of_runs, texts(database, "SELECT DISTINCT levels FROM run"));
  for (const std::string& text : texts_of_runs) {
    XSP_CHECK_OK(database.query("UPDATE run SET levels = $now WHERE levels = $before",
                                {{"now", without(text, missing)}, {"before", text}}));
  }
  XSP_TRY(auto notes, texts(database, std::string("SELECT DISTINCT value FROM "
                                                  "site_attribute WHERE key LIKE '") +
                                          process::kCollectorNoteKey + "%' ORDER BY 1"));
  const char* nvtx = ::getenv(kNvtxVariable);
  if (nvtx != nullptr && installation_.attach != nvtx) {
    notes.push_back(std::string("NVTX's ranges are not recorded: ") + kNvtxVariable +
                    " gives them to " + nvtx + ": unset it");
  }
  int number = 0;
  for (const std::string& note : notes) (*facts)["note." + std::to_string(++number)] = note;
  return write_devices(database, facts);
}

}  // namespace xsp::watch
