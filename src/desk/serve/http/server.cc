#include "desk/serve/http/server.h"

#define CPPHTTPLIB_ZLIB_SUPPORT
#define CPPHTTPLIB_USE_POLL
#define CPPHTTPLIB_LISTEN_BACKLOG 512
#include <arpa/inet.h>
#include <httplib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "desk/serve/api.h"
#include "desk/serve/http/gate.h"
#include "desk/serve/http/routes.h"
#include "desk/serve/page.h"
#include "shared/base/guard.h"

namespace xsp::serve {
namespace {

constexpr size_t kCatalogues = 4;  // connections to the catalogue for reading
constexpr size_t kAccesses = 4;    // and for tokens and the audit log
constexpr std::chrono::seconds kQuery{60};

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

void refuse(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(nlohmann::json{{"error", text}}.dump(
                           -1, ' ', false, nlohmann::json::error_handler_t::replace),
                       "application/json");
}

// Returns "localhost" for "localhost:7777", and "::1" for "[::1]:7777".
std::string_view name_of_host(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

const char* text_of_status(int status) {
  switch (status) {
    case 404:
      return "path: unknown: see docs/http_api.md";
    case 413:
      return "request: its body is too large";
    case 414:
      return "request: its address is too long";
    default:
      return "request: it cannot be understood";
  }
}

}  // namespace

bool is_loopback(std::string_view host) {
  in_addr v4{};
  in6_addr v6{};
  const std::string text(host);
  // The first number means the network only in an address: 127.evil.example is an ordinary name.
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
  return host == "localhost";
}

Result<std::string> make_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    return failed("token: the system gives no random numbers: name one with --token-file");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

namespace {

// Explains why listening there fails, and names the remedy. It tries again, because the library
// does not report the reason.
std::string why_not(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) return std::string(gai_strerror(code)) + ": give an address of this machine";
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const int trial = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(trial, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool is_free = ::bind(trial, found->ai_addr, found->ai_addrlen) == 0;
  const int reason = is_free ? EADDRINUSE : errno;
  ::close(trial);
  switch (reason) {
    case EADDRINUSE:
      return "the port is in use: choose another with --listen, or port 0 for any that is free";
    case EADDRNOTAVAIL:
      return "no address of this machine: give one, such as 127.0.0.1 or 0.0.0.0";
    case EACCES:
      return "a port below 1024 is not yours: choose another with --listen";
    default:
      return std::string(std::strerror(reason)) + ": choose another with --listen";
  }
}

// Represents a request as the HTTP library reads it; it also receives the answer.
class RequestStream final : public httplib::Stream {
 public:
  explicit RequestStream(Exchange& exchange) : exchange_(exchange) {}
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override { return exchange_.read(to, size); }
  ssize_t write(const char* bytes, size_t size) override {
    exchange_.write({bytes, size});
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  Exchange& exchange_;
};

// Requests of the API have this path for the library, which matches the path with a regular
// expression: its matcher takes 300 bytes of the thread's stack for each byte of a path, and a
// thread keeps the stack that it once had. The target has the whole path.
constexpr const char* kAnyOfApi = "/api/";

// Returns the path of a request, for a person.
std::string path_of(const httplib::Request& request) {
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  const auto decoded = decode(path);
  return decoded.ok() ? *decoded : std::string(path);
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") ||
         (request.has_header("Content-Length") &&
          request.get_header_value("Content-Length") != "0");
}

// The library parses requests and writes answers. Its own socket threads are not used, because a
// thread that waits for its client would be lost to others.
class HttpServer final : public httplib::Server {
 public:
  int listener() const { return svr_sock_; }
  // Returns true if the connection may be used again.
  bool answer(Exchange& exchange) {
    RequestStream stream(exchange);
    bool is_last = false;
    bool is_whole = false;
    const bool is_answered = process_request(
        stream, exchange.address(), 0, "", 0, false, is_last, [&](httplib::Request& request) {
          request.ranges.clear();
          if (request.path.starts_with(kAnyOfApi)) request.path = kAnyOfApi;
          is_whole = request.method == "GET" && !has_body(request);
          if (is_whole) return;
          // If the body was not read completely, the bytes that follow are not a request.
          request.headers.erase("Connection");
          request.set_header("Connection", "close");
          if (request.method == "POST") exchange.expect_body();
        });
    return is_answered && is_whole && !is_last;
  }
};

}  // namespace

struct Server::State {
  State(Library& given_library, ServerOptions given)
      : library(given_library),
        options(std::move(given)),
        catalogue(
            [place = options.catalogue] { return catalogue::Catalogue::open_for_reading(place); },
            kCatalogues),
        access([place = options.catalogue] { return catalogue::Access::open(place, 0); },
               kAccesses),
        gate(options.token, options.catalogue.empty() ? nullptr : &access, options.rate),
        api(services()),
        connections(options.limits, [this](Exchange& exchange) { return http.answer(exchange); }) {}

