#include "desk/sweep/child.h"

#include <gtest/gtest.h>

#include "shared/base/scratch.h"

namespace xsp::sweep {
namespace {

// Interrupts a child that needs 0.4 s to end. Returns its status.
int end_within(double end_s) {
  const auto scratch = ScratchFolder::create();
  ChildOptions options;
  options.words = {"/bin/sh", "-c", "trap 'sleep 0.4; exit 7' INT; while :; do sleep 0.05; done"};
  options.log = (*scratch)->path() / "log";
  options.end_s = end_s;
  int ticks = 0;
  options.tick = [&ticks] { return ++ticks < 5; };  // by then the shell waits for the signal
  const auto end = run_child(options);
  return end.ok() ? end->status : -1;
}

TEST(ChildTest, GetsTheTimeToEndThatItIsGiven) {
  EXPECT_EQ(end_within(30), 7);
  EXPECT_EQ(end_within(0.1), 128 + 9);
}

}  // namespace
}  // namespace xsp::sweep
