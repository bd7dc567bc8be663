// Api: computes the answers to requests. It knows no HTTP: the server sends the answers, and a
// report records them.
//
// A request is a method, a path below /api/v1 and a query. Routes are tables of patterns with
// handlers, one table for each area (routes.h). A new area is a new file with its own table.
//
// Thread rule: any number of threads.
#ifndef XSP_DESK_SERVE_API_H_
#define XSP_DESK_SERVE_API_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "desk/serve/http/request.h"
#include "desk/serve/library.h"
#include "desk/serve/services.h"

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
  // Returns the bytes that all kept answers take; at most kBytes.
  size_t bytes() const;

 private:
  struct Kept {
    Answer answer;
    std::list<std::string>::iterator used;
  };
  static size_t bytes_of(const std::string& key, const Answer& answer);

  mutable std::mutex mutex_;
  std::set<std::string> claimed_;
  std::condition_variable released_;
  std::map<std::string, Kept> kept_;
  std::list<std::string> used_;  // keys, the latest first
  size_t bytes_ = 0;
};

struct Context;
struct Route;
using Take = std::function<Status(std::string_view bytes)>;
using Body = std::function<Status(const Take& take)>;

// A request that was understood. Without a route it is refused.
struct Asked {
  const Route* route = nullptr;
  Request request;
  std::vector<std::string> parts;  // of the path, for the pattern's {}, decoded
  Answer refusal;
  std::string allowed;  // the methods of this path, if there are others
};

class Api {
 public:
  static constexpr size_t kRows = 100'000;

  // `row_limit` is the largest number of rows of one answer. Without further services, there are
  // evaluations only.
  explicit Api(Library& library, size_t row_limit = kRows)
      : Api(Services{.library = library, .predict = {}, .models = {}}, row_limit) {}
  explicit Api(Services services, size_t row_limit = kRows);
  ~Api();

  // `target` is a request as it appears in an address: "/api/v1/evaluations/a%2Fb.xsp?run=3".
  static Asked understand(std::string_view method, std::string_view target);
  // `body` is that of a route that takes one.
  Answer answer(const Asked& asked, const Body* body = nullptr);
  // Answers a GET.
  Answer answer(std::string_view target) { return answer(understand("GET", target)); }
  const Services& services() const { return services_; }
  AnswerCache& cache() { return cache_; }

 private:
  Answer find_or_run(const Route& route, const Context& context, const std::string& key);
  Answer run_bounded(const Route& route, const Context& context);

  Services services_;
  size_t row_limit_;
  AnswerCache cache_;
  // Represents the requests of a route that are answered at a time. Further ones wait for a turn,
  // or are refused if they have a body.
  struct Turns {
    std::mutex mutex;
    std::condition_variable freed;
    int free = 0;
  };
  std::map<const Route*, Turns> turns_;  // of routes whose number at once is bounded
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_API_H_
