// Api: computes the answers to requests. It knows no HTTP: the server sends the answers, and a
// report records them.
//
// A request is a path below /api/v1 and a query. Routes are tables of patterns with handlers, one
// table for each area (routes.h). A new area is a new file with its own table.
//
// Thread rule: any number of threads.
#ifndef XSP_DESK_SERVE_API_H_
#define XSP_DESK_SERVE_API_H_

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "desk/serve/http/request.h"
#include "desk/serve/library.h"

namespace xsp::serve {

struct Answer {
  int status = 200;
  std::string body;  // JSON
  std::string tag;   // identifies this body; empty: the answer was not kept
};

// Keeps recent answers until their evaluations change. Any number of threads.
class AnswerCache {
 public:
  static constexpr size_t kBytes = 64 << 20;

  std::optional<Answer> find(const std::string& key);
  // Returns true if the caller has to compute the answer and then call release(). Otherwise another
  // thread is computing it: after wait() the answer is kept, or the key is free to claim.
  bool claim(const std::string& key);
  void wait(const std::string& key, std::chrono::milliseconds most);
  // Ends the claim, and keeps the answer if it is a success.
  void release(const std::string& key, Answer& answer);

 private:
  struct Kept {
    Answer answer;
    std::list<std::string>::iterator used;
  };
  std::mutex mutex_;
  std::set<std::string> claimed_;
  std::condition_variable released_;
  std::map<std::string, Kept> kept_;
  std::list<std::string> used_;  // keys, the latest first
  size_t bytes_ = 0;
};

struct Context;
struct Route;

class Api {
 public:
  static constexpr size_t kRows = 100'000;

  // `row_limit` is the largest number of rows of one answer.
  explicit Api(Library& library, size_t row_limit = kRows)
      : library_(library), row_limit_(row_limit) {}
  // `target` is a request as it appears in an address: "/api/v1/evaluations/a%2Fb.xsp?run=3".
  Answer answer(std::string_view target);

 private:
  Answer find_or_run(const Route& route, const Context& context, const std::string& key);

  Library& library_;
  size_t row_limit_;
  AnswerCache cache_;
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_API_H_
