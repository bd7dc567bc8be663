#include "desk/catalogue/engine.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace xsp::catalogue {
namespace {

using Clock = std::chrono::steady_clock;

Status write_once(Engine& engine, const std::function<Status()>& work) {
  XSP_CHECK_OK(engine.begin_write());
  const Status done = work();
  const auto ended = engine.query(done.ok() ? "COMMIT" : "ROLLBACK");
  if (!done.ok()) return done;
  return ended.ok() ? Status(Ok{}) : Status(ended.error());
}

// Returns the parameters of an address but for those that may hold a secret.
std::string open_parameters(std::string_view query) {
  std::string kept;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    const std::string_view name = one.substr(0, one.find('='));
    const bool is_secret = name.find("password") != name.npos || name.find("secret") != name.npos ||
                           name.find('%') != name.npos;
    if (!is_secret) kept += (kept.empty() ? "?" : "&") + std::string(one);
  }
  return kept;
}

}  // namespace

bool is_server(std::string_view place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

std::string lasting_place(const std::string& place) {
  if (!is_server(place)) return std::filesystem::absolute(place).lexically_normal().string();
  // "SCHEME://[USER[:PASSWORD]@]HOST...[?PARAMETERS]", taken apart as libpq does.
  const size_t begin = place.find("://") + 3;
  const size_t end = place.find_first_of("@/", begin);
  const bool has_user = end != std::string::npos && place[end] == '@';
  const size_t host = has_user ? end : begin;
  const size_t mark = place.find('?', host);
  std::string kept = place.substr(0, begin);
  if (has_user) kept += place.substr(begin, std::min(place.find(':', begin), end) - begin);
  kept += place.substr(host, mark == std::string::npos ? mark : mark - host);
  if (mark != std::string::npos) kept += open_parameters(place.substr(mark + 1));
  return kept;
}

Result<std::unique_ptr<Engine>> open_engine(const std::string& place, bool is_for_reading) {
  return is_server(place) ? open_postgres(place) : open_sqlite(place, is_for_reading);
}

Status write_whole(Engine& engine, const std::function<Status()>& work, int patience_s,
                   const std::atomic<int>* stop) {
  const auto is_stopped = [stop] { return stop != nullptr && *stop > 0; };
  const Clock::time_point end = Clock::now() + std::chrono::seconds(patience_s);
  for (;;) {
    Status done = write_once(engine, work);
    if (done.ok() || engine.is_connected()) return done;
    while (is_stopped() || !engine.reconnect().ok()) {
      if (is_stopped() || Clock::now() > end) return done;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

Status run(Engine& engine, const std::string& sql, const Cells& parameters) {
  const auto done = engine.query(sql, parameters);
  return done.ok() ? Status(Ok{}) : Status(done.error());
}

store::Value text_or_null(const std::string& text) {
  return text.empty() ? store::Value() : store::Value(text);
}

}  // namespace xsp::catalogue
