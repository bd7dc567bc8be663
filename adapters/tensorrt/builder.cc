#include "adapters/tensorrt/builder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "formats/onnx/reader.h"
#include "xsp/compiled_cache.hpp"

namespace xsp::tensorrt {
namespace {

using nvinfer1::DataType;

std::string shape_text(const xsp_tensor& tensor) {
  std::string text;
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    text += (d == 0 ? "" : "x") + std::to_string(tensor.dimensions[d]);
  }
  return std::string(tensor.name) + "=" + text;
}

// Adds what files with the model's weights are like: they may be many GB, so their names, sizes and
// times stand for their bytes.
uint64_t hash_of_weights(const formats::Graph& graph, const std::string& model, uint64_t hash) {
  std::set<std::string> files;
  for (const formats::Tensor& tensor : graph.initializers) {
    if (!tensor.external_location.empty()) files.insert(tensor.external_location);
  }
  for (const std::string& name : files) {
    const auto file = std::filesystem::path(model).parent_path() / name;
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    const auto time = std::filesystem::last_write_time(file, error).time_since_epoch().count();
    const std::string text = name + " " + std::to_string(size) + " " + std::to_string(time);
    hash = hash_of(text.data(), text.size(), hash);
  }
  return hash;
}

std::vector<Port> ports_of(const std::vector<formats::ValueInfo>& values) {
  std::vector<Port> ports;
  for (const formats::ValueInfo& value : values) {
    Port port{value.name, static_cast<uint32_t>(value.dtype), {}, {}};
    if (dtype_bytes(port.dtype) == 0) port.dtype = 0;
    for (const formats::Dimension& one : value.dimensions) {
      port.dimensions.push_back(one.value);
      port.symbols.push_back(one.symbol);
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace

uint32_t dtype_of(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return XSP_FLOAT32;
    case DataType::kHALF:
      return XSP_FLOAT16;
    case DataType::kBF16:
      return XSP_BFLOAT16;
    case DataType::kINT8:
      return XSP_INT8;
    case DataType::kINT32:
      return XSP_INT32;
    case DataType::kINT64:
      return XSP_INT64;
    case DataType::kUINT8:
      return XSP_UINT8;
    case DataType::kBOOL:
      return XSP_BOOL;
    default:
      return 0;
  }
}

nvinfer1::Dims dims_of(const xsp_tensor& tensor) {
  nvinfer1::Dims dims{};
  dims.nbDims = static_cast<int32_t>(std::min<uint32_t>(tensor.rank, nvinfer1::Dims::MAX_DIMS));
  std::copy_n(tensor.dimensions, dims.nbDims, dims.d);
  return dims;
}

xsp_status Builder::open(const xsp_host* host, const std::string& path, const Options& options) {
  host_ = host;
  path_ = path;
  options_ = options;
  if (!library().no_parser.empty()) return fail(host, XSP_NOT_AVAILABLE, library().no_parser);
  auto graph = formats::read_graph(path);
  if (!graph.ok()) return fail(host, XSP_BAD_MODEL, graph.error().text);
  graph_ = std::move(graph).value();
  FileBytes file;
  if (!read_file(path, &file)) {
    return fail(host, XSP_BAD_MODEL, path + ": cannot be read: check its name");
  }
  hash_ = hash_of_weights(graph_, path, hash_of(file.data(), file.size(), 0));
  std::string why;
  folder_ = compiled_folder("tensorrt", &why);
  if (!why.empty()) return fail(host, XSP_FAILED, "TensorRT's engines: " + why);
  const std::string parsed = cached(library().version) + ".parsed";
  std::error_code error;
  if (std::filesystem::exists(parsed, error)) return XSP_OK;
  const xsp_status status = parse();
  if (status == XSP_OK) (void)write_compiled(parsed, "", 0);
  return status;
}

xsp_status Builder::parse() {
  (void)take_errors();
  builder_.reset(library().create_builder());
  if (builder_ != nullptr) network_.reset(builder_->createNetworkV2(0));
  if (network_ != nullptr) parser_.reset(library().create_parser(network_.get()));
  if (parser_ == nullptr) return fail(host_, XSP_FAILED, "TensorRT's builder: " + take_errors());
  if (!parser_->parseFromFile(path_.c_str(), 0)) {
    std::string why = parser_->getNbErrors() > 0 ? one_line(parser_->getError(0)->desc()) : "";
    if (why.empty()) why = take_errors();
    return fail(host_, XSP_BAD_MODEL,
                path_ + ": TensorRT " + library().version + " cannot run it: " + why +
                    ": use another --framework");
  }
  (void)take_errors();
  return XSP_OK;
}

std::vector<Port> Builder::inputs() const { return ports_of(graph_.required_inputs()); }

std::vector<Port> Builder::outputs() const { return ports_of(graph_.outputs); }

std::string Builder::cached(const std::string& text) const {
  const std::string all = text + "," + hex_of(hash_);
  return folder_ + std::filesystem::path(path_).stem().string().substr(0, 60) + "-" +
         hex_of(hash_of(all.data(), all.size(), 0));
}

xsp_status Builder::engine(const Device& device, const std::vector<xsp_tensor>& inputs,
                           FileBytes* plan) {
  std::string what = library().version + "," + device.name() + "," + engine_text(options_);
  for (const xsp_tensor& input : inputs) what += "," + shape_text(input);
  const std::string path = cached(what) + ".plan";
  if (read_compiled(path, plan)) return XSP_OK;
  // Another process may build this engine, on any GPU; and another engine, on this one.
  const BuildLock engine(path + ".lock");
  if (read_compiled(path, plan)) return XSP_OK;
  const BuildLock gpu(folder_ + "gpu-" + device.bus_id() + ".lock");
  note(host_, "TensorRT builds an engine of " + std::filesystem::path(path_).filename().string() +
                  ", which may take minutes: it is kept in " + folder_);
  xsp_status status = parser_ == nullptr ? parse() : XSP_OK;
  if (status == XSP_OK) status = build(device, inputs, plan);
  if (status != XSP_OK) return status;
  if (!write_compiled(path, plan->data(), plan->size())) {
    return fail(host_, XSP_FAILED, path + ": cannot be written: is there space?");
  }
  remove_unused(folder_);
  return XSP_OK;
}

void Builder::configure(nvinfer1::IBuilderConfig* config) const {
  using nvinfer1::BuilderFlag;
  // Without the details, the inspector has only names.
  config->setProfilingVerbosity(nvinfer1::ProfilingVerbosity::kDETAILED);
  if (options_.precision == "fp32") config->clearFlag(BuilderFlag::kTF32);
  if (options_.precision == "fp16") config->setFlag(BuilderFlag::kFP16);
  if (options_.precision == "bf16") config->setFlag(BuilderFlag::kBF16);
  if (options_.workspace_mib > 0) {
    config->setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE,
                               static_cast<size_t>(options_.workspace_mib) << 20);
  }
  if (options_.optimization_level >= 0) {
    config->setBuilderOptimizationLevel(options_.optimization_level);
  }
  if (options_.aux_streams >= 0) config->setMaxAuxStreams(options_.aux_streams);
}

namespace {

// Adds the timings to those that other builds have kept in the meantime.
void keep_timings(nvinfer1::IBuilderConfig* config, const std::string& path) {
  const auto* now = config->getTimingCache();
  if (now == nullptr) return;
  const BuildLock lock(path + ".lock");
  FileBytes kept;
  if (!read_compiled(path, &kept)) kept.clear();
  const std::unique_ptr<nvinfer1::ITimingCache> all(
      config->createTimingCache(kept.data(), kept.size()));
  if (all == nullptr || !all->combine(*now, false)) return;
  const std::unique_ptr<nvinfer1::IHostMemory> bytes(all->serialize());
  if (bytes != nullptr) (void)write_compiled(path, bytes->data(), bytes->size());
}

}  // namespace

xsp_status Builder::build(const Device& device, const std::vector<xsp_tensor>& inputs,
                          FileBytes* plan) {
  using nvinfer1::OptProfileSelector;
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder_->createBuilderConfig());
  if (config == nullptr) return fail(host_, XSP_FAILED, "TensorRT's builder: " + take_errors());
  configure(config.get());
  nvinfer1::IOptimizationProfile* profile = builder_->createOptimizationProfile();
  for (const xsp_tensor& input : inputs) {
    for (const auto bound :
         {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
      profile->setDimensions(input.name, bound, dims_of(input));
    }
  }
  config->addOptimizationProfile(profile);
  // Timings of kernels, by which later builds are faster, hold for one version and kind of GPU.
  const std::string gpu = library().version + "," + device.name();
  const std::string timings_path =
      folder_ + "timings-" + hex_of(hash_of(gpu.data(), gpu.size(), 0));
  FileBytes kept;
  if (!read_compiled(timings_path, &kept)) kept.clear();
  std::unique_ptr<nvinfer1::ITimingCache> timings(
      config->createTimingCache(kept.data(), kept.size()));
  if (timings != nullptr) config->setTimingCache(*timings, false);
  const std::unique_ptr<nvinfer1::IHostMemory> memory(
      builder_->buildSerializedNetwork(*network_, *config));
  if (memory == nullptr) {
    const std::string why = take_errors();
    const bool is_memory = why.find("out of memory") != std::string::npos ||
                           why.find("OutOfMemory") != std::string::npos;
    return fail(host_, is_memory ? XSP_OUT_OF_MEMORY : XSP_FAILED,
                path_ + ": TensorRT built no engine: " + why +
                    (is_memory ? ": use a smaller batch"
                               : ": set LD_LIBRARY_PATH to the folder of "
                                 "TensorRT's libraries if one is missing"));
  }
  const auto* bytes = static_cast<const char*>(memory->data());
  plan->assign(bytes, bytes + memory->size());
  keep_timings(config.get(), timings_path);
  (void)take_errors();
  return XSP_OK;
}

}  // namespace xsp::tensorrt
