// The adapter `tensorflow`: SavedModels and frozen graphs, on the TensorFlow 2 library of its PyPI
// wheel, which is loaded at run time.
//
// At the level model, run() is one call of TF_SessionRun without options. With the level layer it
// passes RunOptions that request step statistics. The serialized record of each run is kept, some
// 300 bytes per node, and flush() converts the records to spans. By default only the executor
// records (SOFTWARE_TRACE): a full trace has no more of the nodes on the CPU, and costs more.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/tensorflow/layers.h"
#include "adapters/tensorflow/library.h"
#include "adapters/tensorflow/session.h"
#include "formats/wire/wire.h"
#include "xsp/adapter_model.hpp"

namespace {

using xsp::fail;
using xsp::guarded;
using xsp::tf::Buffer;
using xsp::tf::End;
using xsp::tf::library;
using xsp::tf::Outcome;
using xsp::tf::Output;
using xsp::tf::OwnBuffer;
using xsp::tf::OwnTensor;
using xsp::tf::Tensor;

// Limit of the records of runs that are kept until flush().
constexpr uint64_t kRecordsBytesMax = uint64_t{1} << 30;
constexpr uint64_t kBytesPerNode = 512;
constexpr size_t kSpansPerDrain = 10'000;

struct Recorded {
  xsp::tf::Run run;
  OwnBuffer metadata;
};

}  // namespace

struct xsp_model : xsp::AdapterModel {
  bool records = false;
  xsp::tf::OpenSession session;
  std::optional<xsp::tf::Layers> layers;
  std::string run_options;  // RunOptions, if layers are recorded
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<OwnTensor> values;
  std::vector<Tensor*> input_tensors;
  bool has_inputs = false;
  std::vector<OwnTensor> fetched;  // results of the last run
  std::vector<Recorded> recorded;
  // The memory to which results() points.
  std::vector<std::vector<int64_t>> result_dimensions;
  std::vector<xsp_tensor> results;
};

namespace {

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    const auto& found = library();
    if (!found.absent.empty()) return fail(host, XSP_NOT_AVAILABLE, found.absent);
    xsp::fill(probe, xsp_probe{0, found.version.c_str(), found.path.c_str(), "cpu", ".pb", nullptr,
                               nullptr});
    return XSP_OK;
  });
}

std::vector<xsp::Port> ports_of(const std::vector<End>& ends) {
  std::vector<xsp::Port> ports;
  for (const End& end : ends) ports.push_back({end.name, end.dtype, end.dimensions, {}});
  return ports;
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    if (!library().absent.empty()) return fail(host, XSP_NOT_AVAILABLE, library().absent);
    const auto options = xsp::whole(given);
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    model->records = (options.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
    const xsp_status status = open_session(host, options, &model->session);
    if (status != XSP_OK) return status;
    for (const End& end : model->session.inputs) model->feeds.push_back(end.output);
    for (const End& end : model->session.outputs) model->fetches.push_back(end.output);
    model->inputs.describe(ports_of(model->session.inputs));
    model->outputs.describe(ports_of(model->session.outputs));
    if (model->records) {
      model->layers.emplace(model->session.own, options.model_site, model->session.every_node);
      xsp::formats::wire::put_integer(&model->run_options, 1, model->session.trace_level);
    }
    if (options.model_site != 0) {
      xsp_site_attribute(options.model_site, "provider", "TensorFlow CPU");
    }
    *result = model.release();
    return XSP_OK;
  });
}

OwnTensor made_tensor(const xsp_tensor& tensor) {
  OwnTensor made(library().AllocateTensor(xsp::tf::type_of(tensor.dtype), tensor.dimensions,
                                          static_cast<int>(tensor.rank), tensor.data_bytes));
  if (made == nullptr) throw std::bad_alloc();
  if (tensor.data_bytes > 0) {
    std::memcpy(library().TensorData(made.get()), tensor.data, tensor.data_bytes);
  }
  return made;
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return guarded(model->host, [&] {
    model->has_inputs = false;
    std::vector<xsp_tensor> ordered;
    const xsp_status status = in_order(*model, tensors, count, &ordered);
    if (status != XSP_OK) return status;
    model->values.clear();
    model->input_tensors.clear();
    for (const xsp_tensor& tensor : ordered) {
      model->input_tensors.push_back(model->values.emplace_back(made_tensor(tensor)).get());
    }
    model->has_inputs = true;
    return XSP_OK;
  });
}

