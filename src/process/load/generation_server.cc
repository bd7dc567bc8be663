#include "process/load/generation_server.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "pipelines/shared/value.h"
#include "process/worker/protocol.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

constexpr const char* kTokenType = "token";
constexpr const char* kIds = "input_ids";
constexpr const char* kMask = "attention_mask";
constexpr const char* kPositions = "position_ids";
constexpr std::string_view kPast = "past_key_values";
constexpr std::string_view kPresent = "present";
constexpr int64_t kTokensMax = 1'000'000;  // of one request
constexpr int64_t kVocabularyUsed = 100;   // made-up prompts have tokens below
constexpr size_t kWarmTokens = 8;          // TorchScript compiles during the first four

template <typename Element>
Tensor integers(const TensorSpec& spec, size_t batch, size_t length,
                const std::vector<int64_t>& values) {
  Tensor tensor{spec.name,
                spec.dtype,
                {static_cast<int64_t>(batch), static_cast<int64_t>(length)},
                std::vector<std::byte>(values.size() * sizeof(Element)),
                ""};
  for (size_t i = 0; i < values.size(); ++i) {
    const auto element = static_cast<Element>(values[i]);
    std::memcpy(tensor.data.data() + i * sizeof element, &element, sizeof element);
  }
  return tensor;
}

Tensor integers_of(const TensorSpec& spec, size_t batch, size_t length,
                   const std::vector<int64_t>& values) {
  return spec.dtype == XSP_INT32 ? integers<int32_t>(spec, batch, length, values)
                                 : integers<int64_t>(spec, batch, length, values);
}

// Returns the place, from `begin` on, of the first of the greatest of `count` numbers.
template <typename NumberAt>
size_t place_of_greatest(size_t begin, size_t count, const NumberAt& number_of) {
  size_t place = 0;
  auto greatest = number_of(begin);
  for (size_t i = 1; i < count; ++i) {
    const auto number = number_of(begin + i);
    if (!(number > greatest)) continue;
    greatest = number;
    place = i;
  }
  return place;
}

// A token's scores are some 50,000 floats, which are compared while the model waits.
size_t place_of_greatest(const pipelines::Value& value, size_t begin, size_t count) {
  if (value.type.dtype != XSP_FLOAT32) {
    return place_of_greatest(begin, count, [&](size_t i) { return number_at(value, i); });
  }
  return place_of_greatest(begin, count, [&](size_t i) {
    float number = 0;
    std::memcpy(&number, value.data.data() + i * sizeof number, sizeof number);
    return number;
  });
}

Error no_cache(const std::vector<TensorSpec>& inputs) {
  return usage(
      "the model keeps no cache that generation knows: it needs the inputs input_ids and "
      "past_key_values.*, and the outputs logits and present.*; its inputs are " +
      signature_text(inputs));
}

}  // namespace

Result<std::unique_ptr<GenerationServer>> GenerationServer::make(
    OpenModel& model, const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs,
    const std::string& lengths, const std::string& tokens) {
  std::unique_ptr<GenerationServer> server(new GenerationServer(model));
  XSP_CHECK_OK(server->find_tensors(inputs, outputs));
  XSP_CHECK_OK(server->read_lengths(lengths));
  XSP_TRY(server->is_fed_back_, model.feed_back(server->cache_));
  server->prefill_site_ = xsp_intern_site(XSP_LEVEL_APPLICATION, "prefill", kTokenType);
  server->decode_site_ = xsp_intern_site(XSP_LEVEL_APPLICATION, "decode", kTokenType);
  server->path_ = tokens;
  server->file_.open(tokens);
  return server;
}

