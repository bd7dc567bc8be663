// Tests invalid text, wherever it may come in: nothing crashes, and no measurement is lost.
#include <csignal>
#include <fstream>
#include <iterator>

#include "tests/integration/http.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

const std::string kNoText = "a\xFFz";

class TextTest : public XspTest {
 protected:
  void profile(const std::string& file) {
    const Finished finished = run({"profile", "fake:layers=3,us=100,wait=sleep", "--max-time",
                                   "0.5", "--no-peaks", "-o", file});
    ASSERT_EQ(finished.status, 0) << finished.err;
  }
  void expect_refused(const std::vector<std::string>& arguments) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 2) << finished.err;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find("not UTF-8"), std::string::npos) << finished.err;
  }
};

TEST_F(TextTest, AnArgumentThatIsNoneIsAnErrorInOneLine) {
  profile("a.xsp");
  const std::vector<std::string> before = files();
  expect_refused({"analyze", "hotspots", "a.xsp", "--param", "level=" + kNoText});
  expect_refused({"query", "a.xsp", "SELECT '" + kNoText + "'"});
  expect_refused({"import", "a.xtrace", "--name", kNoText});
  expect_refused({"profile", "fake:layers=1", "-o", kNoText + ".xsp"});
  expect_refused({"run", "-o", kNoText + ".xsp", "--", "true"});
  expect_refused({"serve", kNoText});
  EXPECT_EQ(files(), before);
}

TEST_F(TextTest, ARequestThatIsNoneIsAnsweredWith400AndTheServerLives) {
  profile("a.xsp");
  RunOptions options;
  std::vector<std::string> answers;
  std::string list;
  options.watch = [&](const std::string& err, int pid) {
    const uint16_t port = port_of(err);
    if (port == 0) return false;
    for (const char* target :
         {"/evaluations/a.xsp/timeline/search?run=1&text=%FF",
          "/evaluations/a.xsp/analyses/hotspots?level=%FF",
          "/evaluations/a.xsp/analyses/hotspots?%FF=1", "/evaluations/%FF.xsp",
          "/compare/model?e=a.xsp&e=%C0%AF", "/evaluations/a.xsp/analyses/hotspots?level=%00%1B"}) {
      answers.push_back(get(port, std::string("/api/v1") + target));
    }
    list = get(port, "/api/v1/evaluations");
    ::kill(pid, SIGTERM);
    return true;
  };
  const Finished finished = run({"serve", "--listen", "127.0.0.1:0"}, options);
  EXPECT_EQ(finished.status, 0) << finished.err;
  for (const std::string& answer : answers) {
    EXPECT_NE(answer.find("HTTP/1.1 400"), std::string::npos) << answer;
  }
  EXPECT_NE(list.find("\"id\":\"a.xsp\""), std::string::npos) << list;
}

TEST_F(TextTest, AModelWithAFlippedByteInANameIsMeasuredAndItsFileWritten) {
  if (run({"doctor"}).out.find("onnxruntime.so") == std::string::npos) {
    GTEST_SKIP() << "ONNX Runtime is not installed";
  }
  std::ifstream file(places::source("tests/data/onnx/branch.onnx"), std::ios::binary);
  std::string model((std::istreambuf_iterator<char>(file)), {});
  const size_t name = model.find("if1");
  ASSERT_NE(name, std::string::npos);
  model[name + 1] = '\xFF';
  write_file("m.onnx", model);
  const Finished finished = run({"profile", "m.onnx", "--framework", "onnxruntime", "--max-time",
                                 "0.5", "--no-peaks", "-o", "m.xsp"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("m.xsp", "SELECT name FROM model_layer WHERE type = 'If'"),
            "i\xEF\xBF\xBD"
            "1");
  EXPECT_EQ(scalar("m.xsp", "SELECT value::INT >= 1 FROM evaluation WHERE key = 'texts_replaced'"),
            true);
}

class WatchedTextTest : public WatchedTest {};

TEST_F(WatchedTextTest, ACommandsWordsMayBeAnyBytesAndWhatIsKeptIsCounted) {
  const Finished finished = run({"run", "-o", "r.xsp", "--", "sh", "-c", "exit 5", kNoText});
  EXPECT_EQ(finished.status, 5) << finished.err;
  EXPECT_EQ(scalar("r.xsp", "SELECT value FROM evaluation WHERE key = 'command'"),
            "sh -c exit 5 a\xEF\xBF\xBDz");
  EXPECT_EQ(scalar("r.xsp", "SELECT value::INT >= 1 FROM evaluation WHERE key = 'texts_replaced'"),
            true);
}

}  // namespace
}  // namespace xsp::integration
