#include "desk/serve/api.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "desk/serve/http/routes.h"
#include "shared/base/guard.h"
#include "shared/base/text.h"

namespace xsp::serve {
namespace {

Answer refuse(int status, const std::string& text) {
  const nlohmann::json body{{"error", text}};
  return {status, body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), {}};
}

int status_of(Code code, bool has_body) {
  switch (code) {
    case Code::kCorrupt:
      return has_body ? 400 : 500;
    case Code::kUsage:
      return 400;
    case Code::kNotAvailable:
      return 404;
    case Code::kOutOfMemory:
      return has_body ? 413 : 503;
    case Code::kInterrupted:
      return 503;
    default:
      return 500;
  }
}

Answer run(const Route& route, const Context& context) {
  Answer answer;
  const auto thrown = guard([&] {
    const Result<nlohmann::json> result = route.handler(context);
    if (!result.ok()) {
      answer = refuse(status_of(result.error().code, !route.body.empty()), result.error().text);
      return;
    }
    answer.status = route.success;
    answer.body = result->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  });
  if (!thrown) return answer;
  return thrown->out_of_memory ? refuse(503, "answer: out of memory: ask for less")
                               : refuse(500, "answer: " + thrown->text);
}

// Returns a key that identifies the answer as long as its evaluations stay unchanged, or an empty
// one if the answer must not be kept.
std::string key_of(const Route& route, const Context& context) {
  if (route.method != "GET" || !route.is_kept) return {};
  // Compiled in, and independent of the query.
  if (route.pattern == "/catalogue" || route.pattern == "/openapi.json") {
    return std::string(route.pattern);
  }
  std::vector<std::string> ids = context.request.all("e");
  // The query names the evaluations of a comparison; its path has only the table's name.
  if (!route.pattern.starts_with("/compare/") && !context.parts.empty()) {
    ids.push_back(context.parts[0]);
  }
  if (ids.empty()) return {};
  // Parameters that the route does not know do not change its answer.
  std::string key(route.pattern);
  for (const std::string& part : context.parts) key += '/' + encode(part);
  for (const auto& [name, value] : context.request.query) {
    const bool is_known = std::any_of(route.parameters.begin(), route.parameters.end(),
                                      [&](const Parameter& one) { return one.name == name; });
    if (is_known || route.is_open_ended) key += '&' + encode(name) + '=' + encode(value);
  }
  for (const std::string& id : ids) {
    const std::string version = context.library.version(id);
    if (version.empty()) return {};
    key += "|" + version;
  }
  return key;
}

}  // namespace

// Counts what a kept answer takes: its body, both copies of its key, and the nodes of both
// containers.
size_t AnswerCache::bytes_of(const std::string& key, const Answer& answer) {
  constexpr size_t kNodes = 384;
  return kNodes + 2 * key.size() + answer.body.size();
}

size_t AnswerCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::optional<Answer> AnswerCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) return std::nullopt;
  used_.splice(used_.begin(), used_, found->second.used);
  return found->second.answer;
}

bool AnswerCache::claim(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return claimed_.insert(key).second;
}

void AnswerCache::wait(const std::string& key, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  released_.wait_for(lock, most, [&] { return claimed_.count(key) == 0; });
}

void AnswerCache::release(const std::string& key, Answer& answer) {
  const std::lock_guard lock(mutex_);
  claimed_.erase(key);
  released_.notify_all();
  if (answer.status != 200) return;
  char tag[20];
  std::snprintf(tag, sizeof tag, "%016zx", std::hash<std::string>()(answer.body));
  answer.tag = tag;
  if (answer.body.size() > kBytes / 8 || kept_.count(key) != 0) return;
  used_.push_front(key);
  kept_[key] = {answer, used_.begin()};
  bytes_ += bytes_of(key, answer);
  while (bytes_ > kBytes) {
    const auto oldest = kept_.find(used_.back());
    bytes_ -= bytes_of(oldest->first, oldest->second.answer);
    kept_.erase(oldest);
    used_.pop_back();
  }
}

Answer Api::find_or_run(const Route& route, const Context& context, const std::string& key) {
  if (key.empty()) return run(route, context);
  const auto until = std::chrono::steady_clock::now() + Library::kTurn;
  for (;;) {
    if (auto known = cache_.find(key)) return std::move(*known);
    if (cache_.claim(key)) break;
    // Concurrent requests for the same answer compute it once.
    const Library::Wait wait(services_.library);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !wait.ok()) {
      return refuse(503, "answer: it is being found for others: ask again later");
    }
    cache_.wait(key, left);
  }
  Answer answer = run(route, context);
  cache_.release(key, answer);
  return answer;
}

Api::Api(Services services, size_t row_limit)
    : services_(std::move(services)), row_limit_(row_limit) {
  for (const Route* route : all_routes()) {
    if (route->at_once > 0) turns_[route].free = route->at_once;
  }
}

Api::~Api() = default;

Asked Api::understand(std::string_view method, std::string_view target) {
  Asked asked;
  Result<Request> request = parse_request(target);
  if (!request.ok()) {
    asked.refusal = refuse(400, request.error().text);
    return asked;
  }
  asked.request = std::move(*request);
  std::string_view path = asked.request.path;
  asked.refusal = refuse(404, "path: unknown: see docs/http_api.md");
  if (!path.starts_with(kApiPrefix)) return asked;
  path.remove_prefix(kApiPrefix.size());
  for (const Route* route : all_routes()) {
    const auto parts = match(route->pattern, path);
    if (!parts) continue;
    if (route->method != method) {
      asked.allowed += (asked.allowed.empty() ? "" : ", ") + std::string(route->method);
      if (route->method == "GET") asked.allowed += ", HEAD";
      continue;
    }
    for (const std::string_view part : *parts) {
      auto decoded = decode(part);
      Status text = decoded.ok() ? require_text("address", *decoded) : Status(decoded.error());
      if (!text.ok()) {
        asked.refusal = refuse(400, text.error().text);
        return asked;
      }
      asked.parts.push_back(std::move(decoded).value());
    }
    asked.route = route;
    return asked;
  }
  if (!asked.allowed.empty()) {
    asked.refusal = refuse(405, "request: its method is not one of " + asked.allowed);
  }
  return asked;
}

Answer Api::run_bounded(const Route& route, const Context& context) {
  Turns& turns = turns_.at(&route);
  {
    std::unique_lock lock(turns.mutex);
    const auto is_free = [&] { return turns.free > 0; };
    if (!is_free()) {
      // A request with a body does not wait: its client's time to send it runs.
      const bool may_wait = route.body.empty();
      const Library::Wait wait(services_.library);
      if (!may_wait || !wait.ok() || !turns.freed.wait_for(lock, Library::kTurn, is_free)) {
        return refuse(429, "request: others are under way: ask later");
      }
    }
    --turns.free;
  }
  struct Turn {
    Turns& turns;
    ~Turn() {
      {
        const std::lock_guard lock(turns.mutex);
        ++turns.free;
      }
      turns.freed.notify_one();
    }
  } const turn{turns};
  return run(route, context);
}

Answer Api::answer(const Asked& asked, const Body* body) {
  if (asked.route == nullptr) return asked.refusal;
  const Route& route = *asked.route;
  const std::string_view why_off =
      route.why_off == nullptr ? std::string_view() : route.why_off(services_);
  if (!why_off.empty()) return refuse(403, std::string(why_off));
  const Context context{services_, services_.library, asked.request, asked.parts, row_limit_, body};
  if (route.at_once > 0) return run_bounded(route, context);
  return find_or_run(route, context, key_of(route, context));
}

}  // namespace xsp::serve
