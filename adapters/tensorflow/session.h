// Opens a model in TensorFlow with the worker's options.
//
// A path is a frozen graph (a GraphDef, *.pb), the folder of a SavedModel, or the file
// saved_model.pb in it. A graph does not declare its inputs and outputs. By default its inputs are
// its placeholders, and its outputs are the nodes that no other node reads; the options may name
// others.
#ifndef XSP_ADAPTERS_TENSORFLOW_SESSION_H_
#define XSP_ADAPTERS_TENSORFLOW_SESSION_H_

#include <string>
#include <vector>

#include "adapters/tensorflow/library.h"
#include "adapters/tensorflow/messages.h"
#include "xsp/plugin.h"

namespace xsp::tf {

// Describes an input or output of the model.
struct End {
  std::string name;
  Output output{};
  uint32_t dtype = 0;  // xsp_dtype
  std::vector<int64_t> dimensions;
};

struct OpenSession {
  Graph* graph = nullptr;
  Session* session = nullptr;
  std::vector<End> inputs;
  std::vector<End> outputs;
  GraphDef own;         // the model's own graph; read if layers are recorded
  int trace_level = 0;  // RunOptions.trace_level if layers are recorded
  bool every_node = false;

  OpenSession() = default;
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;
  ~OpenSession();
};

// On failure, reports the reason through the host.
xsp_status open_session(const xsp_host* host, const xsp_open_options& options,
                        OpenSession* session);

}  // namespace xsp::tf

#endif  // XSP_ADAPTERS_TENSORFLOW_SESSION_H_
