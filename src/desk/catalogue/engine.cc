#include "desk/catalogue/engine.h"

#include <chrono>
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

}  // namespace

bool is_server(std::string_view place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

Result<std::unique_ptr<Engine>> open_engine(const std::string& place, bool is_for_reading) {
  return is_server(place) ? open_postgres(place) : open_sqlite(place, is_for_reading);
}

Status write_whole(Engine& engine, const std::function<Status()>& work, int patience_s) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(patience_s);
  for (;;) {
    Status done = write_once(engine, work);
    if (done.ok() || engine.is_connected()) return done;
    while (!engine.reconnect().ok()) {
      if (Clock::now() > end) return done;
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
