#include "desk/sweep/container.h"

#include <unistd.h>

#include <cstdlib>

#include "shared/base/words.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

constexpr const char* kImage = "XSP_CONTAINER_IMAGE";  // desk/machine makes it a fact

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_in_path(const std::string& program) {
  for (const std::string& folder : split(environment("PATH"), ':')) {
    if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Podman and Docker have the same options, but for those of GPUs.
Command podman_or_docker(const std::string& engine, const InContainer& container, Command words) {
  Command all = {engine, "run", "--rm", "--network=host", "--workdir=/"};
  if (container.device.starts_with("cuda")) {
    const bool is_docker = engine == "docker";
    all.emplace_back(is_docker ? "--gpus=all" : "--device=nvidia.com/gpu=all");
  }
  for (const fs::path& folder : container.read) {
    all.push_back("--volume=" + folder.string() + ":" + folder.string() + ":ro");
  }
  for (const fs::path& folder : container.written) {
    all.push_back("--volume=" + folder.string() + ":" + folder.string());
  }
  all.insert(all.end(), {"--env=" + std::string(kImage) + "=" + container.image,
                         "--env=XDG_CACHE_HOME=" + container.cache.parent_path().string(),
                         "--entrypoint=" + words[0], container.image});
  all.insert(all.end(), words.begin() + 1, words.end());
  return all;
}

// Apptainer takes a file or an address; a name alone is that of a registry.
Command apptainer(const InContainer& container, const Command& words) {
  Command all = {"apptainer", "exec", "--cleanenv", "--pwd=/"};
  if (container.device.starts_with("cuda")) all.emplace_back("--nv");
  for (const fs::path& folder : container.read) {
    all.push_back("--bind=" + folder.string() + ":" + folder.string() + ":ro");
  }
  for (const fs::path& folder : container.written) {
    all.push_back("--bind=" + folder.string() + ":" + folder.string());
  }
  const bool is_place =
      container.image.starts_with("/") || container.image.find("://") != std::string::npos;
  all.insert(all.end(), {"--env=" + std::string(kImage) + "=" + container.image,
                         "--env=XDG_CACHE_HOME=" + container.cache.parent_path().string(),
                         is_place ? container.image : "docker://" + container.image});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

Result<std::vector<std::string>> in_container(const InContainer& container, Command words) {
  if (environment(kImage) == container.image) return words;
  for (const char* engine : {"podman", "docker"}) {
    if (is_in_path(engine)) return podman_or_docker(engine, container, std::move(words));
  }
  if (is_in_path("apptainer")) return apptainer(container, words);
  return not_available("container '" + container.image +
                       "': no podman, docker or apptainer is in PATH: install one of them");
}

}  // namespace xsp::sweep
