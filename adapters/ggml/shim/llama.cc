// The shim of the adapter `ggml`, compiled against the headers of its llama.cpp.
#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "shim.h"

struct xsp_ggml {
  llama_model* model = nullptr;
  llama_context* context = nullptr;
  llama_batch batch{};
  int32_t room = 0;  // room of the batch
  int threads = 0;
  int behind = 0;  // tokens of each sequence before a run begins
  int kept = 0;    // if tokens are kept: the room of each sequence
  int kept_sequences = 0;
  bool has_run = false;  // the tokens that are set
  int sequences = 0;
  int length = 0;
  void (*watch)(void*, int, const void*) = nullptr;
  void* user = nullptr;
};

namespace {

// The first complaint of llama.cpp, which is nearest to the cause.
std::string& complaint() {
  static std::string text;
  return text;
}

void on_log(ggml_log_level level, const char* text, void*) {
  if (level != GGML_LOG_LEVEL_ERROR || !complaint().empty()) return;
  // Returns a text such as "function: why".
  const std::string whole = text;
  const size_t end = whole.find(": ");
  const bool has_function = end != std::string::npos && whole.find(' ') > end;
  complaint() = has_function ? whole.substr(end + 2) : whole;
}

// Views compute nothing: their readers do.
bool computes(const ggml_tensor* node) {
  switch (node->op) {
    case GGML_OP_NONE:
    case GGML_OP_VIEW:
    case GGML_OP_RESHAPE:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
      return false;
    default:
      return true;
  }
}

bool on_node(ggml_tensor* node, bool asks, void* user) {
  const auto* model = static_cast<const xsp_ggml*>(user);
  if (asks && !computes(node)) return false;
  model->watch(model->user, asks ? 0 : 1, node);
  return true;
}

const char* build() {
  static const std::string text = ggml_version();
  return text.c_str();
}

void close(xsp_ggml* model) {
  if (model == nullptr) return;
  if (model->room > 0) llama_batch_free(model->batch);
  if (model->context != nullptr) llama_free(model->context);
  if (model->model != nullptr) llama_model_free(model->model);
  delete model;
}

xsp_ggml* open(const xsp_ggml_settings* settings, char* why, size_t why_size) {
  llama_log_set(on_log, nullptr);
  llama_backend_init();
  complaint().clear();
  auto* model = new xsp_ggml;
  // llama.cpp's default is 4, regardless of the number of processors.
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  model->threads = settings->threads > 0 ? settings->threads : std::max(processors, 1);
  model->behind = settings->context;
  model->watch = settings->watch;
  model->user = settings->user;
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  model->model = llama_model_load_from_file(settings->path, params);
  if (model->model != nullptr) return model;
  std::snprintf(why, why_size, "%s", complaint().c_str());
  close(model);
  return nullptr;
}

int vocabulary(const xsp_ggml* model) {
  return llama_vocab_n_tokens(llama_model_get_vocab(model->model));
}

bool make_context(xsp_ggml* model, int batch, int length) {
  if (model->context != nullptr) llama_free(model->context);
  const int longest = std::max(model->behind, length);
  llama_context_params params = llama_context_default_params();
  params.n_seq_max = static_cast<uint32_t>(batch);
  params.n_ctx = static_cast<uint32_t>(batch * (model->behind + length));
  params.n_batch = static_cast<uint32_t>(batch * longest);
  // One graph holds all tokens of a run, unless they are kept: then it is as large as llama.cpp
  // makes it by default.
  if (model->kept == 0) params.n_ubatch = params.n_batch;
  params.no_perf = true;
  params.n_threads = params.n_threads_batch = model->threads;
  if (model->watch != nullptr) {
    params.cb_eval = on_node;
    params.cb_eval_user_data = model;
  }
  model->context = llama_init_from_model(model->model, params);
  if (model->context == nullptr) return false;
  if (model->room > 0) llama_batch_free(model->batch);
  model->room = batch * longest;
  model->batch = llama_batch_init(model->room, 0, 1);
  return true;
}

// Fills in tokens of every sequence, from a position on; only the last token of each requests its
// scores.
void fill(llama_batch* batch, const int32_t* tokens, int sequences, int length, int from) {
  batch->n_tokens = 0;
  for (int s = 0; s < sequences; ++s) {
    for (int i = 0; i < length; ++i) {
      const int at = batch->n_tokens++;
      batch->token[at] = tokens == nullptr ? i % 100 : tokens[s * length + i];
      batch->pos[at] = from + i;
      batch->n_seq_id[at] = 1;
      batch->seq_id[at][0] = s;
      batch->logits[at] = i == length - 1;
    }
  }
}

int keep(xsp_ggml* model, int sequences, int tokens) {
  model->behind = model->length = 0;
  model->has_run = false;
  if (model->context == nullptr || sequences > model->kept_sequences || tokens > model->kept) {
    model->kept = tokens;
    model->kept_sequences = sequences;
    if (!make_context(model, sequences, tokens)) return 1;
  }
  llama_memory_clear(llama_get_memory(model->context), false);
  return 0;
}

int64_t kept_bytes(xsp_ggml* model) {
  size_t bytes = 0;
  for (int s = 0; s < model->sequences; ++s) {
    bytes += llama_state_seq_get_size(model->context, s);
  }
  return static_cast<int64_t>(bytes);
}

int set_tokens(xsp_ggml* model, const int32_t* tokens, int batch, int length) {
  if (model->kept > 0) {
    if (model->has_run) model->behind += model->length;
    if (batch > model->kept_sequences || model->behind + length > model->kept) return 1;
    model->sequences = batch;
    model->length = length;
    model->has_run = false;
    fill(&model->batch, tokens, batch, length, model->behind);
    return 0;
  }
  if (model->context == nullptr || model->sequences != batch || model->length != length) {
    if (!make_context(model, batch, length)) return 1;
    model->sequences = batch;
    model->length = length;
  }
  llama_memory_clear(llama_get_memory(model->context), false);
  if (model->behind > 0) {
    auto* const watch = model->watch;
    model->watch = [](void*, int, const void*) {};
    fill(&model->batch, nullptr, batch, model->behind, 0);
    const int status = llama_decode(model->context, model->batch);
    model->watch = watch;
    if (status != 0) return status;
  }
  fill(&model->batch, tokens, batch, length, model->behind);
  return 0;
}

int run(xsp_ggml* model) {
  // The cache forgets the last run's tokens, so that every run is the same.
  llama_memory_t memory = llama_get_memory(model->context);
  for (int s = 0; s < model->sequences; ++s) {
    llama_memory_seq_rm(memory, s, model->behind, -1);
  }
  const int status = llama_decode(model->context, model->batch);
  if (status == 0) llama_synchronize(model->context);
  model->has_run = status == 0;
  return status;
}

const float* scores(xsp_ggml* model, int sequence) {
  return llama_get_logits_ith(model->context, (sequence + 1) * model->length - 1);
}

void describe_tensor(const ggml_tensor* tensor, xsp_ggml_tensor* facts) {
  facts->type = ggml_type_name(tensor->type);
  for (int d = 0; d < 4; ++d) facts->shape[d] = tensor->ne[3 - d];
  facts->bytes = static_cast<int64_t>(ggml_nbytes(tensor));
  facts->is_weight =
      tensor->op == GGML_OP_NONE && tensor->buffer != nullptr &&
      ggml_backend_buffer_get_usage(tensor->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

void describe(const void* which, xsp_ggml_node* facts) {
  const auto* node = static_cast<const ggml_tensor*>(which);
  facts->name = node->name;
  facts->op = ggml_op_desc(node);
  describe_tensor(node, &facts->output);
  facts->source_count = 0;
  for (int i = 0; i < GGML_MAX_SRC && facts->source_count < XSP_GGML_SOURCES_MAX; ++i) {
    if (node->src[i] == nullptr) continue;
    describe_tensor(node->src[i], &facts->sources[facts->source_count++]);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const xsp_ggml_interface xsp_ggml_shim;
const xsp_ggml_interface xsp_ggml_shim = {
    XSP_GGML_SHIM_VERSION,
    build,
    open,
    vocabulary,
    set_tokens,
    keep,
    kept_bytes,
    run,
    scores,
    describe,
    close,
};
