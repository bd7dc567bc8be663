// Lets agents run the tasks: machines that connect outward to the catalogue (xsp agent), and need
// neither a scheduler nor a common folder. Each task that is asked for has a process here, which
// waits for the answer.
#include "desk/catalogue/queue.h"
#include "executors/shared/executor.h"
#include "executors/shared/lanes.h"

namespace xsp::executors {
namespace {

constexpr size_t kAskedMax = 32;  // at one time; more agents than that wait

Result<std::vector<std::string>> agents(const Settings& settings) {
  XSP_TRY(catalogue::Queue queue, catalogue::Queue::open(text_of(settings, "db")));
  XSP_TRY(const std::vector<catalogue::AgentRow> rows, queue.agents());
  std::vector<std::string> names;
  for (const catalogue::AgentRow& row : rows) names.push_back(row.name);
  return names;
}

std::vector<std::string> through(const Settings& settings, const std::filesystem::path& program,
                                 const std::string& system) {
  return {program, "agent", "--ask", "--db", text_of(settings, "db"), "--name", system};
}

Result<std::unique_ptr<Session>> open(const Job& job) {
  XSP_TRY(const std::vector<std::string> names, agents(job.settings));
  if (names.empty()) {
    return not_available("agents: no agent is there: start one with xsp agent --db " +
                         text_of(job.settings, "db"));
  }
  const auto command = [job](size_t index, const std::string&) {
    std::vector<std::string> words = {job.program, "task", job.plan, std::to_string(index)};
    for (const std::string& word : through(job.settings, job.program, job.units[index].system)) {
      words.insert(words.end(), {"--through", word});
    }
    words.insert(words.end(), {"--on", "an agent"});
    return words;
  };
  Job any = job;
  for (Unit& unit : any.units) unit.system.clear();
  std::vector<std::string> slots;
  for (size_t i = 0; i < kAskedMax; ++i) slots.push_back("agents " + std::to_string(i));
  return std::unique_ptr<Session>(new Lanes(std::move(any), std::move(slots), command));
}

}  // namespace

std::vector<Executor> agents_executors() {
  return {
      {"agents",
       "machines that run xsp agent, and only connect outward",
       {{"db", "the catalogue that they connect to: a file, or postgresql://USER@HOST/NAME", true}},
       agents,
       open,
       through}};
}

}  // namespace xsp::executors
