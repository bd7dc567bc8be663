#include "serve/server.h"

#include <httplib.h>

#include <utility>

#include "serve/api.h"
#include "serve/page.h"

namespace xsp::serve {

struct Server::State {
  State(Library& library, ServerOptions given) : api(library), options(std::move(given)) {}

  Api api;
  ServerOptions options;
  httplib::Server http;
};

Server::Server(Library& library, ServerOptions options)
    : state_(std::make_unique<State>(library, std::move(options))) {
  httplib::Server& http = state_->http;
  http.Get("/", [this](const httplib::Request&, httplib::Response& response) {
    const std::string& page = state_->options.page;
    response.set_content(page.empty() ? std::string(embedded_page()) : page,
                         "text/html; charset=utf-8");
  });
  http.Get("/api/.*", [this](const httplib::Request& request, httplib::Response& response) {
    Answer answer = state_->api.answer(request.target);
    response.status = answer.status;
    response.set_content(std::move(answer.body), "application/json");
  });
}

Server::~Server() = default;

Result<std::string> Server::listen() {
  const ServerOptions& options = state_->options;
  int port = options.port;
  if (port == 0) {
    port = state_->http.bind_to_any_port(options.host);
  } else if (!state_->http.bind_to_port(options.host, port)) {
    port = -1;
  }
  const std::string place = options.host + ":" + std::to_string(options.port);
  if (port < 0) return failed(place + ": cannot listen there: choose another with --listen");
  return "http://" + options.host + ":" + std::to_string(port) + "/";
}

Status Server::run() {
  if (!state_->http.listen_after_bind()) return failed("server: it stopped listening");
  return Ok{};
}

void Server::stop() { state_->http.stop(); }

}  // namespace xsp::serve
