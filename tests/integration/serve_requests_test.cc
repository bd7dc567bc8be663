// Tests what xsp serve does for those who have a token: models answer, sweeps run, notes are kept.
#include <signal.h>

#include <cstdlib>
#include <functional>

#include "tests/integration/http.h"
#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Two models whose answer is the place of the largest of a file's first eight bytes.
constexpr const char* kFamily =
    "version: 1.0.0\ntask: classification\nframework: {name: fake}\nmodel: {path: model.fake}\n"
    "inputs:\n  - {name: x, dtype: float32, dimensions: [N, 8], from: bytes,\n"
    "     steps: [byte_window: {begin: 8}, cast: {to: float32}]}\n"
    "outputs:\n  - name: y\n    labels: [zero, one, two, three, four, five, six, seven]\n"
    "    steps: [top: {count: 2}]\n"
    "models:\n  - name: first\n  - name: second\n";

class ServeRequestsTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    for (const char* name : {"manifests", "served"}) fs::create_directory(folder / name);
    write_file("manifests/family.yaml", kFamily);
    write_file("manifests/model.fake", "fake:layers=1,us=10");
    ASSERT_EQ(run({"catalogue", "rebuild", "served", "--db", "catalogue.sqlite"}).status, 0);
    const Finished token = run(
        {"catalogue", "token", "new", "--name", "t", "--scope", "run", "--db", "catalogue.sqlite"});
    token_ = token.out.substr(0, token.out.find('\n'));
  }
  // Runs a server as long as `asks` asks it.
  void serve(const std::function<void(uint16_t port)>& asks) const {
    RunOptions options;
    options.environment["XSP_MANIFESTS"] = (folder / "manifests").string();
    options.watch = [&](const std::string& err, int pid) {
      const uint16_t port = port_of(err);
      if (port == 0) return false;
      asks(port);
      ::kill(pid, SIGTERM);
      return true;
    };
    const Finished served = run({"serve", "served", "--listen", "127.0.0.1:0", "--catalogue",
                                 "catalogue.sqlite", "--allow-run", "local", "--notes"},
                                options);
    EXPECT_EQ(served.status, 0) << served.err;
  }
  json post(uint16_t port, const std::string& target, const std::string& body) const {
    return body_of(send_request(port, "POST", "/api/v1" + target, body, token_));
  }

  std::string token_;
};

TEST_F(ServeRequestsTest, AModelOfAManifestThatDescribesSeveralAnswers) {
  write_file("second", "a file that has a model's name is no model");
  json answer;
  serve([&](uint16_t port) {
    answer = post(port, "/predictions?model=first&model=second", "aaaaazaa");
  });
  ASSERT_TRUE(answer.is_object() && answer["predictions"].size() == 2) << answer;
  for (const json& one : answer["predictions"]) {
    ASSERT_EQ(one["status"], "ok") << one;
    EXPECT_EQ(one["outputs"][0]["label"], "five") << one;
  }
}

}  // namespace
}  // namespace xsp::integration
