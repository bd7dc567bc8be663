// Runs the tasks on machines that ssh reaches, one at a time on each device of each machine. They
// need xsp, and no common folder: the plan goes there and the evaluation comes back by ssh.
#include "executors/shared/executor.h"
#include "executors/shared/lanes.h"
#include "shared/base/words.h"

namespace xsp::executors {
namespace {

Result<std::vector<std::string>> systems(const Settings& settings) {
  return texts_of(settings, "hosts");
}

// The remote words go through a shell there.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

Result<std::unique_ptr<Session>> open(const Job& job) {
  const std::vector<std::string> hosts = texts_of(job.settings, "hosts");
  const auto command = [job](size_t index, const std::string& host) {
    std::vector<std::string> words = {job.program, "task", job.plan, std::to_string(index)};
    words.insert(words.end(), {"--through", "ssh"});
    for (const std::string& option : texts_of(job.settings, "options")) {
      words.insert(words.end(), {"--through", option});
    }
    // Without a terminal ssh can ask nothing. A machine that is gone is noticed within a minute.
    for (const char* option : {"-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=15",
                               "-oServerAliveCountMax=3"}) {
      words.insert(words.end(), {"--through", option});
    }
    words.insert(words.end(),
                 {"--through", host, "--through", quoted(text_of(job.settings, "xsp", "xsp")),
                  "--through", "task", "--through", "-", "--through", "0", "--on", host});
    return words;
  };
  return std::unique_ptr<Session>(new Lanes(job, hosts, command));
}

}  // namespace

std::vector<Executor> ssh_executors() {
  return {{"ssh",
           "machines that ssh reaches: one task at a time on each device of each",
           {{"hosts", "the list of machines, as ssh knows them", true},
            {"xsp", "the path of xsp on them; else it is found by their PATH", false},
            {"options", "options of ssh, such as [-p, 2222]", false}},
           systems,
           open}};
}

}  // namespace xsp::executors
