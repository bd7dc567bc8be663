#include "serve/api.h"

#include <nlohmann/json.hpp>

#include "base/guard.h"
#include "serve/routes.h"

namespace xsp::serve {
namespace {

Answer refuse(int status, const std::string& text) {
  return {status, nlohmann::json{{"error", text}}.dump(-1, ' ', false,
                                                       nlohmann::json::error_handler_t::replace)};
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
  if (!thrown && answer.status == 500 && answer.body.find("INTERRUPT") != std::string::npos) {
    return refuse(503, "answer: it takes too long: ask for less, or use xsp analyze");
  }
  if (!thrown) return answer;
  return thrown->out_of_memory ? refuse(503, "answer: out of memory: ask for less")
                               : refuse(500, "answer: " + thrown->text);
}

// What tells this answer from others, as long as the evaluations that it is about stay as they are.
// Empty: it is not to be kept.
std::string key_of(std::string_view target, const Context& context) {
  std::vector<std::string> ids = context.request.all("e");
  // What a comparison is about, its query says; its path has the table's name.
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

std::optional<std::string> AnswerCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) return std::nullopt;
  used_.splice(used_.begin(), used_, found->second.used);
  return found->second.body;
}

void AnswerCache::keep(const std::string& key, const std::string& body) {
  if (body.size() > kBytes / 8) return;
  const std::lock_guard lock(mutex_);
  if (kept_.count(key) != 0) return;
  used_.push_front(key);
  kept_[key] = {body, used_.begin()};
  bytes_ += key.size() + body.size();
  while (bytes_ > kBytes) {
    const auto oldest = kept_.find(used_.back());
    bytes_ -= oldest->first.size() + oldest->second.body.size();
    kept_.erase(oldest);
    used_.pop_back();
  }
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
        context.parts.push_back(std::move(decoded).value());
      }
      const std::string key = key_of(target, context);
      if (!key.empty()) {
        if (auto known = cache_.find(key)) return {200, std::move(*known)};
      }
      Answer answer = run(route, context);
      if (!key.empty() && answer.status == 200) cache_.keep(key, answer.body);
      return answer;
    }
  }
  return refuse(404, "path: unknown: see docs/http_api.md");
}

}  // namespace xsp::serve
