// The facts about an adapter that the conformance suite needs: tests/contract/manifests/NAME.
//
//   model = PATH            a small model: a file of tests/data, or a name that the adapter takes
//   not_a_model = PATH      a model that is refused; any number of them
//   layers = N              layer spans of one run
//   gpu_layers = N          the most layer spans of one run on a GPU, where the adapter fuses some;
//                           by default `layers`
//   no_device = NAME        a device that it does not have
#ifndef XSP_TESTS_CONTRACT_MANIFEST_H_
#define XSP_TESTS_CONTRACT_MANIFEST_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xsp::contract {

// Return the build's bin/, and the source tree; $XSP_TEST_BIN and $XSP_TEST_SOURCE if these have
// moved since (tests/gpu/run.sh tests an installed xsp on another machine).
std::filesystem::path bin_folder();
std::filesystem::path source_folder();
bool is_moved();

struct Manifest {
  std::string model;
  std::vector<std::string> not_a_model;
  size_t layers = 0;
  std::optional<size_t> gpu_layers;
  std::string no_device;
};

// Reads the manifest of the adapter NAME.so; fails the running test if there is none.
Manifest read_manifest(const std::filesystem::path& adapter);

// Returns every adapter that was built.
std::vector<std::filesystem::path> built_adapters();

// Creates a folder that is removed at the end with all its files.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::vector<std::string> files() const;  // names, sorted

 private:
  std::filesystem::path path_;
};

}  // namespace xsp::contract

#endif  // XSP_TESTS_CONTRACT_MANIFEST_H_
