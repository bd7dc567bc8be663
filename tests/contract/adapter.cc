#include "adapter.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "process/worker/inputs.h"

namespace xsp::contract {
namespace {

void on_note(void*, const char* text) { EXPECT_EQ(std::strchr(text, '\n'), nullptr) << text; }

std::vector<OwnTensor> described(const xsp_tensor_info* infos, size_t count) {
  std::vector<OwnTensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    const xsp_tensor_info* info = xsp_tensor_info_at(infos, i);
    EXPECT_LE(info->rank, static_cast<uint32_t>(XSP_RANK_MAX));
    for (uint32_t d = 0; d < info->rank; ++d) EXPECT_GE(info->dimensions[d], -1);
    tensors.push_back(
        {info->name, info->dtype, {info->dimensions, info->dimensions + info->rank}, {}});
  }
  return tensors;
}

}  // namespace

xsp_tensor OwnTensor::view() const {
  return {sizeof(xsp_tensor), name.c_str(), dtype,      static_cast<uint32_t>(dimensions.size()),
          dimensions.data(),  data.data(),  data.size()};
}

Adapter::Adapter(const std::filesystem::path& path) : scratch_text_(scratch_.path().string()) {
  // LeakSanitizer crashes on the threads that libgomp keeps.
  setenv("OMP_NUM_THREADS", "1", 0);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why_ = dlerror();
    return;
  }
  entry_ = static_cast<const xsp_adapter*>(dlsym(library, XSP_ADAPTER_SYMBOL));
  EXPECT_NE(entry_, nullptr) << path << " has no " << XSP_ADAPTER_SYMBOL;
  host_ = {sizeof host_, &why_,
           [](void* context, const char* text) { *static_cast<std::string*>(context) = text; },
           on_note, scratch_text_.c_str()};
}

std::string Adapter::take_why() { return std::exchange(why_, {}); }

std::string device_of(const Adapter& adapter) {
  xsp_probe probe{};
  probe.struct_size = sizeof probe;
  if (adapter->probe(adapter.host(), &probe) != XSP_OK) return "cpu";
  const std::string devices = probe.devices;
  const char* wanted = std::getenv("XSP_TEST_DEVICE");
  const std::string device = wanted == nullptr ? "" : wanted;
  const auto offers = [&](const std::string& kind) {
    return ("," + devices + ",").find("," + kind + ",") != std::string::npos;
  };
  if (!device.empty() && offers(device.substr(0, device.find(':')))) return device;
  return offers("cpu") ? "cpu" : devices.substr(0, devices.find(','));
}

xsp_open_options options_of(const std::string& path, const std::string& device, uint32_t levels) {
  xsp_open_options options{};
  options.struct_size = sizeof options;
  options.path = path.c_str();
  options.device = device.c_str();
  options.levels = levels;
  return options;
}

Model::Model(const Adapter& adapter, const std::string& path, uint32_t levels, uint32_t model_site)
    : adapter_(adapter) {
  const std::string device = device_of(adapter);
  xsp_open_options options = options_of(path, device, levels);
  options.model_site = model_site;
  status_ = adapter->open(adapter.host(), &options, &model_);
}

Model::~Model() { adapter_->close(model_); }

std::vector<OwnTensor> Model::inputs() {
  const xsp_tensor_info* infos = nullptr;
  size_t count = 0;
  EXPECT_EQ(adapter_->inputs(model_, &infos, &count), XSP_OK);
  return described(infos, count);
}

std::vector<OwnTensor> Model::outputs() {
  const xsp_tensor_info* infos = nullptr;
  size_t count = 0;
  EXPECT_EQ(adapter_->outputs(model_, &infos, &count), XSP_OK);
  return described(infos, count);
}

std::vector<OwnTensor> Model::make_inputs(uint64_t seed) {
  std::vector<process::TensorSpec> specs;
  for (const OwnTensor& input : inputs()) {
    specs.push_back({input.name, input.dtype, input.dimensions,
                     std::vector<std::string>(input.dimensions.size())});
  }
  process::WorkerOptions options;
  options.batch = 2;
  options.seed = seed;
  auto made = process::make_inputs(specs, {}, options);
  std::vector<OwnTensor> tensors;
  if (!made.ok()) {
    ADD_FAILURE() << made.error().text;
    return tensors;
  }
  for (process::Tensor& tensor : made->tensors) {
    tensors.push_back({tensor.name, tensor.dtype, tensor.dimensions, std::move(tensor.data)});
  }
  return tensors;
}

xsp_status Model::set(const std::vector<OwnTensor>& tensors) {
  std::vector<xsp_tensor> views;
  for (const OwnTensor& tensor : tensors) views.push_back(tensor.view());
  return adapter_->set_inputs(model_, views.data(), views.size());
}

std::vector<OwnTensor> Model::results() {
  const xsp_tensor* tensors = nullptr;
  size_t count = 0;
  EXPECT_EQ(adapter_->results(model_, &tensors, &count), XSP_OK);
  std::vector<OwnTensor> copies;
  for (size_t i = 0; i < count; ++i) {
    const xsp_tensor* tensor = xsp_tensor_at(tensors, i);
    const auto* bytes = static_cast<const std::byte*>(tensor->data);
    copies.push_back({tensor->name,
                      tensor->dtype,
                      {tensor->dimensions, tensor->dimensions + tensor->rank},
                      {bytes, bytes + tensor->data_bytes}});
  }
  return copies;
}

}  // namespace xsp::contract
