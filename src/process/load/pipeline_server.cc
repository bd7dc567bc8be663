#include "process/load/pipeline_server.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "process/worker/pipeline_file.h"
#include "process/worker/protocol.h"
#include "shared/base/words.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

using pipelines::Value;

constexpr std::streamsize kItemBytesMax = 1 << 30;

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open()) return usage(path + ": cannot be read: check its name");
  return text.str();
}

}  // namespace

Result<ModelPipelines> read_pipelines(const std::string& file,
                                      const std::vector<TensorSpec>& inputs,
                                      const std::vector<TensorSpec>& outputs) {
  XSP_TRY(const std::string text, read_text(file));
  XSP_TRY(const pipelines::Description description, parse_description(text));
  return make_pipelines(description, inputs, outputs);
}

PipelineServer::PipelineServer(OpenModel& model, const ModelPipelines& pipelines)
    : model_(model),
      pipelines_(pipelines),
      read_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "read", kStepType)),
      set_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "set_inputs", kStepType)),
      window_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "window", kStepType)) {}

Result<std::unique_ptr<PipelineServer>> PipelineServer::make(OpenModel& model,
                                                             const ModelPipelines& pipelines,
                                                             const std::string& items,
                                                             const std::string& outputs) {
  std::unique_ptr<PipelineServer> server(new PipelineServer(model, pipelines));
  XSP_TRY(const std::string text, read_text(items));
  for (const std::string& line : split(text, '\n')) {
    server->items_.push_back(split_fields(line)[0]);
  }
  if (server->items_.empty()) return usage(items + ": no items: name one in a line");
  server->path_ = outputs;
  server->file_.open(outputs);
  return server;
}

const std::string& PipelineServer::item_of(const LoadRequest& request) const {
  return items_[request.item % items_.size()];
}

Result<Value> PipelineServer::read(const std::string& path, std::vector<StepTime>* steps) const {
  const int64_t start_ns = xsp_now_ns();
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return failed(path + ": is a folder: name files in it");
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamsize size = file.tellg();
  if (!file.is_open() || size < 0) return failed(path + ": cannot be read: check its name");
  if (size > kItemBytesMax) return failed(path + ": larger than 1 GiB: leave it out");
  Value value;
  value.type = pipelines::bytes_type();
  value.type.dimensions = {size};
  value.data.resize(static_cast<size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(value.data.data()), size)) {
    return failed(path + ": cannot be read to its end: is it a file?");
  }
  steps->push_back({read_site_, start_ns, xsp_now_ns()});
  return value;
}

Result<Value> PipelineServer::run_steps(const ModelPipelines::Side& side, Value value,
                                        const std::string& item,
                                        std::vector<StepTime>* steps) const {
  int64_t start_ns = xsp_now_ns();
  auto result = side.pipeline.run(std::move(value), [&](size_t step) {
    const int64_t end_ns = xsp_now_ns();
    steps->push_back({side.step_sites[step], start_ns, end_ns});
    start_ns = end_ns;
  });
  if (!result.ok()) return Error{result.error().code, item + ": " + result.error().text};
  return result;
}

Result<std::vector<Value>> PipelineServer::inputs_of(const std::string& item,
                                                     std::vector<StepTime>* steps) const {
  XSP_TRY(const Value content, read(item, steps));
  std::vector<Value> inputs;
  for (const ModelPipelines::Side& side : pipelines_.inputs) {
    Value given;
    given.type = side.pipeline.given();
    if (given.type.kind != pipelines::Kind::kNothing) {
      given.data = content.data;
      if (given.type.kind == pipelines::Kind::kBytes) given.type = content.type;
    }
    XSP_TRY(inputs.emplace_back(), run_steps(side, std::move(given), item, steps));
  }
  return inputs;
}

Result<Tensor> PipelineServer::tensor_of(const ModelPipelines::Side& side,
                                         const std::vector<Value>& values) const {
  auto joined = join_batch(values, side.batch_axis);
  if (!joined.ok()) return usage(side.pipeline.place() + ": " + joined.error().text);
  return Tensor{side.pipeline.name(), joined->type.dtype, std::move(joined->type.dimensions),
                std::move(joined->data), ""};
}

Status PipelineServer::prepare(std::span<const LoadRequest> batch) {
  steps_.assign(batch.size(), {});
  sources_.assign(batch.size(), {});
  if (pipelines_.has_windows) {
    if (batch.size() > 1) {
      return usage("a request has windows: answer requests one by one, without --max-batch");
    }
    XSP_TRY(std::vector<Value> inputs, inputs_of(item_of(batch[0]), &steps_[0]));
    return prepare_windows(std::move(inputs));
  }
  std::vector<std::vector<Value>> values(pipelines_.inputs.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    XSP_TRY(std::vector<Value> inputs, inputs_of(item_of(batch[i]), &steps_[i]));
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (k == 0) sources_[i] = inputs[k].source;
      values[k].push_back(std::move(inputs[k]));
    }
  }
  const int64_t start_ns = xsp_now_ns();
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < values.size(); ++k) {
    XSP_TRY(tensors.emplace_back(), tensor_of(pipelines_.inputs[k], values[k]));
  }
  XSP_CHECK_OK(model_.set(tensors));
  const int64_t end_ns = xsp_now_ns();
  for (std::vector<StepTime>& steps : steps_) steps.push_back({set_site_, start_ns, end_ns});
  return Ok{};
}

Status PipelineServer::run(std::span<const LoadRequest> batch) {
  const auto request = static_cast<int64_t>(batch.front().id);
  return pipelines_.has_windows ? run_windows(request) : model_.run(batch.size(), request);
}

Status PipelineServer::write_answer(size_t output, const LoadRequest& request, size_t place,
                                    Value value) {
  XSP_TRY(const Value answer, run_steps(pipelines_.outputs[output], std::move(value),
                                        item_of(request), &steps_[place]));
  const auto item = static_cast<int64_t>(request.item % items_.size());
  const std::string line = answer_line(item, static_cast<int64_t>(output), answer) + '\n';
  file_ << line;
  answers_[place] += line;
  return Ok{};
}

Status PipelineServer::finish(std::span<const LoadRequest> batch) {
  answers_.assign(batch.size(), "");
  if (pipelines_.has_windows) {
    for (size_t k = 0; k < outputs_.size(); ++k) {
      outputs_[k].source = sources_[0];
      XSP_CHECK_OK(write_answer(k, batch[0], 0, std::move(outputs_[k])));
    }
    return Ok{};
  }
  XSP_TRY(const std::vector<Tensor> results, model_.results());
  for (size_t k = 0; k < pipelines_.outputs.size(); ++k) {
    const ModelPipelines::Side& side = pipelines_.outputs[k];
    if (side.tensor >= results.size()) return failed("the model gave too few outputs");
    for (size_t i = 0; i < batch.size(); ++i) {
      auto part = part_of_batch(results[side.tensor], side.batch_axis, batch.size(), i);
      if (!part.ok()) return usage(side.pipeline.place() + ": " + part.error().text);
      part->source = sources_[i];
      XSP_CHECK_OK(write_answer(k, batch[i], i, std::move(*part)));
    }
  }
  return Ok{};
}

Status PipelineServer::close() {
  file_.close();
  if (file_) return Ok{};
  return failed(path_ + ": cannot be written: make room for it");
}

}  // namespace xsp::process
