// Reads arbitrary bytes as TensorFlow's messages: a saved model, a graph, the record of a run.
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "adapters/tensorflow/messages.h"
#include "tests/fuzz/require.h"

namespace {

bool is_part(std::string_view text, std::span<const uint8_t> whole) {
  const char* const begin = reinterpret_cast<const char*>(whole.data());
  const std::less_equal<const char*> is_before;
  return text.empty() || (is_before(begin, text.data()) &&
                          is_before(text.data() + text.size(), begin + whole.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  for (const xsp::tf::MetaGraph& graph : xsp::tf::read_saved_model(bytes)) {
    require(graph.graph_def.size() <= size);
    xsp::tf::read_graph(graph.graph_def);
  }
  require(xsp::tf::read_graph(bytes).nodes.size() <= size);
  int64_t latest_ns = INT64_MIN;
  for (const xsp::tf::Execution& execution : xsp::tf::read_executions(bytes)) {
    require(is_part(execution.node, bytes) && is_part(execution.label, bytes));
    require(is_part(xsp::tf::op_of(execution), bytes));
    for (const std::string_view input : xsp::tf::inputs_of(execution))
      require(is_part(input, bytes));
    for (const xsp::tf::Value& value : execution.outputs) require(value.bytes() >= -1);
    require(execution.start_ns >= latest_ns);
    latest_ns = execution.start_ns;
  }
  return 0;
}
