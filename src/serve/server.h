// Server: the page and the API over HTTP.
#ifndef XSP_SERVE_SERVER_H_
#define XSP_SERVE_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "serve/library.h"

namespace xsp::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 7777;   // 0: any that is free
  std::string page;  // another page than the one compiled in: its text; empty: that one
};

class Server {
 public:
  Server(Library& library, ServerOptions options);
  ~Server();

  // Takes the port; returns the address to open: "http://127.0.0.1:7777/".
  Result<std::string> listen();
  // Answers until stop(), which any thread or signal handler may call.
  Status run();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xsp::serve

#endif  // XSP_SERVE_SERVER_H_
