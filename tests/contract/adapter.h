// An adapter under test: loaded into this process, and called as the worker calls it.
#ifndef XSP_TESTS_CONTRACT_ADAPTER_H_
#define XSP_TESTS_CONTRACT_ADAPTER_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "manifest.h"
#include "xsp/plugin.h"

namespace xsp::contract {

// Holds a tensor with its own memory.
struct OwnTensor {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;
  std::vector<std::byte> data;

  xsp_tensor view() const;
  bool operator==(const OwnTensor&) const = default;
};

class Adapter {
 public:
  explicit Adapter(const std::filesystem::path& path);

  const xsp_adapter* operator->() const { return entry_; }
  const xsp_adapter* entry() const { return entry_; }
  const xsp_host* host() const { return &host_; }
  const Scratch& scratch() const { return scratch_; }
  // Returns the error of the last failed call, and forgets it.
  std::string take_why();

 private:
  const xsp_adapter* entry_ = nullptr;
  Scratch scratch_;
  std::string scratch_text_;
  std::string why_;
  xsp_host host_{};
};

// Returns the device for its models: $XSP_TEST_DEVICE, "cuda:0", if the adapter offers it; else
// "cpu" or, for adapters without it, their first device.
std::string device_of(const Adapter& adapter);

// Returns options with the defaults of the others. `path` and `device` must outlive them.
xsp_open_options options_of(const std::string& path, const std::string& device, uint32_t levels);

// Represents an open model, which is closed at the end of its scope.
class Model {
 public:
  Model(const Adapter& adapter, const std::string& path, uint32_t levels, uint32_t model_site = 0);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  xsp_status status() const { return status_; }
  xsp_model* get() { return model_; }
  // Returns the descriptions, as the worker reads them; dynamic dimensions are -1.
  std::vector<OwnTensor> inputs();
  std::vector<OwnTensor> outputs();
  // Returns values for every input that differ with the seed, for a batch of two.
  std::vector<OwnTensor> make_inputs(uint64_t seed);
  xsp_status set(const std::vector<OwnTensor>& tensors);
  xsp_status run() { return adapter_->run(model_); }
  std::vector<OwnTensor> results();

 private:
  const Adapter& adapter_;
  xsp_model* model_ = nullptr;
  xsp_status status_ = XSP_FAILED;
};

}  // namespace xsp::contract

#endif  // XSP_TESTS_CONTRACT_ADAPTER_H_
