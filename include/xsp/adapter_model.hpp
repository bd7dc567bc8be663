// adapter_model.hpp: the common part of an adapter's models: inputs and outputs that are described
// once, when the model is opened, and tensors that must suit them. An adapter defines `struct
// xsp_model : xsp::AdapterModel` and ends in `xsp::adapter_entry<xsp_model>({...})`.
//
// The caller of an adapter's functions serialises them, per model. The functions here only throw
// std::bad_alloc.
#ifndef XSP_ADAPTER_MODEL_HPP_
#define XSP_ADAPTER_MODEL_HPP_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "xsp/adapter.hpp"

namespace xsp {

// Describes an input or output of a model.
struct Port {
  std::string name;
  uint32_t dtype = 0;                // xsp_dtype
  std::vector<int64_t> dimensions;   // -1: dynamic
  std::vector<std::string> symbols;  // names of the dynamic dimensions; empty: they have none
  uint64_t below = 0;                // integers must be below this; 0: not known
};

// Ports, and the C structs that describe them. They cannot be copied, because the structs point
// into the ports.
class Ports {
 public:
  Ports() = default;
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  void describe(std::vector<Port> ports) {
    ports_ = std::move(ports);
    symbols_.assign(ports_.size(), {});
    infos_.clear();
    for (size_t i = 0; i < ports_.size(); ++i) {
      const Port& port = ports_[i];
      for (const std::string& symbol : port.symbols) symbols_[i].push_back(symbol.c_str());
      infos_.push_back({sizeof(xsp_tensor_info), port.name.c_str(), port.dtype,
                        static_cast<uint32_t>(port.dimensions.size()), port.dimensions.data(),
                        port.symbols.empty() ? nullptr : symbols_[i].data(), port.below});
    }
  }
  size_t size() const { return ports_.size(); }
  const Port& operator[](size_t i) const { return ports_[i]; }
  const std::vector<xsp_tensor_info>& infos() const { return infos_; }

  // Returns "data float32[batch,3,224,224]", and so on.
  std::string text() const {
    std::string all;
    for (const Port& port : ports_) {
      all += (all.empty() ? "" : ", ") + port.name + ' ' + dtype_name(port.dtype) + '[';
      for (size_t d = 0; d < port.dimensions.size(); ++d) {
        const bool is_named = d < port.symbols.size() && !port.symbols[d].empty();
        all += d == 0 ? "" : ",";
        all += port.dimensions[d] >= 0 ? std::to_string(port.dimensions[d])
               : is_named              ? port.symbols[d]
                                       : "?";
      }
      all += ']';
    }
    return all;
  }

 private:
  std::vector<Port> ports_;
  std::vector<std::vector<const char*>> symbols_;
  std::vector<xsp_tensor_info> infos_;
};

struct AdapterModel {
  const xsp_host* host = nullptr;
  Ports inputs;
  Ports outputs;
};

inline xsp_status bad_input(const AdapterModel& model, const std::string& name,
                            const std::string& why) {
  return fail(
      model.host, XSP_BAD_INPUT,
      "input '" + name + "': " + why + ": the model takes " + one_line(model.inputs.text()));
}
// Reports a run for which no inputs are set.
inline xsp_status no_inputs(const AdapterModel& model) {
  return fail(model.host, XSP_BAD_INPUT,
              "run: its inputs are not set: the model takes " + one_line(model.inputs.text()));
}

// Puts the given tensors into the order of the model's inputs, and checks that each suits its
// input. Errors are reported to the host. `dimension_min` and `dimension_max` are the framework's
// limits.
inline xsp_status in_order(const AdapterModel& model, const xsp_tensor* tensors, size_t count,
                           std::vector<xsp_tensor>* ordered, int64_t dimension_min = 0,
                           int64_t dimension_max = INT64_MAX) {
  const Ports& inputs = model.inputs;
  ordered->assign(inputs.size(), {});
  for (size_t i = 0; i < count; ++i) {
    const xsp_tensor tensor = whole(xsp_tensor_at(tensors, i));
    size_t at = 0;
    while (at < inputs.size() && inputs[at].name != tensor.name) ++at;
    if (at == inputs.size()) return bad_input(model, tensor.name, "the model has no such input");
    const std::string why = mismatch(inputs.infos()[at], tensor);
    if (!why.empty()) return bad_input(model, tensor.name, why);
    for (uint32_t d = 0; d < tensor.rank; ++d) {
      if (tensor.dimensions[d] >= dimension_min && tensor.dimensions[d] <= dimension_max) continue;
      return bad_input(
          model, tensor.name,
          "the framework takes no dimension of " + std::to_string(tensor.dimensions[d]));
    }
    (*ordered)[at] = tensor;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if ((*ordered)[i].name == nullptr) return bad_input(model, inputs[i].name, "it is missing");
  }
  return XSP_OK;
}

// The functions that such an adapter itself provides; see xsp_adapter.
struct AdapterParts {
  const char* name;
  const char* help;
  xsp_status (*probe)(const xsp_host* host, xsp_probe* probe);
  xsp_status (*open)(const xsp_host* host, const xsp_open_options* options, xsp_model** model);
  xsp_status (*set_inputs)(xsp_model* model, const xsp_tensor* tensors, size_t count);
  xsp_status (*run)(xsp_model* model);
  xsp_status (*results)(xsp_model* model, const xsp_tensor** tensors, size_t* count);
  xsp_status (*flush)(xsp_model* model);
  uint64_t (*runs_max)(xsp_model* model);
  xsp_status (*keep_tokens)(xsp_model* model, uint64_t sequences, uint64_t tokens) = nullptr;
  uint64_t (*kept_bytes)(xsp_model* model) = nullptr;
  xsp_status (*feed_back)(xsp_model* model, const xsp_fed_back* pairs, size_t count) = nullptr;
};

// `Model` is xsp_model, which is incomplete here.
template <typename Model>
constexpr xsp_adapter adapter_entry(const AdapterParts& own) {
  xsp_adapter entry{};
  entry.struct_size = sizeof entry;
  entry.abi = XSP_PLUGIN_ABI;
  entry.name = own.name;
  entry.help = own.help;
  entry.probe = own.probe;
  entry.open = own.open;
  entry.inputs = [](xsp_model* model, const xsp_tensor_info** infos, size_t* count) {
    const Model& opened = *model;
    *infos = opened.inputs.infos().data();
    *count = opened.inputs.size();
    return XSP_OK;
  };
  entry.outputs = [](xsp_model* model, const xsp_tensor_info** infos, size_t* count) {
    const Model& opened = *model;
    *infos = opened.outputs.infos().data();
    *count = opened.outputs.size();
    return XSP_OK;
  };
  entry.set_inputs = own.set_inputs;
  entry.run = own.run;
  entry.results = own.results;
  entry.flush = own.flush;
  entry.close = [](Model* model) { delete model; };
  entry.runs_max = own.runs_max;
  entry.keep_tokens = own.keep_tokens;
  entry.kept_bytes = own.kept_bytes;
  entry.feed_back = own.feed_back;
  return entry;
}

}  // namespace xsp

#endif  // XSP_ADAPTER_MODEL_HPP_
