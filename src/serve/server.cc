#include "serve/server.h"

#define CPPHTTPLIB_ZLIB_SUPPORT
#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/guard.h"
#include "serve/api.h"
#include "serve/page.h"
#include "serve/upload.h"

namespace xsp::serve {
namespace {

// What a request may take. A client that is slower than kPatience between two pieces is left.
constexpr size_t kThreads = 32;
constexpr size_t kQueue = 256;
constexpr size_t kBody = 4096;  // of requests that upload nothing
constexpr std::chrono::seconds kPatience{3};
constexpr std::chrono::seconds kWritePatience{20};
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

// Takes as long wherever the two differ.
bool is_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    difference |=
        static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(i < b.size() ? b[i] : 0);
  }
  return difference == 0;
}

// "localhost:7777" -> "localhost", "[::1]:7777" -> "::1".
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
  // Only of an address do the first digits say where it is: 127.evil.example is a name like others.
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

struct Server::State {
  State(Library& given_library, ServerOptions given)
      : library(given_library), api(given_library), options(std::move(given)) {}

  // Before anything else is looked at.
  bool is_refused(const httplib::Request& request, httplib::Response& response) const;
  void receive(const httplib::Request& request, httplib::Response& response,
               const httplib::ContentReader& reader);

  Library& library;
  Api api;
  ServerOptions options;
  httplib::Server http;
};

bool Server::State::is_refused(const httplib::Request& request, httplib::Response& response) const {
  // A page of another site whose name was made to mean this machine sends that name.
  if (is_loopback(options.host) && !is_loopback(name_of_host(request.get_header_value("Host")))) {
    refuse(response, 421, "host: not this machine's own name: open http://127.0.0.1 instead");
    return true;
  }
  if (options.token.empty() || !request.path.starts_with("/api/")) return false;
  const std::string given = request.get_header_value("Authorization");
  if (is_equal(given, "Bearer " + options.token)) return false;
  refuse(response, 401, "token: missing or wrong: open the address that xsp serve printed");
  return true;
}

void Server::State::receive(const httplib::Request& request, httplib::Response& response,
                            const httplib::ContentReader& reader) {
  if (options.max_upload_bytes == 0 || options.token.empty()) {
    return refuse(response, 403, "upload: off: start xsp serve with --upload and a token");
  }
  auto upload =
      Upload::begin(library.folder(), request.get_param_value("name"), options.max_upload_bytes);
  Status status = upload.ok() ? Status(Ok{}) : Status(upload.error());
  if (upload.ok()) {
    const bool is_whole = reader([&](const char* bytes, size_t size) {
      status = upload->write({bytes, size});
      return status.ok();
    });
    if (!is_whole && status.ok()) {
      status = response.status == 413
                   ? Error{Code::kOutOfMemory, "upload: larger than --max-upload allows"}
                   : corrupt("upload: cut short");
    }
    if (status.ok()) status = upload->finish();
  }
  if (status.ok()) {
    response.status = 201;
    response.set_content("{}", "application/json");
    return;
  }
  const Code code = status.error().code;
  refuse(response,
         code == Code::kOutOfMemory ? 413
         : code == Code::kFailed    ? 500
                                    : 400,
         status.error().text);
}

Server::Server(Library& library, ServerOptions options)
    : state_(std::make_unique<State>(library, std::move(options))) {
  library.limit_queries(kQuery);
  httplib::Server& http = state_->http;
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads, kQueue); };
  http.set_read_timeout(kPatience);
  http.set_write_timeout(kWritePatience);
  http.set_keep_alive_timeout(kPatience.count());
  http.set_keep_alive_max_count(1000);
  http.set_tcp_nodelay(true);  // an answer's end waits for no acknowledgement of its beginning
  http.set_payload_max_length(std::max<uint64_t>(kBody, state_->options.max_upload_bytes));
  // Not SO_REUSEPORT, which is the library's choice: a second server would take half the requests.
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
  http.Post(
      "/api/v1/evaluations",
      [this](const httplib::Request& request, httplib::Response& response,
             const httplib::ContentReader& reader) { state_->receive(request, response, reader); });
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
  if (port < 0) {
    return failed(options.host + ":" + std::to_string(options.port) +
                  ": cannot listen there: is it in use? choose another with --listen");
  }
  const bool is_v6 = options.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + options.host + "]" : options.host;
  const std::string token = options.token.empty() ? "" : "?token=" + options.token;
  return "http://" + host + ":" + std::to_string(port) + "/" + token;
}

Status Server::run() {
  if (!state_->http.listen_after_bind()) return failed("server: it stopped listening");
  return Ok{};
}

void Server::stop() { state_->http.stop(); }

}  // namespace xsp::serve
