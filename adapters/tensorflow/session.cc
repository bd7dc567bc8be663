#include "adapters/tensorflow/session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "formats/wire/wire.h"
#include "xsp/adapter.hpp"

namespace xsp::tf {
namespace {

namespace fs = std::filesystem;
namespace wire = formats::wire;

constexpr size_t kMessageBytesMax = (size_t{1} << 31) - 1;  // limit of protocol buffers

// Represents a file that is mapped into memory.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0) {
      problem_ = std::string("cannot be read: ") + std::strerror(errno) + ": check its name";
    } else if (!S_ISREG(status.st_mode)) {
      problem_ = "it is not a file: name a .pb file or the folder of a SavedModel";
    } else if (status.st_size == 0) {
      problem_ = "it is empty: export or build it again";
    } else if (static_cast<size_t>(status.st_size) > kMessageBytesMax) {
      problem_ = "it is larger than TensorFlow can read (2 GB): export it as a SavedModel";
    } else {
      size_ = static_cast<size_t>(status.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (data_ == MAP_FAILED) problem_ = "cannot be read: " + std::string(std::strerror(errno));
    }
    if (file >= 0) ::close(file);
  }
  ~Mapping() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const std::string& problem() const { return problem_; }
  Bytes bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

 private:
  std::string problem_;
  void* data_ = MAP_FAILED;
  size_t size_ = 0;
};

// Holds the user's options.
struct Choices {
  bool optimizes = true;
  int inter_op_threads = 0;
  std::string tags;
  std::string signature;
  std::vector<std::string> inputs;  // tensors of a frozen graph: "x", "conv1:1"
  std::vector<std::string> outputs;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

bool parse_count(std::string_view text, int* count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *count);
  return error == std::errc() && end == text.data() + text.size() && *count >= 0;
}

xsp_status choose(const xsp_host* host, const xsp_open_options& options, Choices* choices,
                  OpenSession* session) {
  if (std::string_view(options.device) != "cpu") {
    return fail(host, XSP_NOT_AVAILABLE,
                std::string("device ") + options.device +
                    ": not available: TensorFlow runs on cpu here: use --device cpu");
  }
  constexpr int kSoftwareTrace = 1;
  constexpr int kFullTrace = 3;
  session->trace_level = kSoftwareTrace;
  for (size_t i = 0; i < options.option_count; ++i) {
    const std::string_view key = options.options[i].key;
    const std::string_view value = options.options[i].value;
    bool is_good = true;
    if (key == "graph_optimization") {
      choices->optimizes = value == "all";
      is_good = value == "all" || value == "none";
    } else if (key == "inter_op_threads") {
      is_good = parse_count(value, &choices->inter_op_threads);
    } else if (key == "trace") {
      session->trace_level = value == "full" ? kFullTrace : kSoftwareTrace;
      is_good = value == "full" || value == "software";
    } else if (key == "every_node") {
      session->every_node = value == "1";
      is_good = value == "0" || value == "1";
    } else if (key == "tags") {
      choices->tags = value;
    } else if (key == "signature") {
      choices->signature = value;
    } else if (key == "inputs") {
      choices->inputs = split(value);
    } else if (key == "outputs") {
      choices->outputs = split(value);
    } else {
      is_good = false;
    }
    if (!is_good) {
      return fail(host, XSP_FAILED,
                  "option " + std::string(key) + "=" + std::string(value) +
                      ": not known: there are graph_optimization=none|all, inter_op_threads=N, "
                      "trace=software|full, every_node=0|1, for a SavedModel tags=A,B and "
                      "signature=NAME, for a frozen graph inputs=A,B and outputs=A,B");
    }
  }
  return XSP_OK;
}

// Writes a ConfigProto (tensorflow/core/protobuf/config.proto).
std::string config(const Choices& choices, uint32_t threads) {
  std::string text;
  if (threads > 0) wire::put_integer(&text, 2, threads);
  if (choices.inter_op_threads > 0) wire::put_integer(&text, 5, choices.inter_op_threads);
  if (!choices.optimizes) {
    std::string optimizer, rewriter, graph;
    wire::put_integer(&optimizer, 3, -1);   // OptimizerOptions.opt_level: L0
    wire::put_bytes(&graph, 3, optimizer);  // GraphOptions.optimizer_options
    wire::put_integer(&rewriter, 19, 1);    // RewriterConfig.disable_meta_optimizer
    wire::put_bytes(&graph, 10, rewriter);  // GraphOptions.rewrite_options
    wire::put_bytes(&text, 10, graph);      // ConfigProto.graph_options
  }
  return text;
}

std::string quoted_list(const std::vector<Signature>& signatures) {
  std::string text;
  for (const Signature& one : signatures) text += (text.empty() ? "" : ", ") + one.name;
  return text.empty() ? "none" : text;
}

// Opens one model. It holds the state that the steps below share.
class Opening {
 public:
  Opening(const xsp_host* host, const xsp_open_options& options, OpenSession* session)
      : host_(host), options_(options), path_(options.path), session_(session) {}

