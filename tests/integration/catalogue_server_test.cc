// Tests what a PostgreSQL server may do to those who keep a catalogue on it.
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/integration/http.h"
#include "tests/integration/postgres_server.h"
#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

class CatalogueServerTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    const std::string why_not = PostgresServer::why_not();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    ASSERT_TRUE(server_.create());
    // A short time for a new connection keeps the test short.
    place_ = server_.address() + "&connect_timeout=2";
    ASSERT_EQ(run({"catalogue", "rebuild", ".", "--db", place_}).status, 0);
  }
  nlohmann::json ask(const std::string& sql, const std::string& place) const {
    const Finished asked = run({"catalogue", "query", sql, "--db", place, "--format", "json"});
    EXPECT_EQ(asked.status, 0) << asked.err;
    return nlohmann::json::parse(asked.out, nullptr, false);
  }
  // Runs xsp serve until `asks` has asked it.
  Finished serve(const std::function<void(uint16_t port)>& asks, RunOptions options = {}) const {
    options.watch = end_when_asked(asks);
    return run({"serve", "--listen", "127.0.0.1:0", "--catalogue", place_}, options);
  }

  PostgresServer server_;
  std::string place_;
};

TEST_F(CatalogueServerTest, ASilentOneCostsARequestABoundedTime) {
  std::string before, silent;
  Clock::duration took{};
  Clock::time_point ended_at;
  std::thread other;
  const Finished served = serve([&](uint16_t port) {
    before = get(port, "/api/v1/models");  // its connection is kept
    server_.halt();
    const auto begun_at = Clock::now();
    silent = get(port, "/api/v1/models");
    took = Clock::now() - begun_at;
    other = std::thread([port] { (void)get(port, "/api/v1/models"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ended_at = Clock::now();
  });
  EXPECT_LT(Clock::now() - ended_at, seconds(30)) << "a request that waits keeps it from ending";
  server_.resume();
  if (other.joinable()) other.join();
  EXPECT_EQ(served.status, 0) << served.err;
  EXPECT_TRUE(before.starts_with("HTTP/1.1 200")) << before;
  EXPECT_TRUE(silent.starts_with("HTTP/1.1 503")) << silent;
  EXPECT_LT(took, seconds(45));
}

TEST_F(CatalogueServerTest, AnAgentOfASilentOneCanBeEnded) {
  Clock::time_point ended_at;
  RunOptions options;
  options.watch = [&](const std::string& err, int pid) {
    if (err.find("agent one:") == std::string::npos) return false;
    server_.halt();
    std::this_thread::sleep_for(seconds(1));  // it asks for a task twice a second
    ended_at = Clock::now();
    ::kill(pid, SIGTERM);
    return true;
  };
  const Finished agent = run({"agent", "--db", place_, "--name", "one"}, options);
  EXPECT_LT(Clock::now() - ended_at, seconds(30));
  server_.resume();
  EXPECT_NE(agent.err.find("the server does not answer"), std::string::npos) << agent.err;
}

// A client that vanishes keeps others from writing for a minute, unless the user says otherwise.
TEST_F(CatalogueServerTest, ALockIsKeptForABoundedTime) {
  const std::string sql =
      "SELECT setting FROM pg_settings WHERE name IN ('lock_timeout', "
      "'idle_in_transaction_session_timeout') ORDER BY name";
  EXPECT_EQ(ask(sql, place_).dump(), R"([{"setting":"60000"},{"setting":"60000"}])");
  EXPECT_EQ(ask(sql, place_ + "&options=-c%20lock_timeout%3D7s").dump(),
            R"([{"setting":"60000"},{"setting":"7000"}])");
}

TEST_F(CatalogueServerTest, APathOfAnyBytesIsLogged) {
  std::string wrong;
  RunOptions options;
  options.environment = {{"XSP_TOKEN", "right"}};
  const Finished served = serve(
      [&](uint16_t port) { wrong = send_request(port, "GET", "/api/v1/%ff", "", "xsp_wrong"); },
      options);
  EXPECT_EQ(served.status, 0) << served.err;
  EXPECT_TRUE(wrong.starts_with("HTTP/1.1 401")) << wrong;
  const auto log = ask("SELECT path FROM audit", place_);
  ASSERT_EQ(log.size(), 1u) << log;
  EXPECT_EQ(log[0]["path"], "/api/v1/\xEF\xBF\xBD");
}

}  // namespace
}  // namespace xsp::integration
