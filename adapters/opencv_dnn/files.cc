#include "adapters/opencv_dnn/files.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>

namespace xsp::opencv_dnn {
namespace {

namespace fs = std::filesystem;

// Describes formats of two files: either may be named; the other is beside it.
struct Pair {
  Format format;
  const char* description;
  const char* weights;
};
constexpr Pair kPairs[] = {
    {Format::kCaffe, ".prototxt", ".caffemodel"},
    {Format::kDarknet, ".cfg", ".weights"},
};

Files find_pair(const Pair& pair, const std::string& path, const std::string& other,
                std::string* why) {
  const bool is_description = fs::path(path).extension() == pair.description;
  const char* ending = is_description ? pair.weights : pair.description;
  const std::string second =
      other.empty() ? fs::path(path).replace_extension(ending).string() : other;
  std::error_code error;
  if (!fs::is_regular_file(second, error)) {
    *why = path + ": " + (other.empty() ? "beside it there is no " : "there is no ") +
           fs::path(second).filename().string() + ": name its " +
           (is_description ? "weights" : "description") + " with --option " +
           (is_description ? "weights" : "config") + "=FILE";
  }
  return is_description ? Files{pair.format, path, second} : Files{pair.format, second, path};
}

// Splits protocol buffers' text format into words, texts and braces.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  // Returns an empty text at the end.
  std::string_view next() {
    skip_blanks();
    const size_t begin = at_;
    if (begin == text_.size()) return {};
    const char first = text_[at_++];
    if (first == '"' || first == '\'') {
      while (at_ < text_.size() && text_[at_] != first) at_ += text_[at_] == '\\' ? 2 : 1;
      at_ = std::min(at_ + 1, text_.size());
    } else if (is_word(first)) {
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
           c == '+';
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ',' || c == ';') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string unquoted(std::string_view token) {
  const bool is_quoted = token.size() >= 2 && (token.front() == '"' || token.front() == '\'');
  return std::string(is_quoted ? token.substr(1, token.size() - 2) : token);
}

}  // namespace

Files find_files(const std::string& path, const std::string& other, std::string* why) {
  const std::string ending = fs::path(path).extension();
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    *why = path + ": there is no such file: name a model's file";
    return {};
  }
  for (const Pair& pair : kPairs) {
    if (ending == pair.description || ending == pair.weights)
      return find_pair(pair, path, other, why);
  }
  if (ending == ".t7" || ending == ".net") return {Format::kTorch, "", path};
  if (ending == ".pb") return {Format::kTensorflow, other, path};
  if (ending == ".onnx") return {Format::kOnnx, "", path};
  *why = path + ": the ending '" + ending +
         "' is not that of a model of OpenCV: give a .prototxt, .caffemodel, .cfg, .weights, .t7, "
         ".net, .pb or .onnx";
  return {};
}

std::vector<std::string> caffe_input_names(std::string_view prototxt) {
  Tokens tokens(prototxt);
  std::vector<std::string> fields;  // inputs of the network, in the older style
  std::vector<std::string> layers;  // layers of the type Input
  std::vector<std::string> tops;    // outputs of the layer that is being read
  bool is_input = false;            // its type is Input
  int depth = 0;
  std::string key;
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == ":") continue;
    if (token == "{") {
      ++depth;
      key.clear();
    } else if (token == "}") {
      if (--depth == 0) {
        if (is_input) layers.insert(layers.end(), tops.begin(), tops.end());
        tops.clear();
        is_input = false;
      }
      key.clear();
    } else if (key.empty()) {
      key = token;
    } else {
      const std::string value = unquoted(token);
      if (depth == 0 && key == "input") fields.push_back(value);
      if (depth == 1 && key == "top") tops.push_back(value);
      if (depth == 1 && key == "type") is_input = value == "Input";
      key.clear();
    }
  }
  fields.insert(fields.end(), layers.begin(), layers.end());
  return fields;
}

}  // namespace xsp::opencv_dnn
