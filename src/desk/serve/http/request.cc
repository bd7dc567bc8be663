#include "desk/serve/http/request.h"

#include <algorithm>
#include <charconv>

#include "shared/base/text.h"

namespace xsp::serve {

std::optional<std::vector<std::string_view>> match(std::string_view pattern,
                                                   std::string_view path) {
  std::vector<std::string_view> parts;
  while (!pattern.empty() || !path.empty()) {
    if (pattern.empty() || path.empty() || pattern[0] != '/' || path[0] != '/') return {};
    const auto next = [](std::string_view& text) {
      const std::string_view part = text.substr(1, text.find('/', 1) - 1);
      text.remove_prefix(part.size() + 1);
      return part;
    };
    const std::string_view wanted = next(pattern);
    const std::string_view given = next(path);
    if (wanted == "{}" ? given.empty() : wanted != given) return {};
    if (wanted == "{}") parts.push_back(given);
  }
  return parts;
}

namespace {

// Decodes a name or a value of a query, where + is a space: forms and most programs write it so.
Result<std::string> decode_query(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return decode(spaced);
}

}  // namespace

Result<Request> parse_request(std::string_view target) {
  Request request;
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equal = pair.find('=');
    XSP_TRY(std::string name, decode_query(pair.substr(0, equal)));
    XSP_TRY(std::string value,
            decode_query(equal == std::string_view::npos ? "" : pair.substr(equal + 1)));
    XSP_CHECK_OK(require_text("parameter", name));
    XSP_CHECK_OK(require_text("parameter " + name, value));
    request.query.emplace_back(std::move(name), std::move(value));
  }
  return request;
}

const std::string* Request::find(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<std::string> Request::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : query) {
    if (key == name) values.push_back(value);
  }
  return values;
}

Result<int64_t> Request::integer(std::string_view name, int64_t otherwise, int64_t low,
                                 int64_t high) const {
  const std::string* text = find(name);
  if (text == nullptr) return otherwise;
  int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < low || number > high) {
    return usage(std::string(name) + " '" + *text + "': not an integer from " +
                 std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

Result<std::string> decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) {
      return usage("address: an escape is cut short: write %25 for a percent sign");
    }
    unsigned byte = 0;
    const char* begin = text.data() + i + 1;
    const auto [stop, error] = std::from_chars(begin, begin + 2, byte, 16);
    if (error != std::errc() || stop != begin + 2) {
      return usage("address: an escape is no hexadecimal number: write %25 for a percent sign");
    }
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

std::string encode(std::string_view text) {
  constexpr std::string_view kPlain = "-_.!~*'()";
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain) {
      encoded += c;
    } else {
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return encoded;
}

}  // namespace xsp::serve