  Services services() {
    Services all{
        .library = library, .predict = options.predict, .systems = options.systems, .models = {}};
    all.models = options.models;
    all.sweeps = options.sweeps;
    all.has_queries = true;
    all.has_notes = options.notes;
    all.max_upload_bytes = options.max_upload_bytes;
    all.has_tokens = !options.token.empty() || !options.catalogue.empty();
    if (!options.catalogue.empty()) {
      all.catalogue = &catalogue;
      all.access = &access;
    }
    return all;
  }

  // Runs before any other check, and before the body is read: a body that no route takes would be
  // read into memory.
  bool is_refused(const httplib::Request& request, httplib::Response& response) const;
  // Answers a request of the API. `reader` is null if it has no body.
  void answer(const httplib::Request& request, httplib::Response& response,
              const httplib::ContentReader* reader);
  bool is_admitted(const httplib::Request& request, httplib::Response& response, const Asked& asked,
                   std::string* audited);
  void send(const httplib::Request& request, httplib::Response& response, Answer answer) const;

  Library& library;
  ServerOptions options;
  Pool<catalogue::Catalogue> catalogue;
  Pool<catalogue::Access> access;
  Gate gate;
  Api api;
  HttpServer http;
  Connections connections;
};

bool Server::State::is_refused(const httplib::Request& request, httplib::Response& response) const {
  // A page of another site may use a name that was made to resolve to this machine. Its requests
  // carry that name.
  if (is_loopback(options.host) && !is_loopback(name_of_host(request.get_header_value("Host")))) {
    refuse(response, 421, "host: not this machine's own name: open http://127.0.0.1 instead");
    return true;
  }
  if (request.method == "GET" || request.method == "HEAD") {
    if (!has_body(request)) return false;
    refuse(response, 400, "request: it has a body, and takes none");
    return true;
  }
  const Asked asked = Api::understand(request.method, request.target);
  if (asked.route == nullptr) {
    const bool is_api = request.path == kAnyOfApi;
    const std::string allowed = is_api ? asked.allowed : "GET, HEAD";
    if (!allowed.empty()) response.set_header("Allow", allowed);
    if (is_api) {
      send(request, response, asked.refusal);
    } else {
      refuse(response, 405, "request: its method is not one of " + allowed);
    }
    return true;
  }
  if (request.is_multipart_form_data() || (asked.route->body.empty() && has_body(request))) {
    refuse(response, 400,
           asked.route->body.empty() ? "request: it has a body, and takes none"
                                     : "request: a form: send the file's bytes alone");
    return true;
  }
  return false;
}

// Returns whether the request may be answered. If it is noted in the audit log, `audited` becomes
// its entry's key.
bool Server::State::is_admitted(const httplib::Request& request, httplib::Response& response,
                                const Asked& asked, std::string* audited) {
  const std::string header = request.get_header_value("Authorization");
  const Gate::Decision decision = asked.route == nullptr
                                      ? gate.admit_unknown(header, request.remote_addr)
                                      : gate.admit(*asked.route, header, request.remote_addr);
  const bool is_denied = decision.status == 401 || decision.status == 403;
  const bool is_noted = asked.route != nullptr && is_audited(*asked.route);
  if (is_denied || (decision.status == 0 && is_noted)) {
    auto key = gate.note_begin(decision.caller, request.method, path_of(request));
    if (!key.ok()) {
      response.set_header("Retry-After", "1");
      refuse(response, 503, key.error().text);
      return false;
    }
    *audited = std::move(*key);
  }
  if (decision.status == 0) return true;
  if (decision.status == 429 || decision.status == 503) response.set_header("Retry-After", "1");
  if (decision.status == 401) response.set_header("WWW-Authenticate", "Bearer");
  refuse(response, decision.status, decision.text);
  gate.note_end(*audited, decision.status);
  return false;
}

void Server::State::send(const httplib::Request& request, httplib::Response& response,
                         Answer answer) const {
  response.status = answer.status;
  if (answer.status == 503) response.set_header("Retry-After", "1");
  if (answer.status == 429) response.set_header("Retry-After", "10");
  if (!answer.tag.empty()) {
    // The tag is weak: it is the same with and without compression.
    const std::string tag = "W/\"" + answer.tag + "\"";
    response.set_header("ETag", tag);
    response.headers.erase("Cache-Control");
    response.set_header("Cache-Control", "private, no-cache");  // kept by the client, and
                                                                // revalidated each time
    if (request.get_header_value("If-None-Match").find(tag) != std::string::npos) {
      response.status = 304;
      return;
    }
  }
  response.set_content(std::move(answer.body), "application/json");
}

void Server::State::answer(const httplib::Request& request, httplib::Response& response,
                           const httplib::ContentReader* reader) {
  const Asked asked =
      Api::understand(request.method == "HEAD" ? "GET" : request.method, request.target);
  std::string audited;
  if (!is_admitted(request, response, asked, &audited)) return;
  uint64_t left = asked.route != nullptr && asked.route->body_max != nullptr
                      ? asked.route->body_max(api.services())
                      : 0;
  const Body body = [&](const Take& take) -> Status {
    const Error too_large{Code::kOutOfMemory, "request: its body is larger than is allowed"};
    Status status = Ok{};
    const bool is_whole = reader != nullptr && (*reader)([&](const char* bytes, size_t size) {
                            status = size > left ? Status(too_large) : take({bytes, size});
                            left -= std::min<uint64_t>(left, size);
                            return status.ok();
                          });
    if (is_whole || !status.ok()) return status;
    return response.status == 413 ? too_large : corrupt("request: its body is cut short");
  };
  Answer answer = api.answer(asked, &body);
  gate.note_end(audited, answer.status);
  send(request, response, std::move(answer));
}

Server::Server(Library& library, ServerOptions options)
    : state_(std::make_unique<State>(library, std::move(options))) {
  library.limit_queries(kQuery);
  library.limit_memory(state_->options.memory_bytes);
  httplib::Server& http = state_->http;
  uint64_t longest = 0;
  for (const Route* route : all_routes()) {
    if (route->body_max == nullptr) continue;
    longest = std::max(longest, route->body_max(state_->api.services()));
  }
  http.set_payload_max_length(longest);
  // SO_REUSEPORT, the library's choice, is not set: a second server would take half of the
  // requests.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_default_headers({{"Content-Security-Policy", kPolicy},
                            {"X-Content-Type-Options", "nosniff"},
                            {"Referrer-Policy", "no-referrer"},
                            {"Cache-Control", "no-store"}});
  http.set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        return state_->is_refused(request, response) ? httplib::Server::HandlerResponse::Handled
                                                     : httplib::Server::HandlerResponse::Unhandled;
      });
  http.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) refuse(response, response.status, text_of_status(response.status));
  });
  const std::string idle = std::to_string(state_->options.limits.idle / std::chrono::seconds(1));
  http.set_post_routing_handler([idle](const httplib::Request& request, auto& response) {
    // The library writes this header for its own timeouts.
    if (response.headers.erase("Keep-Alive") == 0) return;
    const bool is_understood = request.local_port >= 0;
    response.set_header(is_understood ? "Keep-Alive" : "Connection",
                        is_understood ? "timeout=" + idle : "close");
  });
  http.Get("/", [this](const httplib::Request&, httplib::Response& response) {
    const std::string& page = state_->options.page;
    response.set_content(page.empty() ? std::string(embedded_page()) : page,
                         "text/html; charset=utf-8");
  });
  http.Get("/help", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(std::string(embedded_help()), "text/html; charset=utf-8");
  });
  const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
    state_->answer(request, response, nullptr);
  };
  http.Get(kAnyOfApi, answer);
  http.Delete(kAnyOfApi, answer);
  http.Post(kAnyOfApi, [this](const httplib::Request& request, httplib::Response& response,
                              const httplib::ContentReader& reader) {
    state_->answer(request, response, &reader);
  });
}

Server::~Server() {
  if (state_->http.listener() != INVALID_SOCKET) ::close(state_->http.listener());
}

Result<std::string> Server::listen() {
  const ServerOptions& options = state_->options;
  int port = options.port;
  if (port == 0) {
    port = state_->http.bind_to_any_port(options.host);
  } else if (!state_->http.bind_to_port(options.host, port)) {
    port = -1;
  }
  if (port < 0) {
    return failed(options.host + ":" + std::to_string(options.port) +
                  ": cannot listen there: " + why_not(options.host, options.port));
  }
  const bool is_v6 = options.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + options.host + "]" : options.host;
  const std::string token = options.token.empty() ? "" : "?token=" + options.token;
  return "http://" + host + ":" + std::to_string(port) + "/" + token;
}

Status Server::run() { return state_->connections.run(state_->http.listener()); }

void Server::stop() {
  state_->library.stop();
  state_->connections.stop();
}

}  // namespace xsp::serve
