#include "process/worker/adapter_model.h"

#include <algorithm>
#include <optional>

#include "shared/base/guard.h"
#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

constexpr const char* kLayerEnergy = "layer_energy";

}  // namespace

AdapterModel::AdapterModel(const WorkerOptions& options, ModelFacts& facts, const Replies& replies,
                           std::string scratch)
    : options_(options), facts_(facts), replies_(replies), scratch_(std::move(scratch)) {
  host_ = {sizeof host_, this, on_fail, on_note, scratch_.c_str()};
}

void AdapterModel::on_fail(void* context, const char* text) {
  static_cast<AdapterModel*>(context)->why_ = text == nullptr ? "" : text;
}

void AdapterModel::on_note(void* context, const char* text) {
  static_cast<AdapterModel*>(context)->replies_.send({"note", text});
}

bool AdapterModel::wrong(xsp_status status, std::string text) {
  status_ = status;
  why_ = std::move(text);
  return false;
}

bool AdapterModel::wrong(const Error& error) {
  return wrong(error.code == Code::kNotAvailable ? XSP_NOT_AVAILABLE
               : error.code == Code::kFailed     ? XSP_FAILED
                                                 : XSP_BAD_INPUT,
               error.text);
}

bool AdapterModel::call(const std::function<xsp_status()>& function) {
  why_.clear();
  status_ = XSP_OK;
  const std::optional<Thrown> thrown = guard([&] { status_ = function(); });
  if (thrown.has_value()) {
    return wrong(thrown->out_of_memory ? XSP_OUT_OF_MEMORY : XSP_FAILED, thrown->text);
  }
  if (status_ != XSP_OK && why_.empty()) why_ = options_.model + ": " + status_text(status_);
  return status_ == XSP_OK;
}

Error AdapterModel::error() const {
  return {status_ == XSP_BAD_INPUT ? Code::kUsage : Code::kFailed, why_};
}

bool AdapterModel::open() {
  const std::string shapes = given_shapes(options_.inputs);
  std::vector<xsp_option> options;
  for (const auto& [key, value] : options_.options) options.push_back({key.c_str(), value.c_str()});
  xsp_open_options open{};
  open.struct_size = sizeof open;
  open.path = options_.model.c_str();
  open.device = options_.device.c_str();
  open.levels = options_.levels;
  open.threads = options_.threads;
  open.options = options.data();
  open.option_count = options.size();
  open.model_site = facts_.site.id;
  open.inputs = shapes.empty() ? nullptr : shapes.c_str();
  open.repeats_layers = std::ranges::count(options_.counters, kLayerEnergy) > 0 ? 1 : 0;
  open.counts_spans = facts_.counts_spans ? 1 : 0;
  return call([&] { return facts_.adapter->open(&host_, &open, &model_); });
}

bool AdapterModel::flush() {
  return call([&] { return facts_.adapter->flush(model_); });
}

void AdapterModel::close() {
  flush();
  call([&] {
    facts_.adapter->close(model_);
    return XSP_OK;
  });
  model_ = nullptr;
}

void AdapterModel::record_details(bool on) {
  if (on) ++detailed_;
  if (on == records_details_) return;
  records_details_ = on;
  const xsp_adapter* adapter = facts_.adapter;
  if (XSP_HAS(xsp_adapter, adapter, record_details) && adapter->record_details != nullptr) {
    adapter->record_details(model_, on ? 1 : 0);
  }
}

bool AdapterModel::set_tensors(const std::vector<Tensor>& made) {
  const std::vector<xsp_tensor> tensors = views_of(made);
  return call([&] { return facts_.adapter->set_inputs(model_, tensors.data(), tensors.size()); });
}

Status AdapterModel::set(const std::vector<Tensor>& inputs) {
  return set_tensors(inputs) ? Status(Ok{}) : error();
}

Status AdapterModel::run(size_t batch, int64_t request) {
  record_first_details(request >= 0);
  xsp_span span = xsp_begin(&facts_.site);
  if (!call([&] { return facts_.adapter->run(model_); })) return error();
  xsp_span_int(&span, facts_.iteration_key, facts_.iteration++);
  xsp_span_batch(&span, static_cast<int64_t>(batch));
  if (request >= 0) xsp_span_int(&span, facts_.request_key, request);
  xsp_end(&span);
  return Ok{};
}

Result<std::vector<Tensor>> AdapterModel::results() {
  const xsp_tensor* tensors = nullptr;
  size_t count = 0;
  if (!call([&] { return facts_.adapter->results(model_, &tensors, &count); })) return error();
  return tensors_of(tensors, count);
}

bool AdapterModel::keeps_tokens() const {
  return XSP_HAS(xsp_adapter, facts_.adapter, kept_bytes) && facts_.adapter->keep_tokens != nullptr;
}

Status AdapterModel::keep_tokens(size_t sequences, size_t tokens) {
  const bool is_kept = call([&] { return facts_.adapter->keep_tokens(model_, sequences, tokens); });
  return is_kept ? Status(Ok{}) : error();
}

Result<bool> AdapterModel::feed_back(const std::vector<xsp_fed_back>& pairs) {
  const xsp_adapter* adapter = facts_.adapter;
  const char* where = "is copied by the host for each token";
  bool is_fed_back = false;
  if (keeps_tokens()) {
    where = "is kept by the framework";
  } else if (XSP_HAS(xsp_adapter, adapter, feed_back) && adapter->feed_back != nullptr) {
    is_fed_back = call([&] { return adapter->feed_back(model_, pairs.data(), pairs.size()); });
    if (!is_fed_back && status_ != XSP_NOT_AVAILABLE) return error();
    if (is_fed_back) where = "stays where the model is";
  }
  xsp_site_attribute(facts_.site.id, "setting.generation_cache", where);
  return is_fed_back;
}

}  // namespace xsp::process
