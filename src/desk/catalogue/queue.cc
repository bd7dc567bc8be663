#include "desk/catalogue/queue.h"

#include <chrono>
#include <thread>

#include "desk/catalogue/schema.h"
#include "desk/store/values.h"
#include "shared/base/hex.h"

namespace xsp::catalogue {
namespace {

using store::Value;

const std::string kThis = " WHERE sweep = $1 AND unit = $2";

std::string seconds_text(double seconds) { return std::to_string(static_cast<int>(seconds)); }

Cells key_of(const Queued& task) { return {task.sweep, task.unit}; }

}  // namespace

Result<Queue> Queue::open(const std::string& place, int patience_s, const std::atomic<int>* stop) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s);
  auto opened = open_engine(place, false);
  while (!opened.ok() && std::chrono::steady_clock::now() < end &&
         (stop == nullptr || *stop == 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    opened = open_engine(place, false);
  }
  XSP_TRY(std::unique_ptr<Engine> engine, std::move(opened));
  XSP_CHECK_OK(migrate(*engine));
  return Queue(std::move(engine), stop);
}

Status Queue::run(const std::string& sql, const Cells& cells) {
  const auto done = engine_->query(sql, cells);
  return done.ok() ? Status(Ok{}) : Status(done.error());
}

Status Queue::write(const std::function<Status()>& work) {
  return write_whole(*engine_, work, kPatienceSeconds, stop_);
}

Result<store::Table> Queue::read(const std::string& sql, const Cells& cells) {
  store::Table table;
  const Status done = write([&]() -> Status {
    XSP_TRY(table, engine_->query(sql, cells));
    return Ok{};
  });
  if (!done.ok()) return done.error();
  return table;
}

Status Queue::put(const Queued& task) {
  return write([&]() -> Status {
    XSP_CHECK_OK(run("DELETE FROM upload" + kThis, key_of(task)));
    XSP_CHECK_OK(run("DELETE FROM queue" + kThis, key_of(task)));
    return run(std::string("INSERT INTO queue(sweep, unit, spec, framework, device, wanted, state, "
                           "asked_at) VALUES ($1, $2, $3, $4, $5, $6, 'queued', ") +
                   engine_->now() + ")",
               {task.sweep, task.unit, task.spec, task.framework, task.device, task.wanted});
  });
}

Result<QueueState> Queue::look(const Queued& task, std::string* agent) {
  store::Table table;
  const Status done = write([&]() -> Status {
    const std::string now = engine_->now();
    XSP_CHECK_OK(run("UPDATE queue SET asked_at = " + now + kThis, key_of(task)));
    XSP_TRY(table, engine_->query("SELECT state, agent, CASE WHEN lease_until < " + now +
                                      " THEN 1 ELSE 0 END FROM queue" + kThis,
                                  key_of(task)));
    return Ok{};
  });
  if (!done.ok()) return done.error();
  if (table.rows.empty()) return QueueState::kGone;
  const auto& row = table.rows[0];
  const std::string state = store::text_of(row[0]);
  *agent = store::text_of(row[1]);
  if (state == "answered") return QueueState::kAnswered;
  if (state == "queued") return QueueState::kQueued;
  return store::int_of(row[2]) != 0 ? QueueState::kLost : QueueState::kLeased;
}

Status Queue::fetch(const Queued& task, const std::function<Status(std::string_view)>& take) {
  for (int64_t part = 0;; ++part) {
    XSP_TRY(const store::Table table, read("SELECT bytes FROM upload" + kThis + " AND part = $3",
                                           {task.sweep, task.unit, part}));
    if (table.rows.empty()) return remove(task);
    const auto bytes = bytes_of_hex(store::text_of(table.rows[0][0]));
    if (!bytes) return corrupt("catalogue: an agent's answer is damaged");
    XSP_CHECK_OK(take(*bytes));
  }
}

Status Queue::remove(const Queued& task) {
  return write([&]() -> Status {
    XSP_CHECK_OK(run("DELETE FROM upload" + kThis, key_of(task)));
    return run("DELETE FROM queue" + kThis, key_of(task));
  });
}

