// GenerationServer: answers a request by generating tokens with a language model that keeps the
// keys and values of the tokens so far in a cache.
//
// Either the cache is among the model's inputs and outputs: it has the inputs input_ids and
// past_key_values.*, and the outputs logits and present.*, as exporters of decoders name them;
// attention_mask and position_ids are given if it wants them. The adapter takes the cache of one
// run back for the next, where it is (xsp_adapter.feed_back), or the caller copies it: then a
// token's time contains the copy. Or the model holds it (xsp_adapter.keep_tokens): its only input
// is the tokens, and its only output the scores.
//
// The prompt is answered in one run (prefill), whose logits give the first token. Each further run
// (decode) reads the token before. If the model takes one token at a time, the prompt is read by as
// many runs. The best token is taken. Prompts are made up.
//
// Requests of one batch have one length: the shorter prompts are padded, and a request that has all
// its tokens stays in the batch until the others have theirs.
#ifndef XSP_PROCESS_LOAD_GENERATION_SERVER_H_
#define XSP_PROCESS_LOAD_GENERATION_SERVER_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "process/load/open_model.h"
#include "process/load/serve.h"
#include "process/worker/inputs.h"
#include "shared/base/result.h"

namespace xsp::process {

class GenerationServer : public Server {
 public:
  // `lengths` has the tokens of a prompt and of its answer in each line, separated by a tab; the
  // first one follows the last. `tokens` gets a line for each request: its number, both lengths,
  // the bytes of its cache at the end, when its answer began, and when each token was there.
  static Result<std::unique_ptr<GenerationServer>> make(OpenModel& model,
                                                        const std::vector<TensorSpec>& inputs,
                                                        const std::vector<TensorSpec>& outputs,
                                                        const std::string& lengths,
                                                        const std::string& tokens);
  Status prepare(std::span<const LoadRequest> batch) override;
  Status run(std::span<const LoadRequest> batch) override;
  Status warm_further(std::span<const LoadRequest> batch) override;
  std::span<const std::vector<StepTime>> steps() const override { return steps_; }
  Status close() override;

 private:
  struct Lengths {
    size_t prompt = 0;
    size_t output = 0;
  };

  explicit GenerationServer(OpenModel& model) : model_(model) {}
  Status find_tensors(const std::vector<TensorSpec>& inputs,
                      const std::vector<TensorSpec>& outputs);
  Status read_lengths(const std::string& path);
  const Lengths& lengths_of(const LoadRequest& request) const;
  Status set(const std::vector<int64_t>& ids, size_t batch);
  // Keeps the cache, and returns the best next token of each request.
  Result<std::vector<int64_t>> take_results(size_t batch);
  // Returns the bytes of the batch's cache.
  size_t cache_bytes();

  OpenModel& model_;
  std::vector<TensorSpec> inputs_;   // in the model's order
  std::vector<xsp_fed_back> cache_;  // an output, and the input of the next run
  size_t ids_ = 0, logits_ = 0;      // positions among the inputs and the outputs
  bool reads_one_token_ = false;
  bool is_fed_back_ = false;  // the model takes the last run's cache itself
  std::vector<Lengths> lengths_;
  Lengths longest_;  // of any request
  std::string path_;
  std::ofstream file_;
  uint32_t prefill_site_ = 0, decode_site_ = 0;
  // These belong to the batch: its inputs, the tokens in the cache, and the prompts.
  std::vector<Tensor> tensors_;
  size_t past_ = 0, prompt_ = 0, output_ = 0;
  std::vector<std::vector<StepTime>> steps_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_GENERATION_SERVER_H_
