// A PJRT plugin: XLA for one kind of device, in a library that is loaded at run time.
//
// Plugins and this header differ in version. A plugin that is newer than the header may refuse
// arguments that are shorter than its own. So their stated size is larger, and the additional
// fields are zero.
#ifndef XSP_ADAPTERS_PJRT_PLUGIN_H_
#define XSP_ADAPTERS_PJRT_PLUGIN_H_

#include <pjrt_c_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace xsp::pjrt {

// Holds arguments of a call, or another struct that a plugin reads, with extra room for a newer
// plugin.
template <typename Struct>
class Sized {
 public:
  Sized() { whole_.known.struct_size = sizeof whole_; }
  Struct* operator->() { return &whole_.known; }
  Struct* get() { return &whole_.known; }

 private:
  static constexpr size_t kRoom = 256;
  struct Whole {
    Struct known;
    std::byte newer[kRoom];
  };
  Whole whole_{};
};

// Declares the profiler of a plugin, by its extension of PJRT's interface.
struct ProfilerApi;

struct Plugin {
  std::string kind;    // kind of device: "cpu", "cuda"
  std::string absent;  // why there is none, as an error's text; empty if there is one
  std::string path;
  std::string version;  // version of XLA's interface: "PJRT 0.81"
  const PJRT_Api* api = nullptr;
  const ProfilerApi* profiler = nullptr;  // nullptr if it has none
};

// Returns the plugin of this process for "cpu" or "cuda", loaded at the first call; any thread.
const Plugin& plugin(const std::string& kind);

// Takes the error of a call, and releases it. An empty text means success.
struct Problem {
  PJRT_Error_Code code = PJRT_Error_Code_UNKNOWN;
  std::string text;  // one line
  explicit operator bool() const { return !text.empty(); }
};
Problem take(const Plugin& plugin, PJRT_Error* error);

// Waits for an event, and releases it; nullptr means that there is nothing to wait for.
Problem await(const Plugin& plugin, PJRT_Event* event);

}  // namespace xsp::pjrt

#endif  // XSP_ADAPTERS_PJRT_PLUGIN_H_
