// Server: the page and the API over HTTP.
//
// Its protection: it listens on the loopback by default, and elsewhere it answers requests of the
// API only with a token. On the loopback it accepts only the loopback's own names, so that a page
// of another site cannot query it through a browser. Sizes, times, rates and the number of
// concurrent requests are bounded. It reads only files that Library finds and the catalogue that it
// was given. It writes by uploads, predictions and sweeps alone, which always need a token
// (gate.h).
#ifndef XSP_DESK_SERVE_HTTP_SERVER_H_
#define XSP_DESK_SERVE_HTTP_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "desk/serve/http/connections.h"
#include "desk/serve/library.h"
#include "desk/serve/services.h"
#include "shared/base/result.h"

namespace xsp::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 7777;                // 0: any free port
  std::string page;               // text of a page in place of the compiled one; or empty
  std::string token;              // empty: no token is required
  uint64_t max_upload_bytes = 0;  // 0: uploads are refused; they need a token
  bool notes = false;             // requests may write notes; they need a token
  uint64_t memory_bytes = uint64_t{4} << 30;  // memory of all queries; see Library::limit_memory()
  double rate = 200;          // requests per second of one address and of one token; 0: any
  std::string catalogue;      // its place; empty: none is served
  Predict predict;            // empty: no model answers
  PredictionSystems systems;  // empty: there is this machine alone
  std::vector<PredictionModel> models;  // that may answer
  Sweeps* sweeps = nullptr;             // starts sweeps; null: no request does
  Limits limits;
};

// Returns true if this name or address belongs to this machine and no other machine can reach it.
bool is_loopback(std::string_view host);
// Returns 128 random bits as text.
Result<std::string> make_token();

class Server {
 public:
  Server(Library& library, ServerOptions options);
  ~Server();

  // Takes the port. Returns the address to open: "http://127.0.0.1:7777/".
  Result<std::string> listen();
  // Answers until stop(), which any thread may call.
  Status run();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_HTTP_SERVER_H_
