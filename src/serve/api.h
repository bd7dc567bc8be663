// Api: what a request is answered with. No HTTP in it: the server sends the answers, a report
// records them.
//
// A request is a path below /api/v1 and a query. Routes are tables of patterns with handlers, one
// table for each area (routes.h); a new area is a file with a table of its own.
//
// Thread rule: any number of threads.
#ifndef XSP_SERVE_API_H_
#define XSP_SERVE_API_H_

#include <string>
#include <string_view>

#include "serve/library.h"
#include "serve/request.h"

namespace xsp::serve {

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

}  // namespace xsp::serve

#endif  // XSP_SERVE_API_H_
