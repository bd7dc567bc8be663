#include "manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/places.h"

namespace xsp::contract {
namespace {

std::filesystem::path moved(const char* variable, const std::string& built) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : built;
}

// Returns the path of a file in tests/data; other names are left to the adapter.
std::string located(const std::string& model) {
  const auto file = source_folder() / "tests" / "data" / model;
  return std::filesystem::exists(file) ? file.string() : model;
}

}  // namespace

std::filesystem::path bin_folder() { return moved("XSP_TEST_BIN", places::bin()); }
std::filesystem::path source_folder() { return moved("XSP_TEST_SOURCE", places::source()); }
bool is_moved() { return !moved("XSP_TEST_BIN", "").empty(); }

Manifest read_manifest(const std::filesystem::path& adapter) {
  Manifest manifest;
  const auto path = source_folder() / "tests" / "contract" / "manifests" / adapter.stem();
  std::ifstream file(path);
  EXPECT_TRUE(file) << "write " << path << ": see tests/contract/manifest.h";
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find(" = ");
    if (line.empty() || line[0] == '#') continue;
    if (equals == std::string::npos) {
      ADD_FAILURE() << path << ": '" << line << "' is not 'key = value'";
      continue;
    }
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 3);
    if (key == "model") {
      manifest.model = located(value);
    } else if (key == "not_a_model") {
      manifest.not_a_model.push_back(located(value));
    } else if (key == "layers") {
      manifest.layers = std::strtoul(value.c_str(), nullptr, 10);
    } else if (key == "gpu_layers") {
      manifest.gpu_layers = std::strtoul(value.c_str(), nullptr, 10);
    } else if (key == "no_device") {
      manifest.no_device = value;
    } else {
      ADD_FAILURE() << path << ": unknown key '" << key << "'";
    }
  }
  return manifest;
}

std::vector<std::filesystem::path> built_adapters() {
  std::vector<std::filesystem::path> adapters;
  for (const auto& entry :
       std::filesystem::directory_iterator(bin_folder() / "../lib/xsp/adapters")) {
    if (entry.path().extension() == ".so") adapters.push_back(entry.path());
  }
  std::sort(adapters.begin(), adapters.end());
  return adapters;
}

Scratch::Scratch() {
  std::string path = (std::filesystem::temp_directory_path() / "xsp-contract-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) std::abort();
  path_ = path;
}

Scratch::~Scratch() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::vector<std::string> Scratch::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace xsp::contract
