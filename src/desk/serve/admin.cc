// Tokens and the audit log, for those whose token has the scope admin.
#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using catalogue::Access;
using nlohmann::json;

constexpr int64_t kEntriesDefault = 1000;
constexpr int64_t kEntriesMax = 10'000;

std::string_view why_no_admin(const Services& services) {
  return services.access != nullptr ? std::string_view()
                                    : "catalogue: none is served: start xsp serve with --catalogue";
}

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

Result<json> get_tokens(const Context& context) {
  return context.services.access->use<json>([](Access& access) -> Result<json> {
    XSP_TRY(const std::vector<catalogue::Token> all, access.tokens());
    json tokens = json::array();
    for (const catalogue::Token& one : all) {
      tokens.push_back({{"id", one.id},
                        {"name", one.name},
                        {"scope", catalogue::name_of(one.scope)},
                        {"created_at", one.created_at},
                        {"revoked_at", text_or_null(one.revoked_at)}});
    }
    return json{{"tokens", std::move(tokens)}};
  });
}

Result<json> delete_token(const Context& context) {
  return context.services.access->use<json>([&](Access& access) -> Result<json> {
    const Status done = access.revoke(context.parts[0]);
    if (done.ok()) return json::object();
    // The name is in the path, and one that is not there is an address that leads nowhere.
    if (done.error().code == Code::kUsage) return not_available(done.error().text);
    return done.error();
  });
}

Result<json> get_audit(const Context& context) {
  XSP_TRY(const int64_t limit, context.request.integer("limit", kEntriesDefault, 0, kEntriesMax));
  return context.services.access->use<json>([&](Access& access) -> Result<json> {
    XSP_TRY(const std::vector<catalogue::Audited> log, access.audited(static_cast<size_t>(limit)));
    json entries = json::array();
    for (const catalogue::Audited& one : log) {
      entries.push_back({{"at", one.at},
                         {"token", text_or_null(one.token)},
                         {"name", text_or_null(one.name)},
                         {"address", one.address},
                         {"method", one.method},
                         {"path", one.path},
                         {"status", one.status}});
    }
    return json{{"entries", std::move(entries)}};
  });
}

}  // namespace

const std::vector<Route>& admin_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/tokens",
       .scope = catalogue::Scope::kAdmin,
       .handler = get_tokens,
       .summary = "The tokens, without their secrets, also revoked ones.",
       .parameters = {},
       .answer = R"({
         "type": "object", "required": ["tokens"], "additionalProperties": false,
         "properties": {"tokens": {"type": "array", "items": {
           "type": "object", "additionalProperties": false,
           "required": ["id", "name", "scope", "created_at", "revoked_at"],
           "properties": {
             "id": {"type": "string"}, "name": {"type": "string"},
             "scope": {"enum": ["read", "run", "admin"]}, "created_at": {"type": "string"},
             "revoked_at": {"type": ["null", "string"]}}}}}})",
       .why_off = why_no_admin},
      {.method = "DELETE",
       .pattern = "/tokens/{}",
       .scope = catalogue::Scope::kAdmin,
       .handler = delete_token,
       .summary = "Revokes a token.",
       .parameters = {{"token", "the token's name or id"}},
       .answer = kObjectSchema,
       .why_off = why_no_admin},
      {.method = "GET",
       .pattern = "/audit",
       .scope = catalogue::Scope::kAdmin,
       .handler = get_audit,
       .summary = "Who wrote, and who was refused for want of a token; the newest first.",
       .parameters = {{"limit", "the most entries: 1,000, and at most 10,000", "integer"}},
       .answer = R"({
         "type": "object", "required": ["entries"], "additionalProperties": false,
         "properties": {"entries": {"type": "array", "items": {
           "type": "object", "additionalProperties": false,
           "required": ["at", "token", "name", "address", "method", "path", "status"],
           "properties": {
             "at": {"type": "string"}, "token": {"type": ["null", "string"]},
             "name": {"type": ["null", "string"]}, "address": {"type": "string"},
             "method": {"type": "string"}, "path": {"type": "string"},
             "status": {"type": "integer"}}}}}})",
       .why_off = why_no_admin},
  };
  return routes;
}

}  // namespace xsp::serve
