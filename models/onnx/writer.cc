#include "models/onnx/writer.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "models/onnx/fields.h"
#include "models/wire.h"

namespace xsp::models {
namespace {

using wire::put_bytes;
using wire::put_float;
using wire::put_header;
using wire::put_integer;

constexpr size_t kPieceBytes = 1 << 20;

void put_text(std::string* out, uint32_t number, const std::string& text) {
  if (!text.empty()) put_bytes(out, number, text);
}

// A tensor without its values; `*raw_bytes` of them follow as the field raw_data.
std::string tensor_header(const Tensor& tensor, uint64_t* raw_bytes) {
  std::string out;
  for (const int64_t dimension : tensor.dimensions) {
    put_integer(&out, fields::tensor::kDims, dimension);
  }
  put_integer(&out, fields::tensor::kDataType, tensor.dtype);
  put_text(&out, fields::tensor::kName, tensor.name);
  put_header(&out, fields::tensor::kRawData, tensor.bytes);
  *raw_bytes = tensor.bytes;
  return out;
}

bool holds_values(const Tensor& tensor) {
  return !tensor.integers.empty() || !tensor.floats.empty() || tensor.bytes == 0;
}

// The values that a tensor holds, as raw_data has them. The builder makes tensors of these types.
std::string raw_values(const Tensor& tensor) {
  std::string raw(static_cast<size_t>(tensor.bytes), '\0');
  if (tensor.dtype == kInt64 && !tensor.integers.empty()) {
    std::memcpy(raw.data(), tensor.integers.data(), raw.size());
  }
  if (tensor.dtype == kFloat32 && !tensor.floats.empty()) {
    std::memcpy(raw.data(), tensor.floats.data(), raw.size());
  }
  return raw;
}

std::string attribute_message(const Attribute& attribute) {
  std::string out;
  put_bytes(&out, fields::attribute::kName, attribute.name);
  switch (attribute.kind) {
    case AttributeKind::kFloat:
      put_float(&out, fields::attribute::kFloat, attribute.f);
      break;
    case AttributeKind::kInt:
      put_integer(&out, fields::attribute::kInt, attribute.i);
      break;
    case AttributeKind::kString:
      put_bytes(&out, fields::attribute::kString, attribute.s);
      break;
    case AttributeKind::kTensor: {
      uint64_t raw_bytes = 0;
      std::string tensor = tensor_header(attribute.tensor.at(0), &raw_bytes);
      tensor += raw_values(attribute.tensor.at(0));
      put_bytes(&out, fields::attribute::kTensor, tensor);
      break;
    }
    case AttributeKind::kFloats:
      for (const float value : attribute.floats) put_float(&out, fields::attribute::kFloats, value);
      break;
    case AttributeKind::kInts:
      for (const int64_t value : attribute.ints) put_integer(&out, fields::attribute::kInts, value);
      break;
    case AttributeKind::kStrings:
      for (const std::string& s : attribute.strings)
        put_bytes(&out, fields::attribute::kStrings, s);
      break;
    case AttributeKind::kGraph:
    case AttributeKind::kUnknown:
      break;
  }
  put_integer(&out, fields::attribute::kType, static_cast<int64_t>(attribute.kind));
  return out;
}

std::string node_message(const Node& node) {
  std::string out;
  for (const std::string& name : node.inputs) put_bytes(&out, fields::node::kInput, name);
  for (const std::string& name : node.outputs) put_bytes(&out, fields::node::kOutput, name);
  put_text(&out, fields::node::kName, node.name);
  put_bytes(&out, fields::node::kOpType, node.op_type);
  for (const Attribute& attribute : node.attributes) {
    put_bytes(&out, fields::node::kAttribute, attribute_message(attribute));
  }
  put_text(&out, fields::node::kDomain, node.domain);
  return out;
}

std::string value_message(const ValueInfo& info) {
  std::string shape;
  for (const Dimension& dimension : info.dimensions) {
    std::string message;
    if (dimension.value >= 0) {
      put_integer(&message, fields::dimension::kValue, dimension.value);
    } else {
      put_text(&message, fields::dimension::kParam, dimension.symbol);
    }
    put_bytes(&shape, fields::shape::kDim, message);
  }
  std::string tensor;
  put_integer(&tensor, fields::tensor_type::kElemType, info.dtype);
  if (info.has_shape) put_bytes(&tensor, fields::tensor_type::kShape, shape);
  std::string type;
  put_bytes(&type, fields::type::kTensor, tensor);
  std::string out;
  put_bytes(&out, fields::value_info::kName, info.name);
  put_bytes(&out, fields::value_info::kType, type);
  return out;
}

std::string model_header(const Graph& graph) {
  std::string out;
  put_integer(&out, fields::model::kIrVersion, graph.ir_version);
  put_text(&out, fields::model::kProducerName, graph.producer_name);
  put_text(&out, fields::model::kProducerVersion, graph.producer_version);
  for (const auto& [domain, version] : graph.opsets) {
    std::string opset;
    put_bytes(&opset, fields::opset::kDomain, domain);
    put_integer(&opset, fields::opset::kVersion, version);
    put_bytes(&out, fields::model::kOpsetImport, opset);
  }
  for (const auto& [key, value] : graph.metadata) {
    std::string entry;
    put_bytes(&entry, fields::entry::kKey, key);
    put_bytes(&entry, fields::entry::kValue, value);
    put_bytes(&out, fields::model::kMetadata, entry);
  }
  return out;
}

// A file is a row of texts, and between them weights.
struct Piece {
  std::string text;
  int64_t weight = -1;  // the initializer whose values follow the text
};

struct Plan {
  std::vector<Piece> pieces;
  uint64_t bytes = 0;
};

Plan plan_of(const Graph& graph) {
  std::string head;
  for (const Node& node : graph.nodes) put_bytes(&head, fields::graph::kNode, node_message(node));
  put_text(&head, fields::graph::kName, graph.name);
  Plan plan;
  uint64_t graph_bytes = 0;
  for (size_t i = 0; i < graph.initializers.size(); ++i) {
    const Tensor& tensor = graph.initializers[i];
    uint64_t raw_bytes = 0;
    const std::string header = tensor_header(tensor, &raw_bytes);
    put_header(&head, fields::graph::kInitializer, header.size() + raw_bytes);
    head += header;
    if (holds_values(tensor)) {
      head += raw_values(tensor);
      continue;
    }
    graph_bytes += head.size() + raw_bytes;
    plan.pieces.push_back({std::move(head), static_cast<int64_t>(i)});
    head.clear();
  }
  for (const ValueInfo& info : graph.inputs) {
    put_bytes(&head, fields::graph::kInput, value_message(info));
  }
  for (const ValueInfo& info : graph.outputs) {
    put_bytes(&head, fields::graph::kOutput, value_message(info));
  }
  for (const ValueInfo& info : graph.values) {
    put_bytes(&head, fields::graph::kValueInfo, value_message(info));
  }
  graph_bytes += head.size();
  plan.pieces.push_back({std::move(head), -1});
  std::string start = model_header(graph);
  put_header(&start, fields::model::kGraph, graph_bytes);
  plan.bytes = start.size() + graph_bytes;
  plan.pieces.front().text.insert(0, start);
  return plan;
}

// The file while it is written. It has no name yet where the file system allows that, so that not
// even a killed process leaves anything; elsewhere it has a temporary one.
class Output {
 public:
  Output(const std::string& path, const WriteOptions& options) : path_(path), options_(options) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (file_ >= 0) ::close(file_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status open(uint64_t bytes);
  Status append(const void* data, size_t size);
  Status finish();

 private:
  Error error(int number) const;
  int open_nameless() const;
  std::string temporary_name() const;
  Status name_file(const std::string& name);
  Status rename_to(const std::string& name);

  std::string path_;
  const WriteOptions& options_;
  std::string temporary_;  // a name to be removed; empty: none
  bool is_nameless_ = false;
  int file_ = -1;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
};

Error Output::error(int number) const {
  std::string what_to_do = "give another path with -o";
  std::string why = std::strerror(number);
  if (number == ENOSPC || number == EDQUOT) {
    why = "the disk is full: the model takes " + std::to_string(total_ >> 20) + " MiB";
    what_to_do = "make room, or give a path on another disk";
  }
  if (number == EEXIST) what_to_do = "remove it first, or give another path";
  return failed(path_ + ": cannot be written: " + why + ": " + what_to_do);
}

// -1 if the file system has no such files, or there is no /proc to name them by.
int Output::open_nameless() const {
  if (::access("/proc/self/fd", X_OK) != 0) return -1;
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

std::string Output::temporary_name() const {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    number = static_cast<uint64_t>(::getpid());
  }
  return path_ + "." + std::to_string(number) + ".tmp";
}

// Gives the file a name beside, or without, its temporary one; an existing file is an error.
Status Output::name_file(const std::string& name) {
  const std::string descriptor = "/proc/self/fd/" + std::to_string(file_);
  const int linked = is_nameless_ ? ::linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, name.c_str(),
                                             AT_SYMLINK_FOLLOW)
                                  : ::link(temporary_.c_str(), name.c_str());
  if (linked == 0) return Ok{};
  // Without links, as on a memory card: the file was not there when the writing began.
  if (is_nameless_ || (errno != EPERM && errno != EOPNOTSUPP)) return error(errno);
  return rename_to(name);
}

Status Output::rename_to(const std::string& name) {
  if (::rename(temporary_.c_str(), name.c_str()) != 0) return error(errno);
  temporary_.clear();
  return Ok{};
}

Status Output::open(uint64_t bytes) {
  total_ = bytes;
  struct stat status = {};
  if (::stat(path_.c_str(), &status) == 0) {
    if (!options_.replace) return error(EEXIST);
    if (!S_ISREG(status.st_mode)) return error(S_ISDIR(status.st_mode) ? EISDIR : EEXIST);
  }
  file_ = open_nameless();
  is_nameless_ = file_ >= 0;
  if (!is_nameless_) {
    const std::string name = temporary_name();
    file_ = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file_ < 0) return error(errno);
    temporary_ = name;
  }
  // Makes room at once: a full disk is known before minutes were spent. Not all disks can.
  if (::fallocate(file_, 0, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    return error(errno);
  }
  return Ok{};
}

Status Output::append(const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = ::write(file_, at, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return error(errno);
    at += wrote;
    size -= static_cast<size_t>(wrote);
    done_ += static_cast<uint64_t>(wrote);
  }
  if (options_.progress && !options_.progress(done_, total_)) {
    return Error{Code::kInterrupted, path_ + ": not written: interrupted: run it again"};
  }
  return Ok{};
}

Status Output::finish() {
  // Errors of a delayed write show when a descriptor is closed; this one is still needed.
  const int second = ::dup(file_);
  if (second < 0 || ::close(second) != 0) return error(errno);
  if (!options_.replace) return name_file(path_);
  if (is_nameless_) {
    const std::string name = temporary_name();
    XSP_CHECK_OK(name_file(name));
    temporary_ = name;
  }
  return rename_to(path_);
}

}  // namespace

uint64_t written_bytes(const Graph& graph) { return plan_of(graph).bytes; }

Status write_graph(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options) {
  const Plan plan = plan_of(graph);
  Output output(path, options);
  XSP_CHECK_OK(output.open(plan.bytes));
  std::vector<uint8_t> buffer(kPieceBytes);
  for (const Piece& piece : plan.pieces) {
    XSP_CHECK_OK(output.append(piece.text.data(), piece.text.size()));
    if (piece.weight < 0) continue;
    const size_t index = static_cast<size_t>(piece.weight);
    const uint64_t bytes = graph.initializers[index].bytes;
    for (uint64_t offset = 0; offset < bytes; offset += kPieceBytes) {
      const size_t size = static_cast<size_t>(std::min<uint64_t>(kPieceBytes, bytes - offset));
      weights(index, offset, {buffer.data(), size});
      XSP_CHECK_OK(output.append(buffer.data(), size));
    }
  }
  return output.finish();
}

}  // namespace xsp::models
