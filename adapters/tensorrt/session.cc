#include "adapters/tensorrt/session.h"

#include <algorithm>

namespace xsp::tensorrt {
namespace {

using nvinfer1::Dims;
using nvinfer1::OptProfileSelector;
using nvinfer1::TensorIOMode;

bool is_known(const Dims& dims) {
  return std::all_of(dims.d, dims.d + std::max(dims.nbDims, 0), [](int64_t d) { return d >= 0; });
}

size_t bytes_of(const Dims& dims, uint32_t dtype) {
  size_t bytes = dtype_bytes(dtype);
  for (int32_t d = 0; d < dims.nbDims; ++d) bytes *= static_cast<size_t>(dims.d[d]);
  return bytes;
}

}  // namespace

Buffer::~Buffer() {
  if (memory_ != 0) device_->release(memory_);
}

std::string Buffer::reserve(size_t bytes) {
  if (memory_ != 0 && bytes <= bytes_) return "";
  if (memory_ != 0) device_->release(memory_);
  memory_ = 0;
  bytes_ = bytes;
  return device_->allocate(bytes, &memory_);
}

void* Buffer::reallocateOutputAsync(const char*, void*, uint64_t bytes, uint64_t,
                                    cudaStream_t) noexcept {
  return reserve(bytes).empty() ? reinterpret_cast<void*>(memory_) : nullptr;
}

void Buffer::notifyShape(const char*, const Dims& shape) noexcept { shape_ = shape; }

xsp_status Session::load(const FileBytes& plan, const std::string& what) {
  context_.reset();
  buffers_.clear();
  engine_.reset();
  (void)take_errors();
  if (runtime_ == nullptr) runtime_.reset(library().create_runtime());
  if (runtime_ != nullptr) engine_.reset(runtime_->deserializeCudaEngine(plan.data(), plan.size()));
  if (engine_ == nullptr) {
    return fail(host_, XSP_BAD_MODEL,
                what + ": TensorRT " + library().version + " cannot load it: " + take_errors() +
                    ": build it with the same version, on the same kind of GPU");
  }
  context_.reset(engine_->createExecutionContext());
  if (context_ == nullptr) {
    return fail(host_, XSP_OUT_OF_MEMORY,
                what + ": TensorRT cannot run it: " + take_errors() + ": use a smaller batch");
  }
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    const bool is_read = engine_->getTensorIOMode(name) == TensorIOMode::kINPUT;
    const bool is_unknown = dtype_of(engine_->getTensorDataType(name)) == 0;
    if (is_unknown || (is_read && engine_->isShapeInferenceIO(name))) {
      context_.reset();
      return fail(host_, XSP_BAD_MODEL,
                  what + ": '" + name + "' is " +
                      (is_unknown ? "of a type that xsp does not know"
                                  : "an input whose values are shapes, which xsp does not give") +
                      ": export the model without it");
    }
    buffers_.push_back(std::make_unique<Buffer>(device_));
  }
  return XSP_OK;
}

std::vector<Port> Session::ports(TensorIOMode mode) const {
  std::vector<Port> ports;
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    if (engine_->getTensorIOMode(name) != mode) continue;
    const Dims dims = engine_->getTensorShape(name);
    ports.push_back({name,
                     dtype_of(engine_->getTensorDataType(name)),
                     {dims.d, dims.d + std::max(dims.nbDims, 0)},
                     {}});
  }
  return ports;
}

xsp_status Session::bad(const std::string& name, const std::string& why) {
  return fail(host_, XSP_BAD_INPUT, "input '" + name + "': " + why);
}

