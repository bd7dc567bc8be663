// Sends requests to a server that a test has started.
#ifndef XSP_TESTS_INTEGRATION_HTTP_H_
#define XSP_TESTS_INTEGRATION_HTTP_H_

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace xsp::integration {

// Returns the answer of the server at this port to a GET.
inline std::string get(uint16_t port, const std::string& target) {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    const std::string request =
        "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    (void)!send(client, request.data(), request.size(), MSG_NOSIGNAL);
    char piece[4096];
    for (ssize_t got; (got = recv(client, piece, sizeof piece, 0)) > 0;) {
      answer.append(piece, static_cast<size_t>(got));
    }
  }
  close(client);
  return answer;
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

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_HTTP_H_