Result<std::vector<AgentRow>> Queue::agents() {
  XSP_TRY(const store::Table table,
          read(std::string("SELECT id, offers FROM agent WHERE seen_at > ") + engine_->now() +
               " - " + seconds_text(kSilence_s) + " ORDER BY id"));
  std::vector<AgentRow> all;
  for (const auto& row : table.rows) {
    all.push_back({store::text_of(row[0]), store::text_of(row[1])});
  }
  return all;
}

Status Queue::beat(const AgentRow& agent) {
  return write([&]() -> Status {
    XSP_CHECK_OK(run("DELETE FROM agent WHERE id = $1", {agent.name}));
    return run(std::string("INSERT INTO agent(id, offers, seen_at) VALUES ($1, $2, ") +
                   engine_->now() + ")",
               {agent.name, agent.offers});
  });
}

Status Queue::leave(const AgentRow& agent) {
  return write_whole(*engine_,
                     [&] { return run("DELETE FROM agent WHERE id = $1", {agent.name}); });
}

Result<std::optional<Queued>> Queue::lease(const AgentRow& agent,
                                           const std::function<bool(const Queued&)>& fits) {
  std::optional<Queued> leased;
  const Status done = write([&]() -> Status {
    // A server that ended meanwhile may have kept what it did not confirm.
    if (leased) {
      XSP_TRY(const store::Table kept,
              engine_->query("SELECT 1 FROM queue" + kThis + " AND agent = $3 AND state = 'leased'",
                             {leased->sweep, leased->unit, agent.name}));
      if (!kept.rows.empty()) return Ok{};
    }
    leased.reset();
    const std::string now = engine_->now();
    XSP_TRY(const store::Table table,
            engine_->query("SELECT sweep, unit, spec, framework, device, wanted FROM queue WHERE "
                           "state = 'queued' AND (wanted = '' OR wanted = $1) AND asked_at > " +
                               now + " - " + seconds_text(kSilence_s) + " ORDER BY sweep, unit",
                           {agent.name}));
    for (const auto& row : table.rows) {
      const Queued task = {store::text_of(row[0]), store::text_of(row[1]), store::text_of(row[2]),
                           store::text_of(row[3]), store::text_of(row[4]), store::text_of(row[5])};
      if (!fits(task)) continue;
      leased = task;
      return run("UPDATE queue SET state = 'leased', agent = $3, lease_until = " + now + " + " +
                     seconds_text(kSilence_s) + kThis,
                 {task.sweep, task.unit, agent.name});
    }
    return Ok{};
  });
  if (!done.ok()) return done.error();
  return leased;
}

Result<bool> Queue::renew(const Queued& task, const AgentRow& agent) {
  bool is_ours = false;
  const Status done = write([&]() -> Status {
    const std::string now = engine_->now();
    const std::string ours = kThis + " AND agent = $3 AND state = 'leased' AND asked_at > " + now +
                             " - " + seconds_text(kSilence_s);
    const Cells cells = {task.sweep, task.unit, agent.name};
    XSP_CHECK_OK(run(
        "UPDATE queue SET lease_until = " + now + " + " + seconds_text(kSilence_s) + ours, cells));
    XSP_TRY(const store::Table table, engine_->query("SELECT 1 FROM queue" + ours, cells));
    is_ours = !table.rows.empty();
    return Ok{};
  });
  if (!done.ok()) return done.error();
  return is_ours;
}

Status Queue::upload(const Queued& task, int64_t part, std::string_view bytes) {
  const std::string hex = hex_of(bytes);
  return write([&]() -> Status {
    XSP_CHECK_OK(
        run("DELETE FROM upload" + kThis + " AND part = $3", {task.sweep, task.unit, part}));
    return run("INSERT INTO upload(sweep, unit, part, bytes) VALUES ($1, $2, $3, $4)",
               {task.sweep, task.unit, part, hex});
  });
}

Status Queue::answered(const Queued& task, const AgentRow& agent) {
  return write([&] {
    return run("UPDATE queue SET state = 'answered'" + kThis + " AND agent = $3",
               {task.sweep, task.unit, agent.name});
  });
}

}  // namespace xsp::catalogue
