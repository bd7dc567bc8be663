// Request: the parts of an address. The bytes are untrusted: every failure is an Error, and all
// sizes are bounded by the address's own length.
#ifndef XSP_DESK_SERVE_HTTP_REQUEST_H_
#define XSP_DESK_SERVE_HTTP_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/result.h"

namespace xsp::serve {

inline constexpr std::string_view kApiPrefix = "/api/v1";

struct Request {
  std::string path;                                        // not decoded: match() splits it first
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in the address's order

  // Returns the first value of that name, or nullptr.
  const std::string* find(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  // Returns an integer of the query, or `otherwise` if it is absent. Returns Code::kUsage if it is
  // no integer or out of range.
  Result<int64_t> integer(std::string_view name, int64_t otherwise, int64_t low,
                          int64_t high) const;
};

// Parses "/api/v1/evaluations/a%2Fb.xsp?run=3". Returns Code::kUsage if an escape is invalid.
Result<Request> parse_request(std::string_view target);

// Decodes "a%2Fb" to "a/b". Returns Code::kUsage if an escape is cut short or not hexadecimal.
Result<std::string> decode(std::string_view text);
std::string encode(std::string_view text);  // like JavaScript's encodeURIComponent

// Returns the path's parts at the places of the pattern's {}, not decoded, or nothing if the path
// does not match. {} matches one part that is not empty.
std::optional<std::vector<std::string_view>> match(std::string_view pattern, std::string_view path);

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_HTTP_REQUEST_H_
