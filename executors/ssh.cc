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

std::vector<std::string> through(const Settings& settings, const std::filesystem::path&,
                                 const std::string& host) {
  std::vector<std::string> words = {"ssh"};
  for (const std::string& option : texts_of(settings, "options")) words.push_back(option);
  // Without a terminal ssh can ask nothing. A machine that is gone is noticed within a minute.
  words.insert(words.end(), {"-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=15",
                             "-oServerAliveCountMax=3", host,
                             quoted(text_of(settings, "xsp", "xsp")), "task", "-", "0"});
  return words;
}

Result<std::unique_ptr<Session>> open(const Job& job) {
  const auto command = [job](size_t index, const std::string& host) {
    std::vector<std::string> words = {job.program, "task", job.plan, std::to_string(index)};
    for (const std::string& word : through(job.settings, job.program, host)) {
      words.insert(words.end(), {"--through", word});
    }
    words.insert(words.end(), {"--on", host});
    return words;
  };
  return std::unique_ptr<Session>(new Lanes(job, texts_of(job.settings, "hosts"), command));
}

}  // namespace

std::vector<Executor> ssh_executors() {
  return {{"ssh",
           "machines that ssh reaches: one task at a time on each device of each",
           {{"hosts", "the list of machines, as ssh knows them", true},
            {"xsp", "the path of xsp on them; else it is found by their PATH", false},
            {"options", "options of ssh, such as [-p, 2222]", false}},
           systems,
           open,
           through}};
}

}  // namespace xsp::executors
