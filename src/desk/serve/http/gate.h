// Gate: decides who may ask, and how often, and keeps the audit log.
//
// A request that writes needs a token, wherever it comes from; one that reads needs one if the
// server has a token of its own, which it has wherever other machines reach it. A token is the
// server's own, which may do everything, or one of the catalogue's, with a scope.
//
// Thread rule: any number of threads.
#ifndef XSP_DESK_SERVE_HTTP_GATE_H_
#define XSP_DESK_SERVE_HTTP_GATE_H_

#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "desk/catalogue/access.h"
#include "desk/serve/http/routes.h"
#include "desk/serve/pool.h"

namespace xsp::serve {

// Lets each key have `rate` requests in a second, and ten times as many at once after a rest.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double kBurst = 10;     // seconds
  static constexpr size_t kKeys = 10'000;  // that are remembered; the longest unseen is dropped
  explicit RateLimit(double rate) : rate_(rate) {}
  // Returns whether the key may spend as much now. A rate of 0 sets no limit.
  bool take(const std::string& key, double cost, Clock::time_point now);

 private:
  struct Bucket {
    double spent = 0;
    Clock::time_point at;
    std::list<std::string>::iterator used;
  };
  const double rate_;
  std::mutex mutex_;  // guards the following
  std::map<std::string, Bucket> buckets_;
  std::list<std::string> used_;  // keys, the latest first
};

class Gate {
 public:
  using Access = catalogue::Access;
  // `token` is the server's own; empty: it has none. `rate` is in requests per second.
  Gate(std::string token, Pool<Access>* access, double rate)
      : token_(std::move(token)), access_(access), limit_(rate) {}

  struct Caller {
    std::string id;    // of the token; empty: none that is known
    std::string name;  // of the token
    std::string address;
  };
  struct Decision {
    int status = 0;  // 0: the request is admitted
    std::string text;
    Caller caller;
  };
  // `authorization` is the header of that name.
  Decision admit(const Route& route, std::string_view authorization, const std::string& address);
  // For addresses that are no route's: no scope, but the same limit and the server's own rule.
  Decision admit_unknown(std::string_view authorization, const std::string& address);

  // Notes that the request begins. Returns the entry's key, or nothing if nothing is logged. A
  // request whose begin cannot be noted must not write.
  Result<std::string> note_begin(const Caller& caller, std::string_view method,
                                 const std::string& path);
  void note_end(const std::string& key, int status);

 private:
  Decision decide(catalogue::Scope scope, bool is_free, std::string_view authorization,
                  const std::string& address, double cost);

  const std::string token_;
  Pool<Access>* const access_;
  RateLimit limit_;
};

// Returns whether a request of this route is noted in the audit log.
bool is_audited(const Route& route);

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_HTTP_GATE_H_
