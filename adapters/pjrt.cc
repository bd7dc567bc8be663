// The adapter `pjrt`: XLA by PJRT's C interface. Models are StableHLO, as text or as bytecode,
// which JAX, PyTorch/XLA and TensorFlow export; `xsp models build NAME --format stablehlo` writes
// one.
//
// XLA compiles the model when it is opened; run() executes it once and waits for the device. Layers
// are the instructions of the compiled program. Most of them are fused from several layers of the
// model, which they name. The plugin for CUDA reports them in two ways: as the host launches them,
// by ranges of NVTX, which contain the calls and so the kernels; and as the device executed them,
// by its own profiler, which takes CUPTI for itself (--option layers=device). The plugin for the
// CPU has neither: there, layers are not measured.
//
// The plugin for the CPU has no profiler, and jaxlib, which has one, does not export PJRT's C
// interface; a program in JAX has layers by `xsp run`. Refused: layers without times, with flops
// and bytes only: a span of no length would be the fastest in every analysis; and XLA's own
// profiler as the rule, because it takes CUPTI, so that layers have no kernels.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "adapters/pjrt/layers.h"
#include "adapters/pjrt/plugin.h"
#include "adapters/pjrt/ranges.h"
#include "adapters/pjrt/session.h"
#include "xsp/adapter_model.hpp"

namespace {

using xsp::fail;
using xsp::guarded;
using xsp::pjrt::Plugin;
using xsp::pjrt::plugin;
using xsp::pjrt::Problem;
using xsp::pjrt::Session;

// Limit of the profiler, which keeps its events in memory: some 200 bytes each.
constexpr uint64_t kEventsMax = 2'000'000;

}  // namespace

struct xsp_model : xsp::AdapterModel {
  Session session;
  std::optional<xsp::pjrt::Layers> layers;        // set if layers are recorded
  bool from_ranges = false;                       // layers are recorded as the host launches them
  std::unique_ptr<xsp::pjrt::Profiler> profiler;  // on from the first run to flush()
  int64_t profile_start_ns = 0;
  std::vector<xsp::pjrt::Run> recorded;
  bool has_inputs = false;
  // The memory to which results() points.
  std::vector<std::vector<std::byte>> values;
  std::vector<xsp_tensor> results;
};

namespace {

// Lists the plugins that can be loaded here.
struct Present {
  std::string version, library, devices;
};

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    static const Present& present = *[] {
      auto* found = new Present;
      for (const char* kind : {"cpu", "cuda"}) {
        const Plugin& one = plugin(kind);
        if (!one.absent.empty()) continue;
        if (found->version.empty()) found->version = one.version;
        if (found->library.empty()) found->library = one.path;
        found->devices += (found->devices.empty() ? "" : ",") + one.kind;
      }
      return found;
    }();
    if (present.devices.empty()) return fail(host, XSP_NOT_AVAILABLE, plugin("cpu").absent);
    xsp::fill(probe,
              xsp_probe{0, present.version.c_str(), present.library.c_str(),
                        present.devices.c_str(), ".mlir,.mlirbc,.stablehlo", nullptr, nullptr});
    return XSP_OK;
  });
}

xsp_status choose_plugin(const xsp_host* host, const xsp_open_options& options,
                         const Plugin** chosen) {
  const std::string device = options.device;
  const bool is_cpu = device == "cpu";
  if (!is_cpu && device != "cuda" && device != "cuda:0") {
    return fail(host, XSP_NOT_AVAILABLE,
                "device " + device + ": not available: XLA runs on cpu, cuda or cuda:0 here");
  }
  for (size_t i = 0; i < options.option_count; ++i) {
    const std::string key = options.options[i].key, value = options.options[i].value;
    if (key == "layers" && (value == "host" || value == "device")) continue;
    return fail(host, XSP_FAILED,
                "option " + key + "=" + value +
                    ": unknown: pjrt has layers=host and layers=device: XLA's own are set by "
                    "XLA_FLAGS");
  }
  *chosen = &plugin(is_cpu ? "cpu" : "cuda");
  if ((*chosen)->absent.empty()) return XSP_OK;
  return fail(host, XSP_NOT_AVAILABLE, (*chosen)->absent);
}

// Reads the model's text. Fails if the file cannot be one.
xsp_status read_file(const xsp_host* host, const std::string& path, std::string* code) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  const bool is_open = file.is_open();
  if (is_open && file.peek() == std::ifstream::traits_type::eof() && errno == 0) {
    return fail(host, XSP_BAD_MODEL, path + ": it is empty: export or build it again");
  }
  if (!is_open || !(text << file.rdbuf())) {
    const std::string why = std::strerror(errno);
    return fail(host, XSP_BAD_MODEL, path + ": cannot be read: " + why + ": check its name");
  }
  *code = std::move(text).str();
  return XSP_OK;
}

bool wants_device_times(const xsp_open_options& options) {
  for (size_t i = 0; i < options.option_count; ++i) {
    if (std::strcmp(options.options[i].key, "layers") == 0) {
      return std::strcmp(options.options[i].value, "device") == 0;
    }
  }
  return false;
}

// XLA computes 32-bit products in TF32 on a GPU, unless the program asks for more. Where it asks so
// for some of them, nothing is said of all.
void describe_model(uint32_t model_site, const Plugin& plugin, bool asks_for_precision) {
  if (model_site == 0) return;
  xsp_site_attribute(model_site, "provider", ("XLA " + plugin.kind).c_str());
  if (plugin.kind != "cuda" || asks_for_precision) return;
  xsp_site_attribute(model_site, "setting.cudnn_tf32", "true");
  xsp_site_attribute(model_site, "setting.matmul_tf32", "true");
}

