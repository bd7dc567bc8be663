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

}  // namespace

Answer Api::answer(std::string_view target) {
  const Result<Request> request = parse_request(target);
  if (!request.ok()) return refuse(400, request.error().text);
  std::string_view path = request->path;
  if (!path.starts_with(kApiPrefix)) return refuse(404, "path: unknown: see docs/http_api.md");
  path.remove_prefix(kApiPrefix.size());
  for (const auto* routes : {&evaluation_routes(), &compare_routes()}) {
    for (const Route& route : *routes) {
      const auto parts = match(route.pattern, path);
      if (!parts) continue;
      Context context{library_, *request, {}, row_limit_};
      for (const std::string_view part : *parts) {
        auto decoded = decode(part);
        if (!decoded.ok()) return refuse(400, decoded.error().text);
        context.parts.push_back(std::move(decoded).value());
      }
      return run(route, context);
    }
  }
  return refuse(404, "path: unknown: see docs/http_api.md");
}

}  // namespace xsp::serve
