#include "adapters/onnxruntime/profile.h"

#include <simdjson.h>

#include <charconv>
#include <utility>

#include "xsp/plugin.hpp"

namespace xsp::ort {
namespace {

namespace json = simdjson::ondemand;

constexpr std::string_view kNodeSuffix = "_kernel_time";

std::string_view text_of(simdjson::simdjson_result<std::string_view> result) {
  std::string_view text;
  return std::move(result).get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// Parses a number that the runtime writes as a string.
int64_t number_of(json::value value) {
  const std::string_view text = text_of(value.get_string());
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

void take_argument(std::string_view key, json::value value, NodeEvent* node) {
  if (key == "op_name") {
    node->op_type = text_of(value.get_string());
  } else if (key == "provider") {
    node->provider = text_of(value.get_string());
  } else if (key == "node_index") {
    node->node_index = text_of(value.get_string());
  } else if (key == "input_type_shape") {
    node->input_shapes = text_of(simdjson::to_json_string(value));
  } else if (key == "output_type_shape") {
    node->output_shapes = text_of(simdjson::to_json_string(value));
  } else if (key == "parameter_size") {
    node->parameter_bytes = number_of(value);
  } else if (key == "activation_size") {
    node->activation_bytes = number_of(value);
  } else if (key == "output_size") {
    node->output_bytes = number_of(value);
  } else if (key == "mem_requested_in_use_delta") {
    node->allocated_bytes = number_of(value);
  }
}

// Returns the kind of event of an object; kUnreadable if it is malformed.
ProfileReader::Event read_event(json::object object, NodeEvent* node) {
  std::string_view category;
  for (auto field : object) {
    std::string_view key;
    json::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS) {
      return ProfileReader::Event::kUnreadable;
    }
    uint64_t thread = 0;
    simdjson::error_code error = simdjson::SUCCESS;
    if (key == "cat") {
      error = value.get_string().get(category);
      if (category != "Node" && category != "Session") return ProfileReader::Event::kOther;
    } else if (key == "tid") {
      error = value.get_uint64().get(thread);
      node->thread = static_cast<uint32_t>(thread);
    } else if (key == "dur") {
      error = value.get_int64().get(node->duration_us);
    } else if (key == "ts") {
      error = value.get_int64().get(node->start_us);
    } else if (key == "name") {
      error = value.get_string().get(node->name);
    } else if (key == "args") {
      json::object arguments;
      error = value.get_object().get(arguments);
      if (error != simdjson::SUCCESS) return ProfileReader::Event::kUnreadable;
      for (auto argument : arguments) {
        std::string_view name;
        json::value content;
        if (argument.unescaped_key().get(name) != simdjson::SUCCESS ||
            argument.value().get(content) != simdjson::SUCCESS) {
          return ProfileReader::Event::kUnreadable;
        }
        take_argument(name, content, node);
      }
    }
    if (error != simdjson::SUCCESS) return ProfileReader::Event::kUnreadable;
  }
  if (category == "Session") {
    return node->name == "model_run" ? ProfileReader::Event::kRun : ProfileReader::Event::kOther;
  }
  // Older runtimes also write "..._fence_before" and "..._fence_after", which are no work.
  if (category != "Node" || node->name.size() <= kNodeSuffix.size() ||
      node->name.substr(node->name.size() - kNodeSuffix.size()) != kNodeSuffix) {
    return ProfileReader::Event::kOther;
  }
  node->name.remove_suffix(kNodeSuffix.size());
  return node->start_us >= 0 && node->duration_us >= 0 ? ProfileReader::Event::kNode
                                                       : ProfileReader::Event::kUnreadable;
}

}  // namespace

struct ProfileReader::Parser {
  json::parser parser;
  json::document document;
};

ProfileReader::ProfileReader(const std::string& path)
    : file_(path, std::ios::binary), parser_(std::make_unique<Parser>()) {}
ProfileReader::~ProfileReader() = default;

bool ProfileReader::parse() {
  const size_t size = line_.size();
  line_.reserve(size + simdjson::SIMDJSON_PADDING);
  auto result = parser_->parser.iterate(line_.data(), size, line_.capacity());
  return std::move(result).get(parser_->document) == simdjson::SUCCESS;
}

ProfileReader::Event ProfileReader::next(NodeEvent* node) {
  *node = {};
  do {
    if (!std::getline(file_, line_)) return Event::kEnd;
    while (!line_.empty() && (line_.back() == ',' || line_.back() == '\r')) line_.pop_back();
  } while (line_.empty() || line_ == "[" || line_ == "]");
  // Names may contain any bytes, but JSON is UTF-8.
  if (!parse() && (line_ = valid_utf8(line_), !parse())) return Event::kUnreadable;
  json::object object;
  if (parser_->document.get_object().get(object) != simdjson::SUCCESS) return Event::kUnreadable;
  return read_event(object, node);
}

}  // namespace xsp::ort
