#include "collectors/cupti/library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdlib>

#include "collectors/cupti/search.h"

namespace xsp::cupti {
namespace {

constexpr uint32_t kAnyVersion = 0;
constexpr uint32_t kNotFixed = UINT32_MAX;

struct KnownDefect {
  Defect defect;
  uint32_t from;     // the first version with the defect
  uint32_t before;   // the first version without it
  const char* note;  // for the user; null if the code avoids the defect
};

// Versions as cuptiGetVersion numbers them.
constexpr std::array kKnownDefects = {
    KnownDefect{Defect::kNvtxBeforeCupti, 130000, 130001,
                "crashes if NVTX is called before it is started: use CUDA 13.0 Update 1 or newer"},
    KnownDefect{Defect::kGraphCorrelation, kAnyVersion, 130101,
                nullptr /* said when a second session begins */},
    KnownDefect{Defect::kProcessorTime, 130000, 130401,
                nullptr /* records are fetched often, and recordings are short */},
    KnownDefect{
        Defect::kLegacyRecords, kAnyVersion, 14,
        "records of CUDA 10 and older say nothing of graphs: kernels of a CUDA graph get no "
        "layer"},
};

struct Loaded {
  std::string path;
};

int find_loaded(dl_phdr_info* info, size_t, void* data) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const size_t slash = path.rfind('/');
  const std::string_view file = slash == path.npos ? path : path.substr(slash + 1);
  if (file.substr(0, 11) != "libcupti.so") return 0;
  static_cast<Loaded*>(data)->path = path;
  return 1;
}

uint32_t version_of(void* handle) {
  uint32_t version = 0;
  const auto ask = reinterpret_cast<decltype(&::cuptiGetVersion)>(dlsym(handle, "cuptiGetVersion"));
  return ask != nullptr && ask(&version) == CUPTI_SUCCESS ? version : 0;
}

struct Found {
  void* handle = nullptr;
  std::string path;
  uint32_t version = 0;
};

Found load(const std::string& path, std::string* why) {
  Found found{dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), path, 0};
  if (found.handle == nullptr) {
    *why = dlerror();
    return found;
  }
  found.version = version_of(found.handle);
  return found;
}

// Loads the newest library that can be loaded, and releases the others.
Found load_newest(const std::vector<std::string>& paths, std::string* why) {
  Found best;
  for (const std::string& path : paths) {
    const Found found = load(path, why);
    if (found.handle == nullptr) continue;
    if (best.handle != nullptr && found.version <= best.version) {
      dlclose(found.handle);
      continue;
    }
    if (best.handle != nullptr) dlclose(best.handle);
    best = found;
  }
  return best;
}

Found find(std::string* why) {
  Loaded loaded;
  dl_iterate_phdr(find_loaded, &loaded);
  if (!loaded.path.empty()) return load(loaded.path, why);
  const char* given = std::getenv("XSP_CUPTI");
  if (given != nullptr && *given != '\0') return load(given, why);
  Found found = load_newest(installed_libraries(), why);
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    if (found.handle != nullptr) break;
    found = load(name, why);
  }
  return found;
}

}  // namespace

std::string version_text(uint32_t version) {
  // Up to CUDA 12.9 versions were numbered consecutively, with gaps.
  struct Old {
    uint32_t version;
    const char* text;
  };
  constexpr std::array kOld = {Old{13, "11.0"}, Old{14, "11.1"}, Old{15, "11.2"},  Old{16, "11.5"},
                               Old{17, "11.6"}, Old{18, "11.8"}, Old{19, "12.0"},  Old{20, "12.2"},
                               Old{21, "12.3"}, Old{22, "12.4"}, Old{23, "12.5"},  Old{24, "12.6"},
                               Old{26, "12.8"}, Old{27, "12.9"}, Old{28, "12.9.1"}};
  if (version >= 10000) {
    return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
           std::to_string(version % 100);
  }
  for (const Old& old : kOld) {
    if (old.version == version) return old.text;
  }
  return "API " + std::to_string(version);
}

bool has_defect(uint32_t version, Defect defect) {
  for (const KnownDefect& known : kKnownDefects) {
    if (known.defect == defect && version >= known.from && version < known.before) return true;
  }
  return false;
}

std::vector<std::string> defect_notes(uint32_t version) {
  std::vector<std::string> notes;
  for (const KnownDefect& known : kKnownDefects) {
    if (known.note == nullptr || !has_defect(version, known.defect)) continue;
    notes.push_back("CUPTI " + version_text(version) + ": " + known.note);
  }
  return notes;
}

std::unique_ptr<Library> Library::open(std::string* why) {
  const Found found = find(why);
  if (found.handle == nullptr) {
    *why = "CUPTI: not found (" + *why +
           "): install the CUDA toolkit or `pip install nvidia-cuda-cupti`, or set XSP_CUPTI to "
           "its libcupti.so";
    return nullptr;
  }
  auto library = std::make_unique<Library>();
  library->handle_ = found.handle;
  library->path_ = found.path;
  library->version_ = found.version;
  Functions& functions = library->functions_;
  const char* missing = nullptr;
#define XSP_CUPTI_LOOK_UP(name) \
  functions.name = reinterpret_cast<decltype(functions.name)>(library->symbol(#name));
#define XSP_CUPTI_MUST(name) \
  if (functions.name == nullptr) missing = #name;
  XSP_CUPTI_REQUIRED(XSP_CUPTI_LOOK_UP)
  XSP_CUPTI_OPTIONAL(XSP_CUPTI_LOOK_UP)
  XSP_CUPTI_REQUIRED(XSP_CUPTI_MUST)
#undef XSP_CUPTI_LOOK_UP
#undef XSP_CUPTI_MUST
  if (missing == nullptr) return library;
  *why = "CUPTI: " + found.path + " has no function " + missing + ": use a newer CUDA toolkit's";
  return nullptr;
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

std::string Library::error_text(CUptiResult result) const {
  const char* text = nullptr;
  if (functions_.cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr) {
    return "CUPTI error " + std::to_string(static_cast<int>(result));
  }
  return text;
}

}  // namespace xsp::cupti
