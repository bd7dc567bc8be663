#include "adapters/onnxruntime/text.h"

#include <cctype>

#include "xsp/adapter.hpp"

namespace xsp::ort {
namespace {

constexpr size_t kMessageMax = 300;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// text[at...] may be the number of a line and a function's signature, as in
//   ":181 onnxruntime::Model::Model(onnx::ModelProto&&, const Path&) message", or ":181 f message"
// Returns where the message begins.
size_t after_location(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ':' || is_digit(text[at]))) ++at;
  while (at < text.size() && text[at] == ' ') ++at;
  // A signature has a parenthesis before the next sentence; a plain name has none before its space.
  int depth = 0;
  bool has_parentheses = false;
  for (size_t i = at; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '<' ? 1 : text[i] == ')' || text[i] == '>' ? -1 : 0;
    has_parentheses |= text[i] == '(';
    if (text[i] != ' ' || depth > 0) continue;
    if (has_parentheses) return i + 1;
    // In "static onnxruntime::Status f(...)", the words of the signature contain "::" or are
    // qualifiers.
    const std::string_view word = text.substr(at, i - at);
    if (word.find("::") == std::string_view::npos && word != "static" && word != "virtual" &&
        word != "void" && word != "bool" && word != "const") {
      return i + 1;
    }
  }
  return at;
}

}  // namespace

std::string condensed(std::string_view message) {
  std::string text = one_line(message, message.size());
  // Matches ".../core/graph/model.cc:181 signature message".
  for (const std::string_view extension : {".cc:", ".h:"}) {
    for (size_t at = text.find(extension); at != std::string::npos; at = text.find(extension)) {
      const size_t begin = text.rfind(' ', at);
      const size_t from = begin == std::string::npos ? 0 : begin + 1;
      text.erase(from, after_location(text, at + extension.size() - 1) - from);
    }
  }
  // Matches "onnxruntime::Arena::Allocate(size_t, bool) message".
  for (size_t at = text.find("onnxruntime::"); at != std::string::npos;
       at = text.find("onnxruntime::", at)) {
    const size_t end = text.find_first_of(" (", at);
    if (end == std::string::npos || text[end] != '(') {
      at += 1;
      continue;
    }
    text.erase(at, after_location(text, at) - at);
  }
  return one_line(text, kMessageMax);
}

}  // namespace xsp::ort