void record_layers(xsp_model* model, const xsp_open_options& options) {
  if ((options.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) == 0) return;
  const Plugin& chosen = *model->session.plugin();
  const std::string not_measured = "layers: not measured";
  const std::string whose = ": XLA's plugin for " + chosen.kind + " (" + chosen.version + ") ";
  constexpr uint32_t kDevice = XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);
  // XLA has opened ranges by now, while it compiled the model.
  if (xsp::pjrt::has_ranges() && !wants_device_times(options)) {
    model->from_ranges = true;
  } else if (chosen.profiler == nullptr) {
    return xsp::note(model->host, not_measured + whose +
                                      "has no profiler: xsp run of a program in JAX has "
                                      "them");
  } else if ((options.levels & kDevice) != 0) {
    return xsp::note(model->host, not_measured +
                                      " together with kernels: XLA's profiler and xsp's need "
                                      "CUPTI, which serves one of them");
  }
  model->layers.emplace(model->session.take_program());
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    const auto options = xsp::whole(given);
    const Plugin* chosen = nullptr;
    std::string code;
    xsp_status status = choose_plugin(host, options, &chosen);
    if (status == XSP_OK) status = read_file(host, options.path, &code);
    if (status != XSP_OK) return status;
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    status = model->session.open(host, *chosen, options, code);
    if (status != XSP_OK) return status;
    model->inputs.describe(model->session.inputs());
    model->outputs.describe(model->session.outputs());
    describe_model(options.model_site, *chosen, model->session.asks_for_precision());
    record_layers(model.get(), options);
    *result = model.release();
    return XSP_OK;
  });
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return guarded(model->host, [&] {
    model->has_inputs = false;
    std::vector<xsp_tensor> ordered;
    const xsp_status status = in_order(*model, tensors, count, &ordered);
    if (status != XSP_OK) return status;
    for (size_t i = 0; i < ordered.size(); ++i) {
      const Problem problem = model->session.set_input(i, ordered[i]);
      if (problem) return bad_input(*model, ordered[i].name, problem.text);
    }
    model->has_inputs = true;
    return XSP_OK;
  });
}

xsp_status start_profiler(xsp_model* model) {
  model->profiler = std::make_unique<xsp::pjrt::Profiler>(*model->session.plugin());
  model->profile_start_ns = xsp_now_ns();
  const std::string problem = model->profiler->start();
  if (problem.empty()) return XSP_OK;
  return fail(model->host, XSP_FAILED,
              "XLA's profiler: " + problem + ": choose the levels model and layer alone");
}

xsp_status run(xsp_model* model) {
  if (!model->has_inputs) return no_inputs(*model);
  return guarded(model->host, [&] {
    const bool is_profiled = model->layers && !model->from_ranges;
    if (is_profiled && model->profiler == nullptr) {
      const xsp_status status = start_profiler(model);
      if (status != XSP_OK) return status;
    }
    const int64_t start_ns = is_profiled ? xsp_now_ns() : 0;
    const xsp::pjrt::RecordRanges record(model->from_ranges ? &*model->layers : nullptr);
    if (const Problem problem = model->session.run()) {
      const bool is_memory = problem.code == PJRT_Error_Code_RESOURCE_EXHAUSTED;
      return fail(
          model->host, is_memory ? XSP_OUT_OF_MEMORY : XSP_FAILED,
          "run: " + problem.text +
              (is_memory ? ": export the model with a smaller batch" : ": export the model again"));
    }
    if (is_profiled) {
      model->recorded.push_back({start_ns, xsp_now_ns(), static_cast<uint32_t>(gettid())});
    }
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return guarded(model->host, [&] {
    model->results.clear();
    if (const Problem problem = model->session.results(&model->values)) {
      return fail(model->host, XSP_FAILED, "results: " + problem.text);
    }
    for (size_t i = 0; i < model->values.size(); ++i) {
      const xsp_tensor_info& info = model->outputs.infos()[i];
      model->results.push_back({sizeof(xsp_tensor), info.name, info.dtype, info.rank,
                                info.dimensions, model->values[i].data(), model->values[i].size()});
    }
    *tensors = model->results.data();
    *count = model->results.size();
    return XSP_OK;
  });
}

xsp_status flush(xsp_model* model) {
  return guarded(model->host, [&] {
    if (model->profiler == nullptr) return XSP_OK;
    std::vector<uint8_t> space;
    const std::string problem = model->profiler->collect(&space);
    model->profiler.reset();
    if (!problem.empty()) return fail(model->host, XSP_FAILED, "XLA's profiler: " + problem);
    model->layers->emit(model->recorded, xsp::pjrt::read_space(space), model->profile_start_ns);
    model->recorded.clear();
    return XSP_OK;
  });
}

uint64_t runs_max(xsp_model* model) {
  if (!model->layers || model->from_ranges) return 0;
  return std::max<uint64_t>(kEventsMax / (model->layers->program().instructions.size() + 1), 1);
}

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = xsp::adapter_entry<xsp_model>({
    .name = "pjrt",
    .help = "xsp doctor --install pjrt, for the CPU; pip install jax-cuda13-pjrt for GPUs",
    .probe = probe,
    .open = open,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .runs_max = runs_max,
});
}
