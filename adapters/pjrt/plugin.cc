#include "adapters/pjrt/plugin.h"

#include <cstdlib>

#include "adapters/pjrt/ranges.h"
#include "xsp/find_library.hpp"

namespace xsp::pjrt {
namespace {

std::string remedy(const std::string& kind) {
  if (kind == "cpu") {
    return ": xsp doctor --install pjrt, or set XSP_PJRT_CPU to the plugin's file";
  }
  return ": pip install jax-cuda13-pjrt, and set XSP_PJRT_CUDA to its xla_cuda_plugin.so";
}

struct ProfilerExtension {
  PJRT_Extension_Base base;
  const ProfilerApi* api;
};

Plugin load(const std::string& kind) {
  Plugin plugin;
  plugin.kind = kind;
  const bool is_cpu = kind == "cpu";
  // The plugin reads this when it is loaded. Its calls report errors, so logs are not needed.
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  if (!is_cpu) offer_ranges();
  const std::string package = is_cpu ? "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
                                     : "jax_plugins/xla_cuda*/xla_cuda_plugin.so";
  const FoundLibrary found =
      find_library({.variable = is_cpu ? "XSP_PJRT_CPU" : "XSP_PJRT_CUDA",
                    .file = is_cpu ? "xla_cpu_pjrt.so" : "xla_cuda_plugin.so",
                    .beside = "",
                    .in_cache = is_cpu ? "pjrt/" + package : "",
                    .linked = {},
                    .in_packages = package});
  plugin.path = found.path;
  plugin.absent = "XLA: " + found.why + remedy(kind);
  if (found.handle == nullptr) return plugin;
  const auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(found.handle, "GetPjrtApi"));
  const PJRT_Api* api = get == nullptr ? nullptr : get();
  if (api == nullptr || api->pjrt_api_version.major_version != PJRT_API_MAJOR ||
      api->struct_size < offsetof(PJRT_Api, PJRT_Executable_DeserializeAndLoad) + sizeof(void*)) {
    plugin.absent = "XLA: " + plugin.path + " is no plugin of PJRT 0" + remedy(kind);
    return plugin;
  }
  plugin.version = "PJRT " + std::to_string(api->pjrt_api_version.major_version) + "." +
                   std::to_string(api->pjrt_api_version.minor_version);
  plugin.api = api;
  Sized<PJRT_Plugin_Initialize_Args> initialize;
  if (const Problem problem = take(plugin, api->PJRT_Plugin_Initialize(initialize.get()))) {
    plugin.absent = "XLA: " + problem.text + remedy(kind);
    plugin.api = nullptr;
    return plugin;
  }
  for (PJRT_Extension_Base* one = api->extension_start; one != nullptr; one = one->next) {
    if (one->type != PJRT_Extension_Type_Profiler) continue;
    plugin.profiler = reinterpret_cast<ProfilerExtension*>(one)->api;
  }
  plugin.absent.clear();
  return plugin;
}

}  // namespace

const Plugin& plugin(const std::string& kind) {
  // The plugin is never destroyed: XLA's own threads may outlive any order of destruction.
  static const Plugin& cpu = *new Plugin(load("cpu"));
  if (kind == "cpu") return cpu;
  static const Plugin& cuda = *new Plugin(load("cuda"));
  return cuda;
}

Problem take(const Plugin& plugin, PJRT_Error* error) {
  if (error == nullptr) return {};
  Problem problem;
  Sized<PJRT_Error_Message_Args> message;
  message->error = error;
  plugin.api->PJRT_Error_Message(message.get());
  problem.text = one_line(std::string_view(message->message, message->message_size));
  if (problem.text.empty()) problem.text = "it says not why";
  Sized<PJRT_Error_GetCode_Args> code;
  code->error = error;
  if (PJRT_Error* second = plugin.api->PJRT_Error_GetCode(code.get())) {
    Sized<PJRT_Error_Destroy_Args> destroy;
    destroy->error = second;
    plugin.api->PJRT_Error_Destroy(destroy.get());
  } else {
    problem.code = code->code;
  }
  Sized<PJRT_Error_Destroy_Args> destroy;
  destroy->error = error;
  plugin.api->PJRT_Error_Destroy(destroy.get());
  return problem;
}

Problem await(const Plugin& plugin, PJRT_Event* event) {
  if (event == nullptr) return {};
  Sized<PJRT_Event_Await_Args> wait;
  wait->event = event;
  const Problem problem = take(plugin, plugin.api->PJRT_Event_Await(wait.get()));
  Sized<PJRT_Event_Destroy_Args> destroy;
  destroy->event = event;
  const Problem released = take(plugin, plugin.api->PJRT_Event_Destroy(destroy.get()));
  return problem ? problem : released;
}

}  // namespace xsp::pjrt
