// Request: what stands in an address, taken apart. Foreign bytes: nothing here fails otherwise than
// by an Error, and everything is bounded by the address's own length.
#ifndef XSP_SERVE_REQUEST_H_
#define XSP_SERVE_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace xsp::serve {

inline constexpr std::string_view kApiPrefix = "/api/v1";

struct Request {
  std::string path;  // as it stands: its parts are decoded by who matches them
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in the address's order

  // The first value of that name, or nullptr.
  const std::string* find(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  // An integer of the query; `otherwise` if absent, Code::kUsage if it is none or out of range.
  Result<int64_t> integer(std::string_view name, int64_t otherwise, int64_t low,
                          int64_t high) const;
};

// "/api/v1/evaluations/a%2Fb.xsp?run=3". Code::kUsage where an escape is none.
Result<Request> parse_request(std::string_view target);

// "a%2Fb" -> "a/b". Code::kUsage where an escape is cut short or is no hexadecimal number.
Result<std::string> decode(std::string_view text);
std::string encode(std::string_view text);  // as JavaScript's encodeURIComponent

// The path's parts that the pattern's {} stand for, not decoded; nothing if it does not fit. {} is
// any one part that is not empty.
std::optional<std::vector<std::string_view>> match(std::string_view pattern, std::string_view path);

}  // namespace xsp::serve

#endif  // XSP_SERVE_REQUEST_H_
