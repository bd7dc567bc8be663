#include "desk/sweep/agent.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "desk/sweep/child.h"
#include "desk/sweep/folder.h"
#include "desk/sweep/stream.h"
#include "shared/base/scratch.h"

namespace xsp::sweep {
namespace {

using catalogue::Queue;
using catalogue::Queued;
using catalogue::QueueState;
using nlohmann::json;

constexpr size_t kPartBytes = 1 << 20;
constexpr useconds_t kLookMicroseconds = 500000;
constexpr double kNobodyPatience_s = 20;  // for an agent that can do it to appear

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool fits(const Queued& task, const Offer& offer) {
  const std::string kind = task.device.substr(0, task.device.find(':'));
  const bool has_device =
      task.device.empty() || has(offer.devices, task.device) ||
      (task.device == kind &&
       std::any_of(offer.devices.begin(), offer.devices.end(),
                   [&](const std::string& one) { return one.starts_with(kind + ":"); }));
  return has_device && (task.framework.empty() || has(offer.frameworks, task.framework));
}

Offer offer_of(const catalogue::AgentRow& row) {
  Offer offer;
  offer.name = row.name;
  const json object = json::parse(row.offers, nullptr, false);
  if (!object.is_object()) return offer;
  const auto words = [&](const char* key) {
    std::vector<std::string> all;
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array()) return all;
    for (const json& one : *found) {
      if (one.is_string()) all.push_back(one.get<std::string>());
    }
    return all;
  };
  offer.frameworks = words("frameworks");
  offer.devices = words("devices");
  return offer;
}

// Does one task: the answer of `xsp task -` goes up in parts.
Status work(Queue& queue, const Queued& task, const catalogue::AgentRow& agent,
            const std::filesystem::path& program, const std::atomic<int>& stop) {
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  std::string pending;
  int64_t part = 0;
  Status sent = Ok{};
  const auto send = [&](size_t least) {
    while (sent.ok() && !pending.empty() && pending.size() >= least) {
      const size_t size = std::min(kPartBytes, pending.size());
      sent = queue.upload(task, part++, std::string_view(pending).substr(0, size));
      pending.erase(0, size);
    }
    return sent.ok();
  };
  double beat_at = 0;
  double renewed_at = now_s();
  ChildOptions options;
  options.words = {program, "task", "-", "0"};
  options.log = scratch->path() / "log";
  options.input = task.spec + "\n";
  options.stop = &stop;
  options.out = [&](std::string_view bytes) {
    pending += bytes;
    return send(kPartBytes);
  };
  options.tick = [&] {
    if (now_s() - beat_at < catalogue::kBeat_s) return true;
    beat_at = now_s();
    const auto is_ours = queue.renew(task, agent);
    // Without an answer the task is still ours, until the asker takes us for gone.
    if (!is_ours.ok()) return now_s() - renewed_at < catalogue::kSilence_s;
    renewed_at = now_s();
    (void)queue.beat(agent);
    return *is_ours;
  };
  XSP_TRY(const ChildEnd end, run_child(options));
  if (end.is_stopped || end.status != 0) return Ok{};  // the lease runs out
  send(1);
  XSP_CHECK_OK(sent);
  return queue.answered(task, agent);
}

bool has_ended(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

Queued queued_of(const Plan& plan, const std::string& line, const std::string& wanted) {
  const Task& task = plan.tasks[0];
  return {plan.id, task.name, line, task.framework, task.device, wanted};
}

}  // namespace

Status be_agent(Queue& queue, const Offer& offer, const std::filesystem::path& program,
                const std::atomic<int>& stop, const std::function<void(const std::string&)>& told) {
  const json offers = {{"frameworks", offer.frameworks}, {"devices", offer.devices}};
  const catalogue::AgentRow agent = {offer.name, offers.dump()};
  double beat_at = 0;
  while (stop == 0) {
    if (now_s() - beat_at >= catalogue::kBeat_s) {
      XSP_CHECK_OK(queue.beat(agent));
      beat_at = now_s();
    }
    XSP_TRY(const std::optional<Queued> task,
            queue.lease(agent, [&](const Queued& one) { return fits(one, offer); }));
    if (!task) {
      ::usleep(kLookMicroseconds);
      continue;
    }
    told("begins " + task->unit);
    XSP_CHECK_OK(work(queue, *task, agent, program, stop));
    told("ended  " + task->unit);
  }
  return queue.leave(agent);
}

Status ask_agents(Queue& queue, int in, int out, const std::string& wanted,
                  const std::atomic<int>& stop) {
  XSP_TRY(const std::string line, read_line(in));
  XSP_TRY(const Plan plan, plan_of(line, "the plan"));
  if (plan.tasks.size() != 1) return usage("the plan has other than one task: send one");
  const Queued task = queued_of(plan, line, wanted);
  XSP_CHECK_OK(queue.put(task));
  double nobody_since = 0;
  while (stop == 0 && !has_ended(in)) {
    std::string agent;
    XSP_TRY(const QueueState state, queue.look(task, &agent));
    if (state == QueueState::kAnswered) {
      return queue.fetch(task, [out](std::string_view bytes) { return send(out, bytes); });
    }
    if (state == QueueState::kLost || state == QueueState::kGone) {
      XSP_CHECK_OK(queue.remove(task));
      return failed("the agent " + agent + " was lost");
    }
    if (state == QueueState::kQueued) {
      XSP_TRY(const std::vector<catalogue::AgentRow> agents, queue.agents());
      const bool is_served = std::any_of(agents.begin(), agents.end(), [&](const auto& one) {
        return (wanted.empty() || one.name == wanted) && fits(task, offer_of(one));
      });
      nobody_since = is_served ? 0 : nobody_since > 0 ? nobody_since : now_s();
      if (nobody_since > 0 && now_s() - nobody_since > kNobodyPatience_s) {
        XSP_CHECK_OK(queue.remove(task));
        return failed("no agent that lives can do it: start xsp agent on a machine that has " +
                      (task.framework.empty() ? std::string("a framework") : task.framework));
      }
    }
    ::usleep(kLookMicroseconds);
  }
  return queue.remove(task);
}

}  // namespace xsp::sweep
