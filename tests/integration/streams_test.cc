// Tests closed standard streams: no file of xsp takes their place.
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class StreamsTest : public XspTest {
 protected:
  // Runs xsp with these arguments, by a shell that closes streams.
  Finished run_without(const std::string& closed, const std::string& arguments) {
    RunOptions options;
    options.program = "/bin/sh";
    return run({"-c", "exec '" + places::bin("xsp") + "' " + arguments + " " + closed}, options);
  }
};

TEST_F(StreamsTest, WhatIsWrittenIsWholeWhicheverStreamsAreClosed) {
  for (const char* closed : {"2>&-", "1>&-", "0<&-", "0<&- 1>&- 2>&-"}) {
    // It writes much to standard error while its file is open.
    run_without(closed,
                "profile fake:layers=3,us=100,wait=sleep --framework fake "
                "--max-time 0.5 --no-peaks -o a.xsp");
    EXPECT_GT(scalar("a.xsp", "SELECT count(*) FROM span"), 0) << closed;
    std::filesystem::remove(folder / "a.xsp");
  }
}

TEST_F(StreamsTest, AResultThatNobodyCanGetIsAnError) {
  const Finished finished = run_without("1>&-", "models");
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
}

class WatchedStreamsTest : public WatchedTest {};

TEST_F(WatchedStreamsTest, ACommandFindsClosedWhatWasClosed) {
  RunOptions options;
  options.program = "/bin/sh";
  const Finished finished = run(
      {"-c", "exec '" + places::bin() +
                 "/xsp' run --quiet -o a.xsp -- sh -c 'test ! -e /proc/$$/fd/2 && exit 7' 2>&-"},
      options);
  EXPECT_EQ(finished.status, 7);
  EXPECT_GT(scalar("a.xsp", "SELECT count(*) FROM span"), 0);
}

}  // namespace
}  // namespace xsp::integration
