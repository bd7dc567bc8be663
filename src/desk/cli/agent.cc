// xsp agent: lets this machine take tasks of sweeps from a catalogue.
#include "desk/sweep/agent.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "desk/cli/verbs.h"
#include "desk/experiment/frameworks.h"
#include "desk/experiment/interrupt.h"
#include "desk/machine/gpu.h"
#include "desk/sweep/folder.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

struct AgentOptions {
  std::string place;
  std::string name;
  bool is_asker = false;
};

// Returns what this machine has.
Result<sweep::Offer> offer_of(const AgentOptions& options, const std::atomic<int>& stop) {
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  sweep::Offer offer;
  offer.name = options.name.empty() ? sweep::host_name() : options.name;
  offer.devices = {"cpu"};
  for (const experiment::Framework& one : experiment::probe_frameworks(
           installation, experiment::framework_names(installation), stop)) {
    if (one.probe.ok()) offer.frameworks.push_back(one.name);
  }
  const int gpus = machine::find_gpu().count;
  for (int i = 0; i < gpus; ++i) offer.devices.push_back("cuda:" + std::to_string(i));
  return offer;
}

Status agent(const AgentOptions& options) {
  ::signal(SIGXFSZ, SIG_IGN);
  const experiment::Interrupts interrupts;
  // An asker is begun in the middle of a sweep, whose server may be starting again.
  constexpr int kPatience_s = 30;
  XSP_TRY(catalogue::Queue queue,
          catalogue::Queue::open(options.place, options.is_asker ? kPatience_s : 0,
                                 &interrupts.count()));
  if (options.is_asker) {
    return sweep::ask_agents(queue, 0, 1, options.name, interrupts.count());
  }
  XSP_TRY(const sweep::Offer offer, offer_of(options, interrupts.count()));
  std::fprintf(stderr, "agent %s: %s; frameworks %s\n", offer.name.c_str(),
               joined(offer.devices).c_str(), joined(offer.frameworks).c_str());
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return sweep::be_agent(queue, offer, program, interrupts.count(), [](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
  });
}

}  // namespace

void add_agent(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<AgentOptions>();
  CLI::App* verb = app.add_subcommand("agent", "Let this machine take tasks of sweeps");
  verb->add_option("--db", options->place,
                   "The catalogue with the queue: a file, or postgresql://USER@HOST/NAME")
      ->required()
      ->type_name("PLACE");
  verb->add_option("--name", options->name, "This machine's name in the sweep; else the host's");
  verb->add_flag("--ask", options->is_asker,
                 "Ask the agents instead: the task is one line of the standard input, and the "
                 "answer goes to the standard output; the executor agents does so");
  verb->footer(
      "The agent says what the machine has, takes one task after another that fits, and sends the\n"
      "evaluations back through the catalogue. It only connects outward. Ctrl-C ends it; a task\n"
      "that it had is given to another agent. Where a cluster has Slurm, use that instead.\n"
      "\n"
      "Example:\n"
      "  xsp agent --db postgresql://team@db/xsp");
  verb->callback([options, &exit_status] {
    const Status status = agent(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
