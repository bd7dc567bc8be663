// Reads arbitrary bytes as an ONNX file, and processes each graph that the reader accepts.
#include <cstdint>
#include <map>
#include <string>

#include "formats/onnx/blocks.h"
#include "formats/onnx/provenance.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/shapes.h"
#include "tests/fuzz/require.h"

namespace {

void require_one_line(const std::string& text) {
  require(!text.empty() && text.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const xsp::Result<xsp::formats::Graph> graph =
      xsp::formats::read_graph({data, size}, "fuzz.onnx");
  if (!graph.ok()) {
    require(graph.error().code == xsp::Code::kCorrupt);
    require_one_line(graph.error().text);
    return 0;
  }
  require(graph->ir_version > 0);
  require(xsp::formats::count_parameters(*graph).learned >= 0);

  std::map<std::string, int64_t> symbols;
  for (const xsp::formats::ValueInfo& input : graph->inputs) {
    for (const xsp::formats::Dimension& dimension : input.dimensions) symbols[dimension.symbol] = 3;
  }
  const xsp::Result<xsp::formats::KnownValues> values = xsp::formats::infer_shapes(*graph, symbols);
  if (values.ok()) {
    for (const xsp::formats::Node& node : graph->nodes) {
      const xsp::formats::Work work = xsp::formats::node_work(node, *values);
      require(work.macs >= 0 && work.flops >= 0);
    }
  }

  const xsp::formats::Provenance provenance = xsp::formats::trace_provenance(*graph, *graph);
  require(provenance.originals.size() == graph->nodes.size());
  require(provenance.stands_for.size() == graph->nodes.size());
  for (const xsp::formats::OriginalNode& original : provenance.originals) {
    for (const size_t executed : original.executed_as) require(executed < graph->nodes.size());
  }
  const xsp::formats::Blocks blocks(*graph, &*graph, &provenance);
  const std::vector<int64_t> weight =
      graph->initializers.empty() ? std::vector<int64_t>() : graph->initializers[0].dimensions;
  for (const xsp::formats::Node& node : graph->nodes) {
    const auto shape = blocks.weight_shape(node, 1, weight);
    require(!shape || shape->size() == weight.size());
  }
  return 0;
}
