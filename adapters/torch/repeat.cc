#include "adapters/torch/repeat.h"

#include <torch/version.h>

#define XSP_TORCH_VERSION (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR)
#if XSP_TORCH_HAS_CUDA
#include <cuda_runtime_api.h>
#endif
#if XSP_TORCH_HAS_CUDA && XSP_TORCH_VERSION >= 209 && CUDART_VERSION >= 12030
#define XSP_TORCH_REPEATS 1
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace xsp::torch_adapter {
namespace {

constexpr double kSecondsTotal = 150;  // after which no layer is begun
constexpr double kSecondsLaunch = 2e-3;
constexpr size_t kNodesMax = 4000;  // nodes of one launch
constexpr int kInFlight = 4;        // launches

double seconds_since(int64_t start_ns) {
  return static_cast<double>(xsp_now_ns() - start_ns) / 1e9;
}

// The driver's cuGraphKernelNodeGetParams, which knows kernels that the runtime does not know.
using GetParams = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
GetParams get_params() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr
             ? nullptr
             : reinterpret_cast<GetParams>(dlsym(driver, "cuGraphKernelNodeGetParams_v2"));
}

// Returns equal texts for nodes that do the same work, whatever memory they read and write.
std::string text_of(cudaGraphNode_t node) {
  static const GetParams params_of = get_params();
  cudaGraphNodeType type{};
  C10_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  std::string text = "n" + std::to_string(static_cast<int>(type));
  CUDA_KERNEL_NODE_PARAMS kernel{};
  if (type != cudaGraphNodeTypeKernel || params_of == nullptr) return text;
  if (params_of(node, &kernel) != CUDA_SUCCESS) return text;
  text += " " + std::to_string(reinterpret_cast<uintptr_t>(kernel.func)) + "/" +
          std::to_string(reinterpret_cast<uintptr_t>(kernel.kern));
  for (const unsigned size : {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ, kernel.blockDimX,
                              kernel.blockDimY, kernel.blockDimZ, kernel.sharedMemBytes}) {
    text += "," + std::to_string(size);
  }
  return text;
}

// Lists layers that are repeated together.
struct Group {
  std::vector<std::string> names;
  std::vector<cudaGraphNode_t> nodes;  // nodes of the first layer
  double launch_s = 0;                 // time of one layer's launch
  double weight() const { return launch_s * static_cast<double>(names.size()); }
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
  }
  // Builds a graph that runs `nodes`, a subset of the whole graph, `count` times in a row.
  void make(cudaGraph_t whole, const std::vector<cudaGraphNode_t>& all,
            const std::vector<cudaGraphNode_t>& nodes, size_t count) {
    Graph part;
    C10_CUDA_CHECK(cudaGraphClone(&part.graph_, whole));
    const std::set<cudaGraphNode_t> kept(nodes.begin(), nodes.end());
    for (const cudaGraphNode_t node : all) {
      if (kept.count(node) != 0) continue;
      cudaGraphNode_t copy = nullptr;
      C10_CUDA_CHECK(cudaGraphNodeFindInClone(&copy, node, part.graph_));
      C10_CUDA_CHECK(cudaGraphDestroyNode(copy));
    }
    C10_CUDA_CHECK(cudaGraphCreate(&graph_, 0));
    cudaGraphNode_t last = nullptr;
    for (size_t i = 0; i < count; ++i) {
      cudaGraphNode_t next = nullptr;
      C10_CUDA_CHECK(
          cudaGraphAddChildGraphNode(&next, graph_, &last, last == nullptr ? 0 : 1, part.graph_));
      last = next;
    }
    C10_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  void launch(cudaStream_t stream) const { C10_CUDA_CHECK(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

class Repetition {
 public:
  Repetition(int device, Layers* layers)
      : layers_(layers),
        device_(device),
        stream_(c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(device))),
        replays_key_(xsp_intern_key("replays")) {
    for (cudaEvent_t& event : events_) {
      C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
  }
  ~Repetition() {
    layers_->on_end(nullptr);
    for (const cudaEvent_t event : events_) (void)cudaEventDestroy(event);
  }

  void capture(const std::function<void()>& work) {
    c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device_)).synchronize();
    const c10::cuda::CUDAStreamGuard guard(stream_);
    captured_.capture_begin();
    layers_->on_end([this](uint32_t site) { take_nodes(site); });
    work();
    layers_->on_end(nullptr);
    take_nodes(0);
    captured_.capture_end();
    stream_.synchronize();
    whole_ = captured_.raw_cuda_graph();
  }

  // Returns what is left out, in words; empty if nothing.
  std::string repeat(double seconds) {
    for (auto& [key, group] : groups_) {
      Graph once;
      once.make(whole_, all_, group.nodes, 1);
      group.launch_s = time_of(once);
    }
    std::vector<Group*> order;
    double weight = 0;
    for (auto& [key, group] : groups_) {
      order.push_back(&group);
      weight += group.weight();
    }
    // The heaviest layers come first, in case that time runs out.
    std::sort(order.begin(), order.end(),
              [](const Group* a, const Group* b) { return a->weight() > b->weight(); });
    const int64_t start_ns = xsp_now_ns();
    repeat(Group{{}, all_, 0}, 2 * seconds);
    size_t left_out = 0;
    double left_weight = 0;
    for (const Group* group : order) {
      if (seconds_since(start_ns) > kSecondsTotal) {
        left_out += group->names.size();
        left_weight += group->weight();
      } else {
        repeat(*group, seconds);
      }
    }
    if (left_out == 0) return "";
    return "layer_energy: " + std::to_string(left_out) + " layers, about " +
           std::to_string(std::lround(100 * left_weight / weight)) +
           " % of the time, were not repeated: too many of different kinds";
  }

 private:
  // The nodes since the last call belong to this layer; 0 means to none.
  void take_nodes(uint32_t site) {
    cudaStreamCaptureStatus status{};
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    C10_CUDA_CHECK(
        cudaStreamGetCaptureInfo(stream_, &status, nullptr, &graph, nullptr, nullptr, nullptr));
#else
    C10_CUDA_CHECK(
        cudaStreamGetCaptureInfo_v2(stream_, &status, nullptr, &graph, nullptr, nullptr));
#endif
    if (status != cudaStreamCaptureStatusActive) return;
    size_t count = 0;
    C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> now(count);
    if (count > 0) C10_CUDA_CHECK(cudaGraphGetNodes(graph, now.data(), &count));
    std::vector<cudaGraphNode_t> fresh;
    for (const cudaGraphNode_t node : now) {
      if (known_.insert(node).second) fresh.push_back(node);
    }
    all_.insert(all_.end(), fresh.begin(), fresh.end());
    if (site == 0 || fresh.empty()) return;
    std::string name;
    std::string key = layers_->describe(site, &name);
    for (const cudaGraphNode_t node : fresh) key += "\n" + text_of(node);
    Group& group = groups_[key];
    group.names.push_back(name);
    if (group.nodes.empty()) group.nodes = std::move(fresh);
  }

  // Returns the time of one launch, among many in a row.
  double time_of(const Graph& graph) {
    constexpr int kTimes = 20;
    graph.launch(stream_);
    stream_.synchronize();
    const int64_t start_ns = xsp_now_ns();
    for (int i = 0; i < kTimes; ++i) graph.launch(stream_);
    stream_.synchronize();
    return seconds_since(start_ns) / kTimes;
  }

  void repeat(const Group& group, double seconds) {
    Graph once;
    once.make(whole_, all_, group.nodes, 1);
    const double launch_s = std::max(time_of(once), 1e-6);
    const size_t fit = std::max<size_t>(1, kNodesMax / group.nodes.size());
    const auto wanted = static_cast<size_t>(std::ceil(kSecondsLaunch / launch_s));
    const size_t copies = std::clamp<size_t>(wanted, 1, fit);
    Graph many;
    many.make(whole_, all_, group.nodes, copies);
    many.launch(stream_);
    stream_.synchronize();
    const int64_t start_ns = xsp_now_ns();
    uint64_t launches = 0;
    for (; seconds_since(start_ns) < seconds; ++launches) {
      const cudaEvent_t event = events_[launches % kInFlight];
      C10_CUDA_CHECK(cudaEventSynchronize(event));
      many.launch(stream_);
      C10_CUDA_CHECK(cudaEventRecord(event, stream_));
    }
    stream_.synchronize();
    const int64_t end_ns = xsp_now_ns();
    const auto replays = static_cast<double>(launches * copies);
    if (group.names.empty()) emit("inference", "repetition of all", start_ns, end_ns, replays);
    for (const std::string& name : group.names) {
      emit(name.c_str(), "repetition", start_ns, end_ns, replays);
    }
  }

  void emit(const char* name, const char* type, int64_t start_ns, int64_t end_ns,
            double replays) const {
    xsp_value value{replays_key_, XSP_VALUE_COUNTER, {}};
    value.value.as_double = replays;
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = xsp_intern_site(XSP_LEVEL_APPLICATION, name, type);
    span.start_ns = start_ns;
    span.duration_ns = end_ns - start_ns;
    span.values = &value;
    span.value_count = 1;
    span.device = static_cast<uint32_t>(device_) + 1;
    xsp_emit(&span);
  }

  Layers* const layers_;
  const int device_;
  const c10::cuda::CUDAStream stream_;
  const uint32_t replays_key_;
  std::array<cudaEvent_t, kInFlight> events_{};
  at::cuda::CUDAGraph captured_{true};  // holds the memory that the nodes use
  cudaGraph_t whole_ = nullptr;
  std::vector<cudaGraphNode_t> all_;
  std::set<cudaGraphNode_t> known_;
  std::map<std::string, Group> groups_;
};

}  // namespace

std::string no_repetition() { return ""; }

void repeat_layers(int device, double seconds, Layers* layers, const std::function<void()>& work,
                   const std::function<void(const std::string&)>& note) {
  Repetition repetition(device, layers);
  repetition.capture(work);
  const std::string left_out = repetition.repeat(seconds);
  if (!left_out.empty()) note(left_out);
}

}  // namespace xsp::torch_adapter
#else
namespace xsp::torch_adapter {
std::string no_repetition() {
  return "the adapter was built without CUDA 12.3's headers, or against a torch older than 2.9";
}
void repeat_layers(int, double, Layers*, const std::function<void()>&,
                   const std::function<void(const std::string&)>&) {}
}  // namespace xsp::torch_adapter
#endif