xsp_status run_failed(xsp_model* model, const Outcome& outcome) {
  if (outcome.code() == xsp::tf::kResourceExhausted) {
    return fail(model->host, XSP_OUT_OF_MEMORY,
                "run: out of memory: " + outcome.text() + ": use a smaller batch");
  }
  return fail(model->host, outcome.code() == xsp::tf::kInvalidArgument ? XSP_BAD_INPUT : XSP_FAILED,
              "run: " + outcome.text() + ": give inputs that suit the model with --input");
}

xsp_status run(xsp_model* model) {
  if (!model->has_inputs) return no_inputs(*model);
  return guarded(model->host, [&] {
    const auto& tf = library();
    model->fetched.clear();
    Outcome outcome;
    Tensor* fetched[XSP_RANK_MAX] = {};
    std::vector<Tensor*> many;
    Tensor** values = fetched;
    if (model->fetches.size() > std::size(fetched)) {
      many.resize(model->fetches.size());
      values = many.data();
    }
    const Buffer options{model->run_options.data(), model->run_options.size(), nullptr};
    Recorded recorded{{0, 0, 0}, nullptr};
    if (model->records) {
      recorded.metadata.reset(tf.NewBuffer());
      recorded.run = {xsp_now_ns(), 0, static_cast<uint32_t>(gettid())};
    }
    tf.SessionRun(model->session.session, model->records ? &options : nullptr, model->feeds.data(),
                  model->input_tensors.data(), static_cast<int>(model->feeds.size()),
                  model->fetches.data(), values, static_cast<int>(model->fetches.size()), nullptr,
                  0, recorded.metadata.get(), outcome.get());
    if (outcome.code() != 0) return run_failed(model, outcome);
    for (size_t i = 0; i < model->fetches.size(); ++i) model->fetched.emplace_back(values[i]);
    if (model->records) {
      recorded.run.end_ns = xsp_now_ns();
      model->recorded.push_back(std::move(recorded));
    }
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return guarded(model->host, [&] {
    const auto& tf = library();
    if (model->fetched.empty()) {
      return fail(model->host, XSP_FAILED, "results: none: run the model first");
    }
    model->results.clear();
    model->result_dimensions.assign(model->fetched.size(), {});
    for (size_t i = 0; i < model->fetched.size(); ++i) {
      const Tensor* tensor = model->fetched[i].get();
      std::vector<int64_t>& dimensions = model->result_dimensions[i];
      for (int d = 0; d < tf.NumDims(tensor); ++d) dimensions.push_back(tf.Dim(tensor, d));
      model->results.push_back({sizeof(xsp_tensor), model->outputs[i].name.c_str(),
                                xsp::tf::dtype_of(tf.TensorType(tensor)),
                                static_cast<uint32_t>(dimensions.size()), dimensions.data(),
                                tf.TensorData(tensor), tf.TensorByteSize(tensor)});
    }
    *tensors = model->results.data();
    *count = model->results.size();
    return XSP_OK;
  });
}

xsp_status flush(xsp_model* model) {
  return guarded(model->host, [&] {
    size_t emitted = 0;
    for (const Recorded& one : model->recorded) {
      const auto* data = static_cast<const uint8_t*>(one.metadata->data);
      emitted += model->layers->emit(one.run, {data, one.metadata->length});
      // If spans are emitted faster than the drainer writes, some are lost.
      if (emitted >= kSpansPerDrain) {
        xsp_flush();
        emitted = 0;
      }
    }
    model->recorded.clear();
    return XSP_OK;
  });
}

uint64_t runs_max(xsp_model* model) {
  if (!model->records) return 0;
  const auto& own = model->session.own;
  const uint64_t nodes = own.nodes.size() + own.function_nodes + 1;
  return std::max<uint64_t>(kRecordsBytesMax / (nodes * kBytesPerNode), 1);
}

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = xsp::adapter_entry<xsp_model>({
    .name = "tensorflow",
    .help = "xsp doctor --install tensorflow",
    .probe = probe,
    .open = open,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .runs_max = runs_max,
});
}