  xsp_status open() {
    xsp_status status = choose(host_, options_, &choices_, session_);
    if (status != XSP_OK) return status;
    std::error_code error;
    std::string folder = path_;
    const bool is_folder = fs::is_directory(path_, error);
    if (!is_folder && fs::path(path_).filename() == "saved_model.pb") {
      folder = fs::path(path_).parent_path();
      if (folder.empty()) folder = ".";
    }
    const bool is_saved_model = is_folder || folder != path_;
    if (is_folder && !fs::exists(folder + "/saved_model.pb", error)) {
      return bad("it is a folder without saved_model.pb: name a SavedModel or a frozen graph");
    }
    const Mapping file(is_saved_model ? folder + "/saved_model.pb" : path_);
    if (!file.problem().empty()) return bad(file.problem());
    session_->graph = library().NewGraph();
    status = is_saved_model ? open_saved_model(folder, file.bytes()) : open_graph(file.bytes());
    if (status != XSP_OK) return status;
    if (session_->outputs.empty()) return bad("it computes nothing: name --option outputs=NODE");
    return XSP_OK;
  }

 private:
  xsp_status bad(const std::string& why) { return fail(host_, XSP_BAD_MODEL, path_ + ": " + why); }
  xsp_status refused(const Outcome& outcome) {
    if (outcome.code() == kResourceExhausted) {
      return fail(host_, XSP_OUT_OF_MEMORY,
                  path_ + ": out of memory: " + outcome.text() + ": it needs more than there is");
    }
    return bad(outcome.text() + ": export it again, or see whether TensorFlow " +
               library().version + " runs it");
  }
  bool records() const { return (options_.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0; }

  xsp_status make_options(SessionOptions* made) {
    const std::string text = config(choices_, options_.threads);
    Outcome outcome;
    library().SetConfig(made, text.data(), text.size(), outcome.get());
    return outcome.code() == 0 ? XSP_OK : fail(host_, XSP_FAILED, "options: " + outcome.text());
  }

  xsp_status open_graph(Bytes bytes) {
    const auto& tf = library();
    Outcome outcome;
    ImportGraphDefOptions* import = tf.NewImportGraphDefOptions();
    const Buffer buffer{bytes.data(), bytes.size(), nullptr};
    tf.GraphImportGraphDef(session_->graph, &buffer, import, outcome.get());
    tf.DeleteImportGraphDefOptions(import);
    if (outcome.code() != 0) return refused(outcome);
    SessionOptions* options = tf.NewSessionOptions();
    xsp_status status = make_options(options);
    if (status == XSP_OK) {
      session_->session = tf.NewSession(session_->graph, options, outcome.get());
      if (outcome.code() != 0) status = refused(outcome);
    }
    tf.DeleteSessionOptions(options);
    if (status == XSP_OK) status = find_ends();
    if (status == XSP_OK && records()) session_->own = read_graph(bytes);
    return status;
  }

  // Finds a frozen graph's inputs and outputs.
  xsp_status find_ends() {
    const auto& tf = library();
    size_t at = 0;
    std::vector<std::string> inputs = choices_.inputs, outputs = choices_.outputs;
    while (Operation* operation = tf.GraphNextOperation(session_->graph, &at)) {
      const std::string_view op = tf.OperationOpType(operation);
      const bool is_input = op == "Placeholder";
      const int count = tf.OperationNumOutputs(operation);
      int consumers = 0;
      for (int i = 0; i < count; ++i) consumers += tf.OperationOutputNumConsumers({operation, i});
      if (is_input && choices_.inputs.empty()) inputs.emplace_back(tf.OperationName(operation));
      const bool is_end = count > 0 && consumers == 0 && !is_input && op != "Const";
      if (is_end && choices_.outputs.empty()) outputs.emplace_back(tf.OperationName(operation));
    }
    xsp_status status = XSP_OK;
    for (const std::string& name : inputs) {
      if (status == XSP_OK) status = add_end(name, name, nullptr, &session_->inputs);
    }
    for (const std::string& name : outputs) {
      if (status == XSP_OK) status = add_end(name, name, nullptr, &session_->outputs);
    }
    return status;
  }

  // `tensor` is "node" or "node:1"; `declared`, if set, has more facts than the graph.
  xsp_status add_end(const std::string& name, const std::string& tensor, const Value* declared,
                     std::vector<End>* ends) {
    const auto& tf = library();
    const bool is_input = ends == &session_->inputs;
    const std::string what = (is_input ? "input '" : "output '") + name + "'";
    const size_t colon = tensor.rfind(':');
    End end{name, {nullptr, 0}, 0, {}};
    if (colon != std::string::npos &&
        !parse_count(std::string_view(tensor).substr(colon + 1), &end.output.index)) {
      return bad(what + " is tensor '" + tensor + "': no such tensor: give NODE or NODE:INDEX");
    }
    end.output.operation =
        tf.GraphOperationByName(session_->graph, tensor.substr(0, colon).c_str());
    if (end.output.operation == nullptr ||
        end.output.index >= tf.OperationNumOutputs(end.output.operation)) {
      return bad(what + ": the graph has no tensor '" + tensor +
                 "': export it again, or see "
                 "--option inputs=, outputs= and signature=");
    }
    end.dtype = dtype_of(tf.OperationOutputType(end.output));
    if (end.dtype == 0 && !is_input) {
      note(host_, what + " is not a tensor of numbers: not kept");
      return XSP_OK;
    }
    if (end.dtype == 0) {
      return bad(what + " is not a tensor of numbers: choose another --option signature=NAME");
    }
    const bool known = declared != nullptr && declared->has_shape;
    if (known) end.dimensions = declared->dimensions;
    if (!known && !read_dimensions(end.output, &end.dimensions)) {
      // An output may have any shape, but the worker must create an input.
      if (is_input) return bad(what + " has no shape: export it with one");
      note(host_, what + ": its shape is not known before it runs: not kept");
      return XSP_OK;
    }
    if (end.dimensions.size() > XSP_RANK_MAX) return bad(what + " has too many dimensions");
    ends->push_back(std::move(end));
    return XSP_OK;
  }

  bool read_dimensions(Output output, std::vector<int64_t>* dimensions) {
    const auto& tf = library();
    Outcome outcome;
    const int rank = tf.GraphGetTensorNumDims(session_->graph, output, outcome.get());
    if (outcome.code() != 0 || rank < 0) return false;
    dimensions->resize(static_cast<size_t>(rank));
    tf.GraphGetTensorShape(session_->graph, output, dimensions->data(), rank, outcome.get());
    return outcome.code() == 0;
  }

  xsp_status open_saved_model(const std::string& folder, Bytes bytes) {
    const std::vector<MetaGraph> graphs = read_saved_model(bytes);
    if (graphs.empty()) return bad("its saved_model.pb is not a SavedModel: export it again");
    const MetaGraph* graph = choose_graph(graphs);
    if (graph == nullptr) {
      return bad("it has no graph with the tags '" + choices_.tags + "': see --option tags=A,B");
    }
    std::vector<const char*> tags;
    for (const std::string& tag : graph->tags) tags.push_back(tag.c_str());
    const auto& tf = library();
    Outcome outcome;
    SessionOptions* options = tf.NewSessionOptions();
    xsp_status status = make_options(options);
    if (status == XSP_OK) {
      const OwnBuffer meta_graph(tf.NewBuffer());
      session_->session = tf.LoadSessionFromSavedModel(
          options, nullptr, folder.c_str(), tags.data(), static_cast<int>(tags.size()),
          session_->graph, meta_graph.get(), outcome.get());
      if (outcome.code() != 0) status = refused(outcome);
    }
    tf.DeleteSessionOptions(options);
    if (status == XSP_OK) status = take_signature(*graph);
    if (status == XSP_OK && records()) session_->own = read_graph(graph->graph_def);
    return status;
  }

  const MetaGraph* choose_graph(const std::vector<MetaGraph>& graphs) {
    std::vector<std::string> wanted = split(choices_.tags);
    if (wanted.empty()) wanted = {"serve"};
    std::sort(wanted.begin(), wanted.end());
    for (const MetaGraph& graph : graphs) {
      std::vector<std::string> tags = graph.tags;
      std::sort(tags.begin(), tags.end());
      if (tags == wanted) return &graph;
    }
    return choices_.tags.empty() && graphs.size() == 1 ? &graphs[0] : nullptr;
  }

  xsp_status take_signature(const MetaGraph& graph) {
    std::string wanted = choices_.signature;
    if (wanted.empty()) wanted = "serving_default";
    for (const Signature& signature : graph.signatures) {
      if (signature.name != wanted) continue;
      xsp_status status = XSP_OK;
      for (const Port& port : signature.inputs) {
        if (status == XSP_OK) {
          status = add_end(port.name, port.tensor, &port.value, &session_->inputs);
        }
      }
      for (const Port& port : signature.outputs) {
        if (status == XSP_OK) {
          status = add_end(port.name, port.tensor, &port.value, &session_->outputs);
        }
      }
      return status;
    }
    return bad("it has no signature '" + wanted + "': choose with --option signature=NAME from " +
               quoted_list(graph.signatures));
  }

  const xsp_host* host_;
  const xsp_open_options& options_;
  const std::string path_;
  OpenSession* session_;
  Choices choices_;
};

}  // namespace

OpenSession::~OpenSession() {
  if (session != nullptr) {
    Outcome outcome;
    library().CloseSession(session, outcome.get());
    library().DeleteSession(session, outcome.get());
  }
  if (graph != nullptr) library().DeleteGraph(graph);
}

xsp_status open_session(const xsp_host* host, const xsp_open_options& options,
                        OpenSession* session) {
  return Opening(host, options, session).open();
}

}  // namespace xsp::tf
