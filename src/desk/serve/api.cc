#include "desk/serve/api.h"

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

int status_of(Code code) {
  switch (code) {
    case Code::kUsage:
      return 400;
    case Code::kNotAvailable:
      return 404;
    case Code::kOutOfMemory:
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
      answer = refuse(status_of(result.error().code), result.error().text);
      return;
    }
    answer.body = result->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  });
  if (!thrown) return answer;
  return thrown->out_of_memory ? refuse(503, "answer: out of memory: ask for less")
                               : refuse(500, "answer: " + thrown->text);
}

// Returns a key that identifies the answer as long as its evaluations stay unchanged, or an empty
// one if the answer must not be kept.
std::string key_of(std::string_view target, const Context& context) {
  // The catalogue is compiled in and does not depend on the query.
  if (context.request.path == std::string(kApiPrefix) + "/catalogue") return "catalogue";
  std::vector<std::string> ids = context.request.all("e");
  // The query names the evaluations of a comparison; its path has only the table's name.
  const bool is_comparison =
      context.request.path.starts_with(std::string(kApiPrefix) + "/compare/");
  if (!is_comparison && !context.parts.empty()) ids.push_back(context.parts[0]);
  if (ids.empty()) return {};
  std::string key(target);
  for (const std::string& id : ids) {
    const std::string version = context.library.version(id);
    if (version.empty()) return {};
    key += "|" + version;
  }
  return key;
}

}  // namespace

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
  bytes_ += key.size() + answer.body.size();
  while (bytes_ > kBytes) {
    const auto oldest = kept_.find(used_.back());
    bytes_ -= oldest->first.size() + oldest->second.answer.body.size();
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
    const Library::Wait wait(library_);
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

Answer Api::answer(std::string_view target) {
  const Result<Request> request = parse_request(target);
  if (!request.ok()) return refuse(400, request.error().text);
  std::string_view path = request->path;
  if (!path.starts_with(kApiPrefix)) return refuse(404, "path: unknown: see docs/http_api.md");
  path.remove_prefix(kApiPrefix.size());
  for (const auto* routes : {&evaluation_routes(), &compare_routes(), &timeline_routes()}) {
    for (const Route& route : *routes) {
      const auto parts = match(route.pattern, path);
      if (!parts) continue;
      Context context{library_, *request, {}, row_limit_};
      for (const std::string_view part : *parts) {
        auto decoded = decode(part);
        if (!decoded.ok()) return refuse(400, decoded.error().text);
        const Status text = require_text("address", *decoded);
        if (!text.ok()) return refuse(400, text.error().text);
        context.parts.push_back(std::move(decoded).value());
      }
      return find_or_run(route, context, key_of(target, context));
    }
  }
  return refuse(404, "path: unknown: see docs/http_api.md");
}

}  // namespace xsp::serve
