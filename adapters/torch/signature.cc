#include "adapters/torch/signature.h"

#include <cctype>
#include <charconv>
#include <cstring>

#include "xsp/plugin.hpp"

namespace xsp::torch_adapter {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Removes the next word from the front of a line, and returns it.
std::string_view next_word(std::string_view* line) {
  while (!line->empty() && is_space(line->front())) line->remove_prefix(1);
  size_t size = 0;
  while (size < line->size() && !is_space((*line)[size])) ++size;
  const std::string_view word = line->substr(0, size);
  line->remove_prefix(size);
  return word;
}

uint32_t dtype_of(std::string_view name) {
  for (uint32_t dtype = XSP_FLOAT32; dtype <= XSP_BFLOAT16; ++dtype) {
    if (dtype_bytes(dtype) != 0 && name == dtype_name(dtype)) return dtype;
  }
  return 0;
}

std::string parse_shape(std::string_view text, Port* port) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    int64_t size = -1;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, size);
    const bool is_number = error == std::errc() && stop == end;
    const bool is_name = !part.empty() && std::isalpha(static_cast<unsigned char>(part[0])) != 0;
    if ((!is_number || size < 0) && !is_name) {
      return "'" + std::string(part) + "' is no dimension";
    }
    port->dimensions.push_back(is_number ? size : -1);
    port->symbols.emplace_back(is_number ? "" : part);
  }
  if (port->dimensions.size() > XSP_RANK_MAX) return "too many dimensions";
  return "";
}

std::string parse_line(std::string_view line, Signature* signature) {
  const std::string_view kind = next_word(&line);
  if (kind.empty()) return "";
  if (kind != "input" && kind != "output") {
    return "'" + std::string(kind) + "' is neither input nor output";
  }
  Port port;
  port.name = valid_utf8(next_word(&line));
  const std::string_view type = next_word(&line);
  port.dtype = dtype_of(type);
  if (port.dtype == 0) return "'" + std::string(type) + "' is no element type";
  std::string_view word = next_word(&line);
  if (!word.starts_with('<')) {
    const std::string why = parse_shape(word, &port);
    if (!why.empty()) return why;
    word = next_word(&line);
  }
  if (word.starts_with('<')) {
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + 1, end, port.below);
    if (error != std::errc() || stop != end || port.below == 0) {
      return "'" + std::string(word) + "' is no limit";
    }
    word = next_word(&line);
  }
  if (!word.empty()) return "more than a name, a type, a shape and a limit";
  (kind == "input" ? signature->inputs : signature->outputs).push_back(std::move(port));
  return "";
}

}  // namespace

std::string parse_signature(std::string_view text, Signature* signature) {
  *signature = {};
  while (!text.empty()) {
    const size_t end = text.find_first_of("\n;");
    const std::string why = parse_line(text.substr(0, end), signature);
    if (!why.empty()) return why;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return "";
}

void Infos::set(const std::vector<Port>& ports) {
  symbols_.clear();
  infos_.clear();
  for (const Port& port : ports) {
    std::vector<const char*>& symbols = symbols_.emplace_back();
    for (const std::string& symbol : port.symbols) symbols.push_back(symbol.c_str());
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const Port& port = ports[i];
    infos_.push_back({sizeof(xsp_tensor_info), port.name.c_str(), port.dtype,
                      static_cast<uint32_t>(port.dimensions.size()), port.dimensions.data(),
                      symbols_[i].data(), port.below});
  }
}

std::string mismatch(const Port& port, const xsp_tensor& tensor) {
  if (tensor.dtype != port.dtype) {
    return std::string("its type is ") + dtype_name(port.dtype) + ", not " +
           dtype_name(tensor.dtype);
  }
  if (tensor.rank != port.dimensions.size()) {
    return "it has " + std::to_string(port.dimensions.size()) + " dimensions, not " +
           std::to_string(tensor.rank);
  }
  size_t bytes = dtype_bytes(tensor.dtype);
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    const int64_t wanted = port.dimensions[d];
    const int64_t found = tensor.dimensions[d];
    if (found < 0 || (wanted >= 0 && found != wanted)) {
      return "dimension " + std::to_string(d) + " is " +
             (wanted >= 0 ? std::to_string(wanted) : "not negative") + ", not " +
             std::to_string(found);
    }
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(found), &bytes)) {
      return "its shape is impossible";
    }
  }
  return bytes == tensor.data_bytes ? "" : "its values are not as many as its shape says";
}

}  // namespace xsp::torch_adapter
