// Tests xsp serve and xsp report, as their users start and end them.

#include <csignal>
#include <fstream>
#include <iterator>

#include "tests/integration/http.h"
#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

class ServeTest : public XspTest {
 protected:
  void profile(const std::string& file) {
    const Finished finished = run({"profile", "fake:layers=3,us=100,wait=sleep", "--max-time",
                                   "0.5", "--no-peaks", "-o", file});
    ASSERT_EQ(finished.status, 0) << finished.err;
  }
};

TEST_F(ServeTest, SaysItsAddressAnswersThereAndEndsByASignal) {
  profile("a.xsp");
  for (const int signal : {SIGINT, SIGTERM}) {
    RunOptions options;
    std::string list;
    Finished second;
    options.watch = [&](const std::string& err, int pid) {
      const uint16_t port = port_of(err);
      if (port == 0) return false;
      list = get(port, "/api/v1/evaluations");
      second = run({"serve", "--listen", "127.0.0.1:" + std::to_string(port)});
      ::kill(pid, signal);
      return true;
    };
    const Finished finished = run({"serve", "--listen", "127.0.0.1:0"}, options);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_NE(list.find("\"id\":\"a.xsp\""), std::string::npos) << list;
    EXPECT_EQ(second.status, 1);
    EXPECT_EQ(error_lines(second), 1) << second.err;
    EXPECT_NE(second.err.find("the port is in use"), std::string::npos) << second.err;
  }
}

TEST_F(ServeTest, BeyondTheLoopbackThereIsATokenWhateverTheEnvironmentSays) {
  RunOptions options;
  options.environment["XSP_TOKEN"] = "";
  options.watch = [&](const std::string& err, int pid) {
    if (err.find('\n') == std::string::npos) return false;
    ::kill(pid, SIGTERM);
    return true;
  };
  const Finished finished = run({"serve", "--listen", "0.0.0.0:0"}, options);
  EXPECT_EQ(finished.status, 0) << finished.err;
  const size_t at = finished.err.find("?token=");
  ASSERT_NE(at, std::string::npos) << finished.err;
  EXPECT_EQ(finished.err.find(' ', at) - at, std::string("?token=").size() + 32) << finished.err;
}

TEST_F(ServeTest, WhatCannotBeServedIsOneLine) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"serve", "nowhere"}, {"serve", "--listen", "x"}, {"report", "nowhere.xsp"}}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 2) << arguments[1];
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
  }
}

TEST_F(ServeTest, ACatalogueThatIsNotThereIsNamedWithoutOptionsOfOtherVerbs) {
  const Finished finished = run({"serve", "--catalogue", "nosuch/c.sqlite"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_NE(finished.err.find("nosuch/c.sqlite: no catalogue is there: "), std::string::npos)
      << finished.err;
  EXPECT_EQ(finished.err.find("name one with --db"), std::string::npos) << finished.err;
}

TEST_F(ServeTest, AReportIsOneFileAndNothingBesideIt) {
  profile("a.xsp");
  profile("b.xsp");
  const Finished finished = run({"report", "a.xsp", "b.xsp", "-o", "change.html"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(files(), (std::vector<std::string>{"a.xsp", "b.xsp", "change.html", "tmp"}));
  std::ifstream file(folder / "change.html", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("<script id=\"xsp-recorded\" type=\"application/gzip+base64\">"),
            std::string::npos);
  EXPECT_EQ(text.find("<!--xsp:recorded-->"), std::string::npos);
}

}  // namespace
}  // namespace xsp::integration
