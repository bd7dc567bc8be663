// Api: what a request is answered with. No HTTP in it: the server sends the answers, a report
// records them.
//
// A request is a path below /api/v1 and a query. Routes are tables of patterns with handlers, one
// table for each area (routes.h); a new area is a file with a table of its own.
//
// Thread rule: any number of threads.
#ifndef XSP_SERVE_API_H_
#define XSP_SERVE_API_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "serve/library.h"

namespace xsp::serve {

inline constexpr std::string_view kApiPrefix = "/api/v1";

struct Request {
  std::string path;                                        // decoded where nothing follows from '/'
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in the request's order

  // The first value of that name, or nullptr.
  const std::string* find(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  // An integer of the query; `otherwise` if absent, Code::kUsage if it is none or out of range.
  Result<int64_t> integer(std::string_view name, int64_t otherwise, int64_t low,
                          int64_t high) const;
};

struct Answer {
  int status = 200;
  std::string body;  // JSON
};

class Api {
 public:
  static constexpr size_t kRows = 100'000;

  // `row_limit`: rows of one answer.
  explicit Api(Library& library, size_t row_limit = kRows)
      : library_(library), row_limit_(row_limit) {}
  // `target` is a request as it stands in an address: "/api/v1/evaluations/a%2Fb.xsp?run=3".
  Answer answer(std::string_view target);

 private:
  Library& library_;
  size_t row_limit_;
};

// "a%2Fb" -> "a/b"; nothing where an escape is cut short or is no hexadecimal number.
Result<std::string> decode(std::string_view text);
std::string encode(std::string_view text);  // as JavaScript's encodeURIComponent

}  // namespace xsp::serve

#endif  // XSP_SERVE_API_H_
