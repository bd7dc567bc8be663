// Sends requests to a server that a test has started.
#ifndef XSP_TESTS_INTEGRATION_HTTP_H_
#define XSP_TESTS_INTEGRATION_HTTP_H_

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace xsp::integration {

// Returns the answer of the server at this port. Without a token there is no such header.
inline std::string send_request(uint16_t port, const std::string& method, const std::string& target,
                                const std::string& body = "", const std::string& token = "") {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    std::string request = method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
    if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    request += "Connection: close\r\n\r\n" + body;
    (void)!send(client, request.data(), request.size(), MSG_NOSIGNAL);
    char piece[4096];
    for (ssize_t got; (got = recv(client, piece, sizeof piece, 0)) > 0;) {
      answer.append(piece, static_cast<size_t>(got));
    }
  }
  close(client);
  return answer;
}

// Returns the answer to a GET.
inline std::string get(uint16_t port, const std::string& target) {
  return send_request(port, "GET", target);
}

// Returns the JSON in an answer; null: there is none.
inline nlohmann::json body_of(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  if (end == std::string::npos) return nullptr;
  const auto body = nlohmann::json::parse(answer.substr(end + 4), nullptr, false);
  return body.is_discarded() ? nlohmann::json() : body;
}

// Returns the port of the address that the server prints; 0 if it has not printed it yet.
inline uint16_t port_of(const std::string& err) {
  constexpr std::string_view kAt = "http://127.0.0.1:";
  const size_t at = err.find(kAt);
  uint16_t port = 0;
  if (at == std::string::npos || err.find('\n', at) == std::string::npos) return port;
  std::from_chars(err.data() + at + kAt.size(), err.data() + err.size(), port);
  return port;
}

// Returns what watches a server (RunOptions::watch): it lets `asks` ask the server once its port is
// known, and then ends the server.
inline std::function<bool(const std::string& err, int pid)> end_when_asked(
    std::function<void(uint16_t port)> asks) {
  return [asks = std::move(asks)](const std::string& err, int pid) {
    const uint16_t port = port_of(err);
    if (port == 0) return false;
    asks(port);
    ::kill(pid, SIGTERM);
    return true;
  };
}

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_HTTP_H_
