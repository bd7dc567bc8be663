// Tests what xsp serve does for those who have a token: models answer, sweeps run, notes are kept.
#include <signal.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tests/integration/answering_model.h"
#include "tests/integration/http.h"
#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ServeRequestsTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    for (const char* name : {"manifests", "served"}) fs::create_directory(folder / name);
    write_file("manifests/family.yaml",
               std::string(kAnsweringModel) + "models:\n  - name: first\n  - name: second\n");
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
    options.watch = end_when_asked(asks);
    const Finished served = run({"serve", "served", "--listen", "127.0.0.1:0", "--catalogue",
                                 "catalogue.sqlite", "--allow-run", "local", "--notes"},
                                options);
    EXPECT_EQ(served.status, 0) << served.err;
  }
  json post(uint16_t port, const std::string& target, const std::string& body) const {
    return body_of(send_request(port, "POST", "/api/v1" + target, body, token_));
  }

  json remove(uint16_t port, const std::string& target) const {
    return body_of(send_request(port, "DELETE", "/api/v1" + target, "", token_));
  }
  static std::string sweep_text(const std::string& name, const std::string& max_time) {
    return "name: " + name + "\nmodels: [first]\nframeworks: [fake]\nbatches: [1, 2]\n" +
           "options: {max-time: " + max_time + ", no-peaks: true}\n";
  }
  // Waits until `is_so` holds for the sweep, and returns what the server says of it.
  static json sweep_when(uint16_t port, const std::string& name,
                         const std::function<bool(const json&)>& is_so) {
    json state;
    for (int i = 0; i < 600; ++i) {
      state = body_of(get(port, "/api/v1/sweeps/" + name));
      if (state.is_object() && state.contains("state") && is_so(state)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return state;
  }
  // Returns the cells of one column of a listing.
  static json column(uint16_t port, const std::string& listing, const std::string& name) {
    const json rows = body_of(get(port, "/api/v1" + listing));
    json cells = json::array();
    if (!rows.is_object() || !rows.contains("columns")) return rows;
    for (size_t i = 0; i < rows["columns"].size(); ++i) {
      if (rows["columns"][i]["name"] != name) continue;
      for (const json& row : rows["rows"]) cells.push_back(row[i]);
    }
    return cells;
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

TEST_F(ServeRequestsTest, ANoteNeedsARunThatExists) {
  const Finished profiled = run(
      {"profile", "fake:layers=1,us=50", "--max-time", "0.1", "--no-peaks", "-o", "served/a.xsp"});
  ASSERT_EQ(profiled.status, 0) << profiled.err;
  std::string kept, refused;
  serve([&](uint16_t port) {
    const std::string rest = ", \"from_ns\": 0, \"to_ns\": 9, \"text\": \"t\"}";
    const auto note = [&](const std::string& number) {
      return send_request(port, "POST", "/api/v1/evaluations/a.xsp/notes",
                          "{\"run\": " + number + rest, token_);
    };
    kept = note("1");
    refused = note("99");
  });
  EXPECT_TRUE(kept.starts_with("HTTP/1.1 201")) << kept;
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 404")) << refused;
  EXPECT_NE(refused.find("run 99: not in this evaluation"), std::string::npos) << refused;
}

TEST_F(ServeRequestsTest, AFailedSweepSaysWhyAndSaysItAgain) {
  fs::remove(folder / "manifests" / "model.fake");
  json ended, by_id, listed, reasons, again;
  serve([&](uint16_t port) {
    const json begun = post(port, "/sweeps", sweep_text("one", "0.1"));
    ended = sweep_when(port, "one", [](const json& one) {
      return one["state"] != "waiting" && one["state"] != "running";
    });
    by_id = body_of(get(port, "/api/v1/sweeps/" + begun.value("id", "none")));
    listed = column(port, "/sweeps?sweep=one", "state");
    reasons = column(port, "/tasks?sweep=one", "reason");
  });
  serve([&](uint16_t port) { again = body_of(get(port, "/api/v1/sweeps/one")); });
  EXPECT_EQ(ended["state"], "failed") << ended;
  const std::string reason = ended.value("reason", "");
  EXPECT_TRUE(reason.starts_with("2 of 2 tasks have no result: ")) << reason;
  EXPECT_NE(reason.find("model.fake: no such file"), std::string::npos) << reason;
  EXPECT_EQ(by_id, ended);
  EXPECT_EQ(listed, json::array({"failed"}));
  ASSERT_EQ(reasons.size(), 2u) << reasons;
  for (const json& one : reasons) {
    ASSERT_TRUE(one.is_string()) << reasons;
    EXPECT_NE(one.get<std::string>().find("model.fake: no such file"), std::string::npos) << one;
  }
  EXPECT_EQ(again, ended);
}

TEST_F(ServeRequestsTest, ASweepThatCanNeverRunIsRefusedAsOnTheCommandLine) {
  const std::string head = "name: none\n";
  for (const char* rest :
       {"models: [nosuch]\n", "models: [first, mobilenet_v22]\n", "models: []\n",
        "models: [first]\nframeworks: [nosuch]\n", "models: [first]\nframeworks: []\n",
        "models: [first]\nscenarios: [nosuch]\n", "models: [first]\nlevels: [nosuch]\n",
        "models: [first]\nreference: {model: nosuch}\n"}) {
    write_file("sweep.yaml", head + rest);
    RunOptions options;
    options.environment["XSP_MANIFESTS"] = (folder / "manifests").string();
    const Finished dry = run({"sweep", "sweep.yaml", "--dry-run"}, options);
    EXPECT_EQ(dry.status, 2) << rest << dry.out;
    std::string answer;
    serve([&](uint16_t port) {
      answer = send_request(port, "POST", "/api/v1/sweeps", head + rest, token_);
    });
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << rest << answer;
    EXPECT_EQ("error: " + body_of(answer).value("error", "") + "\n", dry.err);
  }
  EXPECT_FALSE(fs::exists(folder / "served" / "sweeps" / "none"));
}

TEST_F(ServeRequestsTest, ACancelledSweepIsSoEverywhere) {
  json running, never, cancelled, listed, tasks, again;
  serve([&](uint16_t port) {
    post(port, "/sweeps", sweep_text("slow", "60"));
    post(port, "/sweeps", sweep_text("never", "60"));
    never = remove(port, "/sweeps/never");
    running = sweep_when(port, "slow", [](const json& one) { return one["running"] > 0; });
    cancelled = remove(port, "/sweeps/" + running.value("id", "none"));
    listed = column(port, "/sweeps", "state");
    tasks = column(port, "/tasks?sweep=slow", "state");
  });
  serve([&](uint16_t port) {
    for (const char* name : {"slow", "never"}) {
      again.push_back(body_of(get(port, std::string("/api/v1/sweeps/") + name)));
    }
  });
  EXPECT_EQ(cancelled["state"], "cancelled") << cancelled;
  EXPECT_EQ(cancelled["name"], "slow");
  EXPECT_NE(cancelled["reason"], "");
  EXPECT_EQ(never["state"], "cancelled") << never;
  EXPECT_EQ(listed, json::array({"cancelled"}));
  EXPECT_EQ(tasks, json::array({"pending", "pending"}));
  EXPECT_EQ(again, json::array({cancelled, never}));
}

}  // namespace
}  // namespace xsp::integration
