// The OpenAPI 3.1 document of the API, made from the routes that dispatch its requests.
#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

// Returns "/evaluations/{evaluation}" for "/evaluations/{}".
std::string path_of(const Route& route) {
  std::string path;
  size_t number = 0;
  for (size_t i = 0; i < route.pattern.size(); ++i) {
    path += route.pattern[i];
    if (route.pattern[i] == '{') path += route.parameters[number++].name;
  }
  return path;
}

size_t parts_of(const Route& route) {
  size_t parts = 0;
  for (const char c : route.pattern) parts += c == '{';
  return parts;
}

json parameters_of(const Route& route) {
  json all = json::array();
  const size_t parts = parts_of(route);
  for (size_t i = 0; i < route.parameters.size(); ++i) {
    const Parameter& one = route.parameters[i];
    all.push_back({{"name", one.name},
                   {"in", i < parts ? "path" : "query"},
                   {"description", one.description},
                   {"required", i < parts || one.is_required},
                   {"schema", {{"type", one.type}}}});
  }
  if (route.is_open_ended) {
    all.push_back({{"name", "parameters"},
                   {"in", "query"},
                   {"description", "the analysis's own parameters, by their names"},
                   {"required", false},
                   {"style", "form"},
                   {"explode", true},
                   {"schema", {{"type", "object"}}}});
  }
  return all;
}

json content_of(json schema) { return {{"application/json", {{"schema", std::move(schema)}}}}; }

json operation_of(const Route& route) {
  json operation = {
      {"summary", route.summary},
      {"description", "A token needs the scope " + std::string(catalogue::name_of(route.scope)) +
                          " or one that includes it."},
      {"parameters", parameters_of(route)},
      {"responses",
       {{std::to_string(route.success),
         {{"description", "The answer."}, {"content", content_of(json::parse(route.answer))}}},
        {"default",
         {{"description", "An error; its text says what is wrong and what to do."},
          {"content", content_of({{"$ref", "#/components/schemas/Error"}})}}}}},
      {"security", json::array({{{"token", json::array()}}})},
  };
  // A reader on the server's own machine needs no token.
  if (route.method == "GET" && route.scope == catalogue::Scope::kRead) {
    operation["security"].push_back(json::object());
  }
  if (!route.body.empty()) {
    operation["requestBody"] = {{"required", true},
                                {"content", {{std::string(route.body), json::object()}}}};
  }
  return operation;
}

std::string lower(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(c | 0x20);
  return text;
}

Result<json> get_document(const Context&) {
  json paths = json::object();
  for (const Route* route : all_routes()) {
    paths[path_of(*route)][lower(route->method)] = operation_of(*route);
  }
  return json{
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "xsp"},
        {"version", "1"},
        {"description", "Evaluations of models, the catalogue of many, and models that answer."}}},
      {"servers", json::array({{{"url", kApiPrefix}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
        {"schemas",
         {{"Error",
           {{"type", "object"},
            {"required", json::array({"error"})},
            {"additionalProperties", false},
            {"properties", {{"error", {{"type", "string"}, {"minLength", 1}}}}}}}}}}},
  };
}

}  // namespace

const std::vector<Route>& document_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/openapi.json",
       .scope = catalogue::Scope::kRead,
       .handler = get_document,
       .summary = "This document: the API in OpenAPI 3.1.",
       .parameters = {},
       .answer = R"({"type": "object", "required": ["openapi", "info", "paths"]})"},
  };
  return routes;
}

}  // namespace xsp::serve