Status GenerationServer::find_tensors(const std::vector<TensorSpec>& inputs,
                                      const std::vector<TensorSpec>& outputs) {
  inputs_ = inputs;
  if (model_.keeps_tokens()) {
    return inputs.size() == 1 && outputs.size() == 1 ? Status(Ok{}) : no_cache(inputs);
  }
  const auto find_output = [&](const std::string& name) {
    const auto is_it = [&](const TensorSpec& spec) { return spec.name == name; };
    return static_cast<size_t>(std::find_if(outputs.begin(), outputs.end(), is_it) -
                               outputs.begin());
  };
  bool has_ids = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name;
    if (name == kMask || name == kPositions) continue;
    if (name == kIds && inputs[i].dimensions.size() == 2) {
      has_ids = true;
      ids_ = i;
      reads_one_token_ = inputs[i].dimensions[1] == 1;
      continue;
    }
    if (name.rfind(kPast, 0) != 0 || inputs[i].dimensions.size() != 4) return no_cache(inputs);
    const size_t output = find_output(std::string(kPresent) + name.substr(kPast.size()));
    if (output == outputs.size()) return no_cache(inputs);
    cache_.push_back({static_cast<uint32_t>(output), static_cast<uint32_t>(i)});
  }
  logits_ = find_output("logits");
  if (!has_ids || cache_.empty() || logits_ == outputs.size()) return no_cache(inputs);
  return Ok{};
}

Status GenerationServer::read_lengths(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = split_fields(line);
    int64_t numbers[2] = {};
    for (size_t i = 0; i < 2 && fields.size() == 2; ++i) {
      std::from_chars(fields[i].data(), fields[i].data() + fields[i].size(), numbers[i]);
    }
    if (std::min(numbers[0], numbers[1]) < 1 || std::max(numbers[0], numbers[1]) > kTokensMax) {
      return usage(path + ": '" + line.substr(0, 40) + "': not two numbers of tokens");
    }
    lengths_.push_back({static_cast<size_t>(numbers[0]), static_cast<size_t>(numbers[1])});
    longest_.prompt = std::max(longest_.prompt, lengths_.back().prompt);
    longest_.output = std::max(longest_.output, lengths_.back().output);
  }
  if (lengths_.empty()) return usage(path + ": no lengths: give those of a request in a line");
  return Ok{};
}

const GenerationServer::Lengths& GenerationServer::lengths_of(const LoadRequest& request) const {
  return lengths_[request.item % lengths_.size()];
}

// Sets the next tokens of each request, and with them the cache of those before.
Status GenerationServer::set(const std::vector<int64_t>& ids, size_t batch) {
  const size_t length = ids.size() / batch;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (i == ids_) tensors_[i] = integers_of(inputs_[i], batch, length, ids);
    if (inputs_[i].name == kMask) {
      const size_t all = past_ + length;
      tensors_[i] = integers_of(inputs_[i], batch, all, std::vector<int64_t>(batch * all, 1));
    }
    if (inputs_[i].name == kPositions) {
      std::vector<int64_t> positions;
      for (size_t k = 0; k < ids.size(); ++k) {
        positions.push_back(static_cast<int64_t>(past_ + k % length));
      }
      tensors_[i] = integers_of(inputs_[i], batch, length, positions);
    }
  }
  const bool has_cache = past_ > 0;
  past_ += length;
  if (!is_fed_back_ || !has_cache) return model_.set(tensors_);
  std::vector<Tensor> others;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].name.rfind(kPast, 0) != 0) others.push_back(tensors_[i]);
  }
  return model_.set(others);
}

// Sets the prompts, or what the model reads of them in its first run.
Status GenerationServer::prepare(std::span<const LoadRequest> batch) {
  past_ = prompt_ = output_ = 0;
  steps_.assign(batch.size(), {});
  for (const LoadRequest& request : batch) {
    prompt_ = std::max(prompt_, lengths_of(request).prompt);
    output_ = std::max(output_, lengths_of(request).output);
  }
  tensors_.assign(inputs_.size(), {});
  for (const auto& [output, input] : cache_) {
    std::vector<int64_t> dimensions = inputs_[input].dimensions;
    dimensions[0] = static_cast<int64_t>(batch.size());
    dimensions[2] = 0;
    tensors_[input] = {inputs_[input].name, inputs_[input].dtype, dimensions, {}, ""};
  }
  if (model_.keeps_tokens()) {
    // There is room for any batch of this size, so that it is made once.
    XSP_CHECK_OK(model_.keep_tokens(batch.size(), longest_.prompt + longest_.output));
  }
  const size_t length = reads_one_token_ ? 1 : prompt_;
  std::vector<int64_t> ids;
  for (const LoadRequest& request : batch) {
    for (size_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<int64_t>(request.item * 31 + i * 7) % kVocabularyUsed);
    }
  }
  return set(ids, batch.size());
}

