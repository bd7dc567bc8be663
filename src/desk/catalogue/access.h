// Access: who may use the API, and what they did with it. Tokens and the audit log are tables of
// the catalogue; files do not say them, and a rebuild leaves them alone.
//
// A token's secret is 256 random bits. The catalogue keeps its SHA-256 alone, so whoever reads the
// catalogue cannot use it; guessing 256 bits is hopeless, so a slow hash would only cost time.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CATALOGUE_ACCESS_H_
#define XSP_DESK_CATALOGUE_ACCESS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/catalogue/engine.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

// Each scope includes those before it.
enum class Scope { kRead, kRun, kAdmin };

const char* name_of(Scope scope);  // "read", "run", "admin"
Result<Scope> scope_of(std::string_view name);

// A token without its secret.
struct Token {
  std::string id;  // is public: it names the token in the audit log
  std::string name;
  Scope scope = Scope::kRead;
  std::string created_at;  // ISO 8601, UTC
  std::string revoked_at;  // empty: it is valid
};

// One request that wrote, or that was refused for want of a token.
struct Audited {
  std::string at;       // ISO 8601, UTC
  std::string token;    // its id; empty: none that is known
  std::string name;     // the token's name at that time
  std::string address;  // of the client
  std::string method;
  std::string path;
  int status = 0;  // of the answer; 0: none is known, because the server was killed meanwhile
};

class Access {
 public:
  static constexpr size_t kAuditRows = 100'000;  // the log keeps the newest

  // Opens the catalogue for writing, and makes what it lacks. A call whose connection is lost tries
  // for at most `patience_s` to open it again.
  static Result<Access> open(const std::string& place, int patience_s = kPatienceSeconds);

  // Makes a token, and returns its secret, which is nowhere kept. Fails if a valid token has the
  // name, or if the name is not one of letters, digits, '.', '_' and '-'.
  Result<std::string> make_token(const std::string& name, Scope scope);
  // Returns all tokens, also revoked ones, in the order of their making.
  Result<std::vector<Token>> tokens();
  // Ends the valid token of this name or id. Fails if there is none.
  Status revoke(const std::string& name);
  // Returns the valid token with this secret, or nothing.
  Result<std::optional<Token>> find(std::string_view secret);

  // Appends to the log, and returns the entry's key. `entry.at` is set here.
  Result<std::string> audit(Audited entry);
  // Sets the status of an entry.
  Status audit_end(const std::string& key, int status);
  // Returns the newest entries of the log, the newest first.
  Result<std::vector<Audited>> audited(size_t limit);

 private:
  Access(std::unique_ptr<Engine> engine, int patience_s)
      : engine_(std::move(engine)), patience_s_(patience_s) {}
  Status write(const std::function<Status()>& work);

  std::unique_ptr<Engine> engine_;
  int patience_s_;
  size_t written_ = 0;  // entries of the log, since it was last shortened
};

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_ACCESS_H_
