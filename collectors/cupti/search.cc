#include "collectors/cupti/search.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "collectors/cupti/library.h"

namespace xsp::cupti {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the site-packages folders of Python into which pip may have installed CUPTI.
std::vector<std::string> python_folders() {
  std::vector<std::string> folders;
  for (const std::string& file : mapped_files()) {
    const size_t torch = file.find("/torch/lib/libtorch");
    if (torch != file.npos) folders.push_back(file.substr(0, torch));
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = environment(name);
    if (!prefix.empty()) folders.push_back(prefix + "/lib/python3*/site-packages");
  }
  const std::string home = environment("HOME");
  if (!home.empty()) folders.push_back(home + "/.local/lib/python3*/site-packages");
  for (const char* folder :
       {"/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
        "/opt/*/lib/python3*/site-packages", "/usr/lib/python3*/site-packages",
        "/usr/lib/python3/dist-packages"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

std::vector<std::string> patterns() {
  std::vector<std::string> result;
  std::vector<std::string> toolkits;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (!environment(name).empty()) toolkits.push_back(environment(name));
  }
  toolkits.insert(toolkits.end(), {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"});
  for (const std::string& toolkit : toolkits) {
    for (const char* folder : {"/extras/CUPTI/lib64", "/targets/x86_64-linux/lib", "/lib64"}) {
      result.push_back(toolkit + folder + "/libcupti.so.[0-9]*");
    }
  }
  for (const std::string& folder : python_folders()) {
    result.push_back(folder + "/nvidia/cu[0-9]*/lib/libcupti.so.[0-9]*");
    result.push_back(folder + "/nvidia/cuda_cupti/lib/libcupti.so.[0-9]*");
  }
  result.emplace_back("/usr/lib/x86_64-linux-gnu/libcupti.so.[0-9]*");
  return result;
}

struct Client {
  const char* part;  // part of the file's name
  const char* name;
};

constexpr std::array kClients = {
    Client{"libToolsInjection", "Nsight Systems"},
    Client{"libcuda-injection", "Nsight Compute"},
    Client{"libnvidia-nsight", "an Nsight tool"},
    Client{"libTAU", "TAU"},
    Client{"libhpcrun", "HPCToolkit"},
    Client{"libscorep", "Score-P"},
    Client{"libvtrace", "VampirTrace"},
    Client{"libextrae", "Extrae"},
    Client{"libcaliper", "Caliper"},
    Client{"libproton", "Triton's Proton"},
    Client{"libkineto", "PyTorch's profiler"},
    Client{"libtorch_cpu", "PyTorch's profiler"},
    Client{"libtensorflow", "TensorFlow's profiler"},
    Client{"xla_cuda_plugin", "XLA's profiler"},
};

}  // namespace

std::vector<std::string> installed_libraries() {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns()) {
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        std::error_code error;
        const std::string file = fs::canonical(found.gl_pathv[i], error).string();
        if (!error && std::find(files.begin(), files.end(), file) == files.end()) {
          files.push_back(file);
        }
      }
    }
    globfree(&found);
  }
  return files;
}

std::vector<std::string> mapped_files() {
  std::vector<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == line.npos) continue;
    std::string file = line.substr(slash);
    if (file.find(".so") == file.npos) continue;
    if (files.empty() || files.back() != file) files.push_back(std::move(file));
  }
  return files;
}

std::string clients_among(const std::vector<std::string>& files, const char* injection) {
  if (injection != nullptr && *injection != '\0') {
    return "the library that CUDA_INJECTION64_PATH names (" + std::string(injection) + ")";
  }
  for (const Client& client : kClients) {
    for (const std::string& file : files) {
      const std::string name = file.substr(file.rfind('/') + 1);
      if (name.find(client.part) != name.npos) return std::string(client.name) + " (" + name + ")";
    }
  }
  return "";
}

std::string other_clients() {
  // The variable comes from `xsp run`'s own library, which may have replaced another one.
  const char* other = std::getenv("XSP_OTHER_CUDA_INJECTION");
  const bool is_ours =
      environment("CUDA_INJECTION64_PATH").find("libxsp-attach") != std::string::npos;
  const char* injection = is_ours ? other : std::getenv("CUDA_INJECTION64_PATH");
  return clients_among(mapped_files(), injection);
}

}  // namespace xsp::cupti
