#include "desk/serve/http/gate.h"

#include <algorithm>
#include <cstdio>

namespace xsp::serve {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr size_t kSecretBytes = 256;  // no token is longer
// A request that writes, or whose token is wrong, counts as many that read: it costs a transaction
// of the catalogue, and more.
constexpr double kWriteCost = 20;

// Compares in constant time, wherever the two texts differ.
bool is_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    difference |=
        static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(i < b.size() ? b[i] : 0);
  }
  return difference == 0;
}

}  // namespace

bool RateLimit::take(const std::string& key, double cost, Clock::time_point now) {
  if (rate_ <= 0) return true;
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = buckets_.try_emplace(key);
  Bucket& bucket = found->second;
  if (is_new) {
    used_.push_front(key);
    bucket.used = used_.begin();
    bucket.at = now;
    if (buckets_.size() > kKeys) {
      buckets_.erase(used_.back());
      used_.pop_back();
    }
  }
  used_.splice(used_.begin(), used_, bucket.used);
  const double rested = std::chrono::duration<double>(now - bucket.at).count() * rate_;
  bucket.spent = std::max(0.0, bucket.spent - rested);
  bucket.at = now;
  if (bucket.spent + cost > rate_ * kBurst) return false;
  bucket.spent += cost;
  return true;
}

bool is_audited(const Route& route) {
  return route.method != "GET" || route.scope == catalogue::Scope::kAdmin;
}

Gate::Decision Gate::decide(catalogue::Scope scope, bool is_free, std::string_view authorization,
                            const std::string& address, double cost) {
  const auto refuse = [&](int status, const char* text, Caller caller = {}) {
    caller.address = address;
    return Decision{status, text, std::move(caller)};
  };
  const auto now = RateLimit::Clock::now();
  constexpr const char* kOften = "request: too many of them: ask again later";
  if (!limit_.take("address " + address, cost, now)) return refuse(429, kOften);
  Caller caller{"", "", address};
  const std::string_view secret = authorization.starts_with(kBearer)
                                      ? authorization.substr(kBearer.size())
                                      : std::string_view();
  if (!token_.empty() && is_equal(secret, token_)) {
    caller.name = "the server's own";
    return {0, {}, std::move(caller)};
  }
  if (is_free) return {0, {}, std::move(caller)};
  std::optional<catalogue::Token> token;
  if (access_ != nullptr && !secret.empty() && secret.size() <= kSecretBytes) {
    auto found = access_->use<std::optional<catalogue::Token>>(
        [&](Access& access) { return access.find(secret); });
    if (!found.ok()) return refuse(503, "token: the catalogue does not answer: ask again later");
    token = std::move(*found);
  }
  if (!token) {
    limit_.take("address " + address, kWriteCost, now);
    return refuse(401,
                  "token: missing or wrong: open the address that xsp serve printed, or use "
                  "one of xsp catalogue token new");
  }
  caller.id = token->id;
  caller.name = token->name;
  if (!limit_.take("token " + token->id, cost, now)) return refuse(429, kOften, caller);
  if (token->scope < scope) {
    return refuse(403, "token: its scope does not allow this: see docs/http_api.md", caller);
  }
  return {0, {}, std::move(caller)};
}

Gate::Decision Gate::admit(const Route& route, std::string_view authorization,
                           const std::string& address) {
  const bool reads = route.method == "GET" && route.scope == catalogue::Scope::kRead;
  return decide(route.scope, reads && token_.empty(), authorization, address,
                reads ? 1 : kWriteCost);
}

Gate::Decision Gate::admit_unknown(std::string_view authorization, const std::string& address) {
  return decide(catalogue::Scope::kRead, token_.empty(), authorization, address, 1);
}

Result<std::string> Gate::note_begin(const Caller& caller, std::string_view method,
                                     const std::string& path) {
  if (access_ == nullptr) return std::string();
  return access_->use<std::string>([&](Access& access) {
    return access.audit({"", caller.id, caller.name, caller.address, std::string(method), path, 0});
  });
}

void Gate::note_end(const std::string& key, int status) {
  if (key.empty()) return;
  const auto done = access_->use<Ok>([&](Access& access) { return access.audit_end(key, status); });
  if (!done.ok()) std::fprintf(stderr, "audit log: %s\n", done.error().text.c_str());
}

}  // namespace xsp::serve
