#include "formats/onnx/reader.h"

#include <algorithm>
#include <cstring>

#include "formats/onnx/fields.h"
#include "formats/onnx/message.h"
#include "formats/wire/wire.h"

namespace xsp::formats {
namespace {

using wire::Cursor;
using wire::Field;
using wire::Source;

// Reads one file. Each function reads one kind of message; all stop at the first problem.
class Reader {
 public:
  explicit Reader(Source* source) : message_(source) {}

  Graph model();
  const std::string& problem() const { return message_.problem(); }

 private:
  void graph(const Field& field, Graph* graph, int depth);
  void node(const Field& field, Node* node, int depth);
  void attribute(const Field& field, Attribute* attribute, int depth);
  void value_info(const Field& field, ValueInfo* info);
  void tensor_type(const Field& field, ValueInfo* info);
  void dimension(const Field& field, Dimension* dimension);
  void opset(const Field& field, Graph* graph);

  Message message_;
};

Graph Reader::model() {
  Graph result;
  bool has_graph = false;
  Cursor cursor = message_.all();
  Field field;
  while (cursor.next(&field)) {
    switch (field.number) {
      case fields::model::kIrVersion:
        result.ir_version = message_.integer(field);
        break;
      case fields::model::kProducerName:
        result.producer_name = message_.text(field);
        break;
      case fields::model::kProducerVersion:
        result.producer_version = message_.text(field);
        break;
      case fields::model::kGraph:
        if (has_graph) message_.fail("it holds two graphs");
        has_graph = true;
        graph(field, &result, 0);
        break;
      case fields::model::kOpsetImport:
        opset(field, &result);
        break;
      case fields::model::kMetadata: {
        message_.charge(sizeof(std::pair<std::string, std::string>));
        const auto [key, value] = message_.entry(field);
        if (!value.empty()) result.metadata[key] = value;
        break;
      }
      case fields::model::kFunctions:
        ++result.functions;
        break;
      default:
        break;
    }
  }
  if (!has_graph) message_.fail("it holds no graph");
  if (result.ir_version <= 0) message_.fail("it states no ir_version");
  if (result.opsets.empty()) message_.fail("it states no operator set");
  return result;
}

void Reader::graph(const Field& field, Graph* graph, int depth) {
  if (depth > kMaxGraphDepth) message_.fail("graphs are nested too deeply");
  if (!message_.is_message(field)) return;
  Cursor body = message_.body(field);
  Field part;
  while (body.next(&part)) {
    switch (part.number) {
      case fields::graph::kNode:
        node(part, &message_.grow(&graph->nodes), depth);
        break;
      case fields::graph::kName:
        graph->name = message_.text(part);
        break;
      case fields::graph::kInitializer:
        read_tensor(message_, part, &message_.grow(&graph->initializers));
        break;
      case fields::graph::kInput:
        value_info(part, &message_.grow(&graph->inputs));
        break;
      case fields::graph::kOutput:
        value_info(part, &message_.grow(&graph->outputs));
        break;
      case fields::graph::kValueInfo:
        value_info(part, &message_.grow(&graph->values));
        break;
      default:
        break;
    }
  }
}

void Reader::node(const Field& field, Node* node, int depth) {
  if (!message_.is_message(field)) return;
  Cursor body = message_.body(field);
  Field part;
  while (body.next(&part)) {
    switch (part.number) {
      case fields::node::kInput:
        message_.grow(&node->inputs) = message_.text(part);
        break;
      case fields::node::kOutput:
        message_.grow(&node->outputs) = message_.text(part);
        break;
      case fields::node::kName:
        node->name = message_.text(part);
        break;
      case fields::node::kOpType:
        node->op_type = message_.text(part);
        break;
      case fields::node::kAttribute:
        attribute(part, &message_.grow(&node->attributes), depth);
        break;
      case fields::node::kDomain:
        node->domain = message_.text(part);
        break;
      default:
        break;
    }
  }
  if (node->domain == "ai.onnx") node->domain.clear();
  if (node->op_type.empty()) message_.fail("node '" + node->name + "' names no operator");
}

void Reader::attribute(const Field& field, Attribute* attribute, int depth) {
  if (!message_.is_message(field)) return;
  Cursor body = message_.body(field);
  Field part;
  while (body.next(&part)) {
    switch (part.number) {
      case fields::attribute::kName:
        attribute->name = message_.text(part);
        break;
      case fields::attribute::kFloat:
        attribute->f = message_.number(part);
        break;
      case fields::attribute::kInt:
        attribute->i = message_.integer(part);
        break;
      case fields::attribute::kString:
        attribute->s = message_.text_if_short(part);
        break;
      case fields::attribute::kTensor:
        if (!attribute->tensor.empty())
          message_.fail("attribute '" + attribute->name + "' has two tensors");
        read_tensor(message_, part, &message_.grow(&attribute->tensor));
        break;
      case fields::attribute::kGraph:
        if (!attribute->graph.empty())
          message_.fail("attribute '" + attribute->name + "' has two graphs");
        this->graph(part, &message_.grow(&attribute->graph), depth + 1);
        break;
      case fields::attribute::kFloats:
        message_.floats(part, [&](float value) { message_.grow(&attribute->floats) = value; });
        break;
      case fields::attribute::kInts:
        message_.integers(part, [&](int64_t value) { message_.grow(&attribute->ints) = value; });
        break;
      case fields::attribute::kStrings:
        message_.grow(&attribute->strings) = message_.text(part);
        break;
      case fields::attribute::kType: {
        const int64_t kind = message_.integer(part);
        const bool kept = kind > 0 && kind <= static_cast<int64_t>(AttributeKind::kStrings);
        attribute->kind = kept ? static_cast<AttributeKind>(kind) : AttributeKind::kUnknown;
        break;
      }
      default:
        break;
    }
  }
}

void Reader::value_info(const Field& field, ValueInfo* info) {
  if (!message_.is_message(field)) return;
  Cursor body = message_.body(field);
  Field part;
  while (body.next(&part)) {
    if (part.number == fields::value_info::kName) info->name = message_.text(part);
    if (part.number != fields::value_info::kType || !message_.is_message(part)) continue;
    Cursor type = message_.body(part);
    Field kind;
    while (type.next(&kind)) {
      if (kind.number == fields::type::kTensor) tensor_type(kind, info);
    }
  }
}

void Reader::tensor_type(const Field& field, ValueInfo* info) {
  if (!message_.is_message(field)) return;
  info->is_tensor = true;
  Cursor body = message_.body(field);
  Field part;
  while (body.next(&part)) {
    if (part.number == fields::tensor_type::kElemType) {
      info->dtype = message_.dtype(part);
    }
    if (part.number != fields::tensor_type::kShape || !message_.is_message(part)) continue;
    info->has_shape = true;
    Cursor shape = message_.body(part);
    Field dim;
    while (shape.next(&dim)) {
      if (dim.number != fields::shape::kDim) continue;
      dimension(dim, &message_.grow(&info->dimensions));
      if (info->dimensions.size() > kMaxRank)
        message_.fail("'" + info->name + "' has too many dimensions");
    }
  }
}

void Reader::dimension(const Field& field, Dimension* dimension) {
  if (!message_.is_message(field)) return;
  Cursor body = message_.body(field);
  Field part;
  while (body.next(&part)) {
    if (part.number == fields::dimension::kValue) {
      // Some exporters write -1 or -2 for a dimension that they do not know.
      dimension->value = std::max<int64_t>(message_.integer(part), -1);
    }
    if (part.number == fields::dimension::kParam) dimension->symbol = message_.text(part);
  }
  // Some exporters call every dimension "?", which is not a name.
  if (dimension->symbol.find_first_not_of('?') == std::string::npos) dimension->symbol.clear();
}

void Reader::opset(const Field& field, Graph* graph) {
  if (!message_.is_message(field)) return;
  Cursor body = message_.body(field);
  Field part;
  std::string domain;
  int64_t version = 0;
  while (body.next(&part)) {
    if (part.number == fields::opset::kDomain) domain = message_.text(part);
    if (part.number == fields::opset::kVersion) version = message_.integer(part);
  }
  if (domain == "ai.onnx") domain.clear();
  message_.charge(sizeof(std::pair<std::string, int64_t>));
  graph->opsets[domain] = version;
}

// Guesses from its first bytes the kind of a file that is no model.
std::string foreign_kind(Source* source) {
  struct Magic {
    const char* bytes;
    size_t size;
    const char* kind;
  };
  static constexpr Magic kMagics[] = {
      {"version https://git-lfs", 23, "a Git LFS pointer: run `git lfs pull`"},
      {"PK\x03\x04", 4, "a zip archive (a PyTorch model?): export it to ONNX"},
      {"\x89HDF", 4, "an HDF5 file (a Keras model?): convert it to ONNX"},
      {"\x1f\x8b", 2, "gzip-compressed: decompress it"},
      {"<", 1, "HTML or XML: download the model itself"},
      {"{", 1, "JSON: give an .onnx file"},
      {"\x7f"
       "ELF",
       4, "a program or library: give an .onnx file"},
  };
  for (const Magic& magic : kMagics) {
    if (source->size() < magic.size) continue;
    const uint8_t* bytes = source->view(0, magic.size);
    if (bytes != nullptr && std::memcmp(bytes, magic.bytes, magic.size) == 0) return magic.kind;
  }
  return "";
}

// Names come from the file, and may contain any bytes, but an error must stay one line.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return text;
}

Result<Graph> read(Source source, const std::string& name) {
  if (source.size() == 0) {
    return corrupt(name + ": not an ONNX model: the file is empty: fetch or export it again");
  }
  if (source.size() > kMaxFileBytes) {
    return corrupt(name + ": not an ONNX model: " + std::to_string(source.size()) +
                   " bytes, and no ONNX file exceeds 2 GiB: keep its weights as external data");
  }
  Reader reader(&source);
  Graph graph = reader.model();
  graph.file_bytes = source.size();
  if (reader.problem().empty()) return graph;
  const std::string kind = foreign_kind(&source);
  if (!kind.empty()) return corrupt(name + ": not an ONNX model: it looks like " + kind);
  return corrupt(name + ": not a sound ONNX model: " + printable(reader.problem()) +
                 ": fetch or export it again");
}

}  // namespace

Result<Graph> read_graph(const std::string& path) {
  XSP_TRY(Source source, Source::open(path));
  return read(std::move(source), path);
}

Result<Graph> read_graph(std::span<const uint8_t> bytes, const std::string& name) {
  return read(Source(bytes), name);
}

}  // namespace xsp::formats
