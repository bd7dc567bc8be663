#include "desk/sweep/question.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "desk/sweep/answer.h"
#include "shared/base/hex.h"
#include "shared/base/scratch.h"

namespace xsp::sweep {
namespace {

TEST(QuestionTest, AnInputThatFindsNoRoomIsNotAnswered) {
  const auto scratch = ScratchFolder::create();
  ASSERT_TRUE(scratch.ok());
  Plan plan;
  Task& task = plan.tasks.emplace_back();
  task.name = task.model = "model";
  task.input = hex_of(std::string(1 << 20, 'x'));
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const std::atomic<int> stop{0};
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {64 << 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  // It would print nothing and end well, as a model does with a part of a file.
  const Status answered = answer_question(plan, task, "/bin/true", -1, pipe[1], stop);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::close(pipe[1]);
  EXPECT_TRUE(answered.ok());
  Answer answer((*scratch)->path() / "evaluation.xsp");
  char bytes[4096];
  for (ssize_t got; (got = ::read(pipe[0], bytes, sizeof bytes)) > 0;) {
    answer.take({bytes, static_cast<size_t>(got)});
  }
  ::close(pipe[0]);
  Attempt attempt;
  std::string printed;
  ASSERT_TRUE(answer.read(&attempt, &printed));
  EXPECT_EQ(attempt.end, End::kFailed);
  EXPECT_NE(attempt.reason.find("it cannot be written"), std::string::npos) << attempt.reason;
}

}  // namespace
}  // namespace xsp::sweep