// Chooses the first of the engine's profiles whose bounds hold all shapes.
xsp_status Session::choose_profile(const std::vector<xsp_tensor>& inputs) {
  const int32_t count = engine_->getNbOptimizationProfiles();
  const auto suits = [&](int32_t profile, const xsp_tensor& input) {
    const Dims least = engine_->getProfileShape(input.name, profile, OptProfileSelector::kMIN);
    const Dims most = engine_->getProfileShape(input.name, profile, OptProfileSelector::kMAX);
    for (uint32_t d = 0; d < input.rank; ++d) {
      const int64_t size = input.dimensions[d];
      if (static_cast<int32_t>(d) < least.nbDims && (size < least.d[d] || size > most.d[d])) {
        return false;
      }
    }
    return true;
  };
  for (int32_t profile = 0; profile < count; ++profile) {
    const auto fits = [&](const xsp_tensor& input) { return suits(profile, input); };
    if (!std::all_of(inputs.begin(), inputs.end(), fits)) continue;
    const auto stream = reinterpret_cast<cudaStream_t>(device_->stream());
    const bool is_set = context_->getOptimizationProfile() == profile ||
                        context_->setOptimizationProfileAsync(profile, stream);
    if (is_set) return XSP_OK;
    return fail(host_, XSP_FAILED, "TensorRT's profile: " + take_errors());
  }
  return bad(inputs.front().name,
             "no profile of the engine has room for these shapes: build it for them, or choose "
             "another --batch");
}

xsp_status Session::set_inputs(const std::vector<xsp_tensor>& inputs) {
  if (!inputs.empty()) {
    const xsp_status status = choose_profile(inputs);
    if (status != XSP_OK) return status;
  }
  (void)take_errors();
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    const auto given = std::find_if(inputs.begin(), inputs.end(), [&](const xsp_tensor& one) {
      return std::string_view(one.name) == name;
    });
    if (given == inputs.end()) continue;
    Buffer& buffer = *buffers_[static_cast<size_t>(i)];
    std::string why = buffer.reserve(given->data_bytes);
    if (!why.empty()) {
      return fail(host_, XSP_OUT_OF_MEMORY,
                  "inputs: out of memory: " + why + ": use a smaller batch");
    }
    why = device_->upload(buffer.memory(), given->data, given->data_bytes);
    if (!why.empty()) return fail(host_, XSP_FAILED, "inputs: " + why + ": start again");
    const bool is_taken =
        context_->setInputShape(name, dims_of(*given)) &&
        context_->setTensorAddress(name, reinterpret_cast<void*>(buffer.memory()));
    if (!is_taken) return bad(name, take_errors() + ": give a shape that suits the model");
  }
  return reserve_outputs();
}

xsp_status Session::reserve_outputs() {
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    if (engine_->getTensorIOMode(name) != TensorIOMode::kOUTPUT) continue;
    Buffer& buffer = *buffers_[static_cast<size_t>(i)];
    const Dims dims = context_->getTensorShape(name);
    if (!is_known(dims)) {  // its shape depends on data
      (void)context_->setOutputAllocator(name, &buffer);
      continue;
    }
    buffer.notifyShape(name, dims);
    const std::string why =
        buffer.reserve(bytes_of(dims, dtype_of(engine_->getTensorDataType(name))));
    if (!why.empty()) {
      return fail(host_, XSP_OUT_OF_MEMORY,
                  "results: out of memory: " + why + ": use a smaller batch");
    }
    (void)context_->setTensorAddress(name, reinterpret_cast<void*>(buffer.memory()));
  }
  return XSP_OK;
}

xsp_status Session::results(std::vector<Value>* values) {
  values->clear();
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    if (engine_->getTensorIOMode(name) != TensorIOMode::kOUTPUT) continue;
    const Buffer& buffer = *buffers_[static_cast<size_t>(i)];
    const Dims& dims = buffer.shape();
    Value value{name, dtype_of(engine_->getTensorDataType(name)), {}, {}};
    value.dimensions.assign(dims.d, dims.d + std::max(dims.nbDims, 0));
    value.data.resize(bytes_of(dims, value.dtype));
    const std::string why =
        device_->download(value.data.data(), buffer.memory(), value.data.size());
    if (!why.empty()) return fail(host_, XSP_FAILED, "results: " + why + ": start again");
    values->push_back(std::move(value));
  }
  return XSP_OK;
}

std::string Session::inspection() {
  const std::unique_ptr<nvinfer1::IEngineInspector> inspector(engine_->createEngineInspector());
  if (inspector == nullptr) return "";
  (void)inspector->setExecutionContext(context_.get());
  const char* text = inspector->getEngineInformation(nvinfer1::LayerInformationFormat::kJSON);
  return text == nullptr ? "" : text;
}

}  // namespace xsp::tensorrt