Result<std::vector<int64_t>> GenerationServer::take_results(size_t batch) {
  XSP_TRY(std::vector<Tensor> results, model_.results());
  for (const auto& [output, input] : cache_) {
    if (output >= results.size()) return failed("the model gave too few outputs");
    const std::string name = tensors_[input].name;
    tensors_[input] = std::move(results[output]);
    tensors_[input].name = name;
  }
  Tensor& logits = results[logits_];
  const size_t vocabulary =
      logits.dimensions.empty() ? 0 : static_cast<size_t>(logits.dimensions.back());
  const pipelines::Value value{
      pipelines::tensor_type(logits.dtype, logits.dimensions), std::move(logits.data), {}};
  const int64_t count = pipelines::element_count(logits.dimensions);
  const size_t scores = count < 1 ? 0 : static_cast<size_t>(count) / batch;
  if (vocabulary == 0 || scores < vocabulary) return failed("the model gave no logits");
  std::vector<int64_t> best;
  for (size_t k = 0; k < batch; ++k) {
    const size_t begin = (k + 1) * scores - vocabulary;  // of the last token
    best.push_back(static_cast<int64_t>(place_of_greatest(value, begin, vocabulary)));
  }
  return best;
}

size_t GenerationServer::cache_bytes() {
  if (model_.keeps_tokens()) return model_.kept_bytes();
  size_t bytes = 0;
  for (const xsp_fed_back& pair : cache_) {
    const Tensor& tensor = tensors_[pair.input];
    bytes += static_cast<size_t>(pipelines::element_count(tensor.dimensions)) *
             dtype_bytes(tensor.dtype);
  }
  return bytes;
}

Status GenerationServer::run(std::span<const LoadRequest> batch) {
  const auto first = static_cast<int64_t>(batch.front().id);
  const int64_t begin_ns = xsp_now_ns();
  int64_t start_ns = begin_ns;
  std::vector<std::string> lines(batch.size());
  std::vector<size_t> bytes(batch.size(), 0);
  const size_t prompt_runs = reads_one_token_ ? prompt_ : 1;
  for (size_t i = 0; i + 1 < prompt_runs + output_; ++i) {
    XSP_CHECK_OK(model_.run(batch.size(), first));
    XSP_TRY(std::vector<int64_t> next, take_results(batch.size()));
    const bool is_prompt = i + 1 < prompt_runs;
    if (is_prompt) std::fill(next.begin(), next.end(), static_cast<int64_t>(i) % kVocabularyUsed);
    const int64_t end_ns = xsp_now_ns();
    for (size_t k = 0; k < batch.size() && !is_prompt; ++k) {
      if (steps_[k].size() == lengths_of(batch[k]).output) continue;
      steps_[k].push_back({steps_[k].empty() ? prefill_site_ : decode_site_, start_ns, end_ns});
      lines[k] += '\t' + std::to_string(end_ns);
      if (steps_[k].size() == lengths_of(batch[k]).output) bytes[k] = cache_bytes();
    }
    if (!is_prompt) start_ns = end_ns;
    if (i + 2 < prompt_runs + output_) XSP_CHECK_OK(set(next, batch.size()));
  }
  for (size_t k = 0; k < batch.size(); ++k) {
    const Lengths& lengths = lengths_of(batch[k]);
    file_ << batch[k].id << '\t' << lengths.prompt << '\t' << lengths.output << '\t'
          << bytes[k] / batch.size() << '\t' << begin_ns << lines[k] << '\n';
  }
  return Ok{};
}

// A token after the prompt has other shapes than the prompt, and frameworks compile for the first
// lengths of the cache that they meet.
Status GenerationServer::warm_further(std::span<const LoadRequest> batch) {
  for (size_t i = 1; i < std::min(output_, kWarmTokens); ++i) {
    XSP_TRY(const std::vector<int64_t> next, take_results(batch.size()));
    XSP_CHECK_OK(set(next, batch.size()));
    XSP_CHECK_OK(model_.run(batch.size(), -1));
  }
  return Ok{};
}

Status GenerationServer::close() {
  file_.close();
  if (file_) return Ok{};
  return failed(path_ + ": cannot be written: make room for it");
}

}  // namespace xsp::process
