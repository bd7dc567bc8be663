// Agent: a machine that takes tasks from the queue of a catalogue. It connects outward only.
#ifndef XSP_DESK_SWEEP_AGENT_H_
#define XSP_DESK_SWEEP_AGENT_H_

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "desk/catalogue/queue.h"
#include "shared/base/result.h"

namespace xsp::sweep {

struct Offer {
  std::string name;  // unique among the agents
  std::vector<std::string> frameworks;
  std::vector<std::string> devices;  // "cpu", "cuda:0"
};

// Takes tasks, one at a time, until `stop`. `told` gets a line for each.
Status be_agent(catalogue::Queue& queue, const Offer& offer, const std::filesystem::path& program,
                const std::atomic<int>& stop, const std::function<void(const std::string&)>& told);

// Asks the agents to do the task of the plan that stands in one line at `in`, and writes their
// answer to `out`, as `xsp task -` does. Gives up if no agent that lives can do it, if the agent is
// lost, or if the input ends. `wanted`: the agent that must do it; empty: any.
Status ask_agents(catalogue::Queue& queue, int in, int out, const std::string& wanted,
                  const std::atomic<int>& stop);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_AGENT_H_
