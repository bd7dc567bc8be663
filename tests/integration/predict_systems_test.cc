// Tests predictions on other machines, by the engines that reach one: the models of a machine by
// ssh, and of one that runs an agent, answer a file that is uploaded to `xsp serve`.
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "tests/integration/answering_model.h"
#include "tests/integration/engines.h"
#include "tests/integration/http.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class PredictSystemsTest : public XspTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    engine_ = make_engine(GetParam());
    const std::string why_not = engine_->why_not();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    for (const char* name : {"engine", "manifests", "served"}) fs::create_directory(folder / name);
    fs::permissions(folder, fs::perms(0755));
    write_file("manifests/bytes.yaml", std::string("name: bytes\n") + kAnsweringModel);
    write_file("manifests/model.fake", "fake:layers=1,us=10");
    // An agent has it from us; a login by ssh has an environment of its own.
    ::setenv("XSP_MANIFESTS", (folder / "manifests").c_str(), 1);
    write_file("xsp", "#!/bin/sh\nXSP_MANIFESTS=" + (folder / "manifests").string() + " exec " +
                          places::bin("xsp") + " \"$@\"\n");
    fs::permissions(folder / "xsp", fs::perms(0755));
    ASSERT_TRUE(engine_->start(folder / "engine"));
    std::string settings = engine_->settings();
    const size_t program = settings.find(places::bin("xsp"));
    if (program != std::string::npos) {
      settings.replace(program, places::bin("xsp").size(), (folder / "xsp").string());
    }
    write_file("executors.yaml", "executors: {" + engine_->executor() + ": {" + settings + "}}\n");
    ASSERT_EQ(run({"catalogue", "rebuild", "served", "--db", "catalogue.sqlite"}).status, 0);
    const Finished token = run(
        {"catalogue", "token", "new", "--name", "t", "--scope", "run", "--db", "catalogue.sqlite"});
    token_ = token.out.substr(0, token.out.find('\n'));
  }
  void TearDown() override {
    engine_.reset();
    ::unsetenv("XSP_MANIFESTS");
    XspTest::TearDown();
  }
  // Runs a server as long as `asks` asks it.
  void serve(const std::function<void(uint16_t port)>& asks) const {
    RunOptions options;
    options.watch = end_when_asked(asks);
    const Finished served =
        run({"serve", "served", "--listen", "127.0.0.1:0", "--catalogue", "catalogue.sqlite",
             "--allow-run", engine_->executor(), "--executors", "executors.yaml"},
            options);
    EXPECT_EQ(served.status, 0) << served.err;
  }
  json predict(uint16_t port, const std::string& query, std::string* status) const {
    const std::string answer =
        send_request(port, "POST", "/api/v1/predictions?" + query, "aaaaazaa", token_);
    *status = answer.substr(9, 3);
    return body_of(answer);
  }

  std::unique_ptr<EngineUnderTest> engine_;
  std::string token_;
};

TEST_P(PredictSystemsTest, TheSameModelAnswersOnEachMachine) {
  json offered, answer, refused, failed;
  std::string status, refused_status, failed_status, traced;
  serve([&](uint16_t port) {
    offered = body_of(get(port, "/api/v1/predictions"));
    const std::string other = offered["systems"].back();
    answer = predict(port, "model=bytes&system=here&system=" + other, &status);
    refused = predict(port, "model=bytes&system=nosuch", &refused_status);
    traced =
        get(port,
            "/api/v1/evaluations/predictions%2F" +
                fs::path(answer["predictions"][1].value("evaluation", "none")).filename().string());
    fs::remove(folder / "manifests" / "model.fake");
    failed = predict(port, "model=bytes&system=" + other, &failed_status);
  });
  ASSERT_EQ(offered["systems"].size(), 3u) << offered;  // here, and the two of the engine
  EXPECT_EQ(offered["systems"][0], "here");
  ASSERT_EQ(status, "200") << answer;
  ASSERT_EQ(answer["predictions"].size(), 2u) << answer;
  const json& here = answer["predictions"][0];
  const json& there = answer["predictions"][1];
  EXPECT_EQ(here["system"], "here");
  EXPECT_EQ(there["system"], offered["systems"][2]);
  EXPECT_EQ(there["status"], "ok") << there;
  EXPECT_EQ(there["outputs"][0]["label"], "five") << there;
  EXPECT_EQ(there["outputs"], here["outputs"]);
  EXPECT_NE(there["evaluation"], here["evaluation"]);
  EXPECT_EQ(there["trace"]["total_rows"], here["trace"]["total_rows"]);
  EXPECT_TRUE(traced.starts_with("HTTP/1.1 200")) << traced;
  EXPECT_EQ(refused_status, "400");
  EXPECT_NE(refused.value("error", "").find("system 'nosuch': there is none"), std::string::npos);
  // A failure there is told with its reason, and leaves no trace.
  ASSERT_EQ(failed_status, "200") << failed;
  EXPECT_EQ(failed["predictions"][0]["status"], "failed");
  EXPECT_NE(failed["predictions"][0].value("reason", "").find("model.fake: no such file"),
            std::string::npos)
      << failed;
  const fs::directory_iterator traces(folder / "served" / "predictions");
  EXPECT_EQ(std::distance(traces, fs::directory_iterator()), 2);
}

TEST_P(PredictSystemsTest, AStepInPythonRunsOnNoMachine) {
  // The server's own manifest is harmless; that of the other machine, of the same name, is not.
  fs::create_directory(folder / "theirs");
  std::string python = std::string("name: bytes\n") + kAnsweringModel;
  const std::string cast = "cast: {to: float32}";
  python.replace(python.find(cast), cast.size(), cast + ", python: 'own.py:run'");
  write_file("theirs/bytes.yaml", python);
  write_file("theirs/model.fake", "fake:layers=1,us=10");
  write_file("theirs/own.py", "def run(x):\n    open('" + (folder / "ran").string() +
                                  "', 'w')\n    return x.astype('float32')\n");
  fs::rename(folder / "manifests", folder / "ours");
  fs::rename(folder / "theirs", folder / "manifests");
  ::setenv("XSP_MANIFESTS", (folder / "ours").c_str(), 1);
  json answer;
  std::string status;
  serve([&](uint16_t port) {
    const std::string other = body_of(get(port, "/api/v1/predictions"))["systems"].back();
    answer = predict(port, "model=bytes&system=" + other, &status);
  });
  ASSERT_EQ(status, "200") << answer;
  EXPECT_EQ(answer["predictions"][0]["status"], "failed") << answer;
  EXPECT_NE(answer["predictions"][0].value("reason", "").find("runs the manifest's code"),
            std::string::npos)
      << answer;
  EXPECT_FALSE(fs::exists(folder / "ran"));
}

INSTANTIATE_TEST_SUITE_P(Engines, PredictSystemsTest, testing::Values("ssh", "agents"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace xsp::integration
