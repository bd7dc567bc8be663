#include "desk/catalogue/access.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "desk/catalogue/schema.h"
#include "desk/manifest/sha256.h"
#include "desk/store/values.h"
#include "shared/base/text.h"

namespace xsp::catalogue {
namespace {

constexpr std::string_view kPrefix = "xsp_";  // lets people and scanners know a token by its look
constexpr size_t kNameLength = 64;
constexpr size_t kAuditedPath = 500;  // bytes of a path that the log keeps
constexpr size_t kShortenEvery = 1000;

constexpr std::array<const char*, 3> kScopes = {"read", "run", "admin"};

// Returns random bytes in hexadecimal digits.
Result<std::string> random_hex(size_t bytes) {
  std::string random(bytes, '\0');
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    return failed("token: the system gives no random numbers: try again later");
  }
  std::string text;
  for (const char c : random) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// Returns the time as text whose order is that of time.
std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto since = now.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char whole[40];
  std::snprintf(whole, sizeof whole, "%s.%03dZ", text, static_cast<int>(ms));
  return whole;
}

Status check_name(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kNameLength &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
                    });
  if (fits) return Ok{};
  return usage("token: '" + name + "': not a name of at most 64 letters, digits, '.', '_' and '-'");
}

constexpr const char* kColumns = "SELECT id, name, scope, created_at, revoked_at FROM token";

Result<Token> token_of(const std::vector<store::Value>& row) {
  XSP_TRY(const Scope scope, scope_of(store::text_of(row[2])));
  return Token{store::text_of(row[0]), store::text_of(row[1]), scope, store::text_of(row[3]),
               store::text_of(row[4])};
}

}  // namespace

const char* name_of(Scope scope) { return kScopes[static_cast<size_t>(scope)]; }

Result<Scope> scope_of(std::string_view name) {
  for (size_t i = 0; i < kScopes.size(); ++i) {
    if (name == kScopes[i]) return static_cast<Scope>(i);
  }
  return usage("scope '" + std::string(name) + "': unknown: give read, run or admin");
}

Result<Access> Access::open(const std::string& place, int patience_s) {
  XSP_TRY(std::unique_ptr<Engine> engine, open_engine(place, false));
  XSP_CHECK_OK(migrate(*engine));
  return Access(std::move(engine), patience_s);
}

Status Access::write(const std::function<Status()>& work) {
  return write_whole(*engine_, work, patience_s_);
}

Result<std::string> Access::make_token(const std::string& name, Scope scope) {
  XSP_CHECK_OK(check_name(name));
  XSP_TRY(const std::string id, random_hex(6));
  XSP_TRY(const std::string digits, random_hex(32));
  const std::string secret = std::string(kPrefix) + digits;
  const Status done = write([&]() -> Status {
    XSP_TRY(const store::Table same,
            engine_->query("SELECT id FROM token WHERE name = $1 AND revoked_at IS NULL", {name}));
    if (!same.rows.empty() && store::text_of(same.rows[0][0]) != id) {
      return usage("token '" + name + "': there is one: revoke it first, or give another name");
    }
    if (!same.rows.empty()) return Ok{};  // the lost connection's answer was lost, too
    return run(*engine_,
               "INSERT INTO token(id, name, scope, hash, created_at) VALUES ($1, $2, $3, $4, $5)",
               {id, name, std::string(name_of(scope)), manifest::sha256_of(secret), now_text()});
  });
  if (!done.ok()) return done.error();
  return secret;
}

Result<std::vector<Token>> Access::tokens() {
  XSP_TRY(const store::Table table,
          engine_->query(std::string(kColumns) + " ORDER BY created_at, id"));
  std::vector<Token> all;
  for (const auto& row : table.rows) {
    XSP_TRY(Token one, token_of(row));
    all.push_back(std::move(one));
  }
  return all;
}

Status Access::revoke(const std::string& name) {
  const std::string now = now_text();
  return write([&]() -> Status {
    const std::string is_it = " WHERE (name = $1 OR id = $1) AND revoked_at IS NULL";
    XSP_TRY(const store::Table found, engine_->query("SELECT id FROM token" + is_it, {name}));
    if (found.rows.empty()) {
      return usage("token '" + name + "': no valid token has this name: see xsp catalogue token " +
                   "list");
    }
    return run(*engine_, "UPDATE token SET revoked_at = $2" + is_it, {name, now});
  });
}

Result<std::optional<Token>> Access::find(std::string_view secret) {
  XSP_TRY(const store::Table table,
          engine_->query(std::string(kColumns) + " WHERE hash = $1 AND revoked_at IS NULL",
                         {manifest::sha256_of(secret)}));
  if (table.rows.empty()) return std::optional<Token>();
  XSP_TRY(Token one, token_of(table.rows[0]));
  return std::optional<Token>(std::move(one));
}

Result<std::string> Access::audit(Audited entry) {
  XSP_TRY(const std::string id, random_hex(16));
  entry.at = now_text();
  const bool is_shortened = written_++ % kShortenEvery == 0;
  const Status done = write([&]() -> Status {
    XSP_CHECK_OK(
        run(*engine_,
            "INSERT INTO audit(id, at, token, name, address, method, path, status) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
            {id, entry.at, text_or_null(entry.token), text_or_null(entry.name), entry.address,
             entry.method, check_text(entry.path, kAuditedPath).text, int64_t{entry.status}}));
    if (!is_shortened) return Ok{};
    return run(*engine_,
               "DELETE FROM audit WHERE at < (SELECT at FROM audit ORDER BY at DESC LIMIT 1 "
               "OFFSET $1)",
               {int64_t{kAuditRows}});
  });
  if (!done.ok()) return done.error();
  return id;
}

Status Access::audit_end(const std::string& key, int status) {
  return write([&] {
    return run(*engine_, "UPDATE audit SET status = $1 WHERE id = $2", {int64_t{status}, key});
  });
}

Result<std::vector<Audited>> Access::audited(size_t limit) {
  XSP_TRY(const store::Table table,
          engine_->query("SELECT at, token, name, address, method, path, status FROM audit "
                         "ORDER BY at DESC, id LIMIT $1",
                         {static_cast<int64_t>(limit)}));
  std::vector<Audited> all;
  for (const auto& row : table.rows) {
    all.push_back({store::text_of(row[0]), store::text_of(row[1]), store::text_of(row[2]),
                   store::text_of(row[3]), store::text_of(row[4]), store::text_of(row[5]),
                   static_cast<int>(store::int_of(row[6]))});
  }
  return all;
}

}  // namespace xsp::catalogue
