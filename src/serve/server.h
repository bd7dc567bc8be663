// Server: the page and the API over HTTP.
//
// What protects it: it listens on the loopback unless told otherwise, and elsewhere answers nothing
// of the API without the token; on the loopback it answers only to the loopback's own names, so
// that no other site's page can ask it through a browser; sizes, times and the number of requests
// at once are bounded; files are read where Library finds them, and none is written but by an
// upload.
#ifndef XSP_SERVE_SERVER_H_
#define XSP_SERVE_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/connections.h"
#include "serve/library.h"

namespace xsp::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 7777;    // 0: any that is free
  std::string page;   // another page than the one compiled in: its text; empty: that one
  std::string token;  // empty: none is asked for
  uint64_t max_upload_bytes = 0;              // 0: uploads are refused; they need a token
  uint64_t memory_bytes = uint64_t{4} << 30;  // of all queries; see Library::limit_memory()
  Limits limits;
};

// Is this name or address one of this machine's own, that no other machine reaches?
bool is_loopback(std::string_view host);
// 128 random bits as text.
Result<std::string> make_token();

class Server {
 public:
  Server(Library& library, ServerOptions options);
  ~Server();

  // Takes the port; returns the address to open: "http://127.0.0.1:7777/".
  Result<std::string> listen();
  // Answers until stop(), which any thread may call.
  Status run();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xsp::serve

#endif  // XSP_SERVE_SERVER_H_
