// AdapterModel: an instance of the worker's model, which its adapter has opened. It makes every
// call of the adapter that concerns the instance, and remembers why the last one failed.
//
// Thread rule: one thread at a time calls an instance. Several instances are called at the same
// time only if the adapter allows it (xsp_adapter.opens_several).
#ifndef XSP_PROCESS_WORKER_ADAPTER_MODEL_H_
#define XSP_PROCESS_WORKER_ADAPTER_MODEL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "process/load/open_model.h"
#include "process/worker/inputs.h"
#include "process/worker/options.h"
#include "process/worker/replies.h"
#include "shared/base/result.h"
#include "xsp/plugin.h"

namespace xsp::process {

// Holds the settings that all instances of a model share.
struct ModelFacts {
  const xsp_adapter* adapter = nullptr;
  std::string name;  // of the model
  xsp_site site{};   // of the model's spans
  uint32_t iteration_key = 0;
  uint32_t request_key = 0;
  bool counts_spans = false;           // a collector counts counters of single spans
  std::atomic<int64_t> iteration = 0;  // inferences so far, of all instances
};

class AdapterModel : public OpenModel {
 public:
  // `scratch`: the folder for the adapter's files.
  AdapterModel(const WorkerOptions& options, ModelFacts& facts, const Replies& replies,
               std::string scratch);
  AdapterModel(const AdapterModel&) = delete;
  AdapterModel& operator=(const AdapterModel&) = delete;

  // Calls the adapter. Its exceptions should not get here; those of a faulty adapter end here.
  bool call(const std::function<xsp_status()>& function);
  // Remembers a failure. Returns false.
  bool wrong(xsp_status status, std::string text);
  bool wrong(const Error& error);
  xsp_status status() const { return status_; }
  const std::string& why() const { return why_; }
  void add_to_why(const std::string& text) { why_ += text; }
  Error error() const;

  bool open();
  bool is_open() const { return model_ != nullptr; }
  bool flush();
  // Writes every layer to the trace, even if flush() was not called.
  void close();
  void record_details(bool on);

  const xsp_host* host() const { return &host_; }
  xsp_model* get() const { return model_; }

  bool set_tensors(const std::vector<Tensor>& made);
  Status set(const std::vector<Tensor>& inputs) override;
  Status run(size_t batch, int64_t request) override;
  Result<std::vector<Tensor>> results() override;
  bool keeps_tokens() const override;
  Status keep_tokens(size_t sequences, size_t tokens) override;
  size_t kept_bytes() override { return facts_.adapter->kept_bytes(model_); }
  // Tells where a generation's cache is, as a fact.
  Result<bool> feed_back(const std::vector<xsp_fed_back>& pairs) override;

  // Records an inference's details if it is one of the first measured ones.
  void record_first_details(bool is_measured) {
    record_details(is_measured && detailed_ < kDetailedInferences);
  }

 private:
  static constexpr int kDetailedInferences = 3;
  static void on_fail(void* context, const char* text);
  static void on_note(void* context, const char* text);

  const WorkerOptions& options_;
  ModelFacts& facts_;
  const Replies& replies_;
  const std::string scratch_;
  xsp_host host_{};
  xsp_model* model_ = nullptr;
  int detailed_ = 0;  // inferences in which details were recorded
  bool records_details_ = false;
  xsp_status status_ = XSP_OK;
  std::string why_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_ADAPTER_MODEL_H_
