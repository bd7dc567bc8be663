// Tests files with malicious content: each affects only its own row, which has the reason.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "desk/store/database.h"
#include "tests/integration/http.h"
#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kEndless =
    "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i > 0) ";

class HostileTest : public XspTest {
 protected:
  // Makes an .xsp file, and then applies `sql` to it.
  void make(const std::string& name, const std::string& sql) {
    auto database = store::Database::create(folder / name);
    ASSERT_TRUE(database.ok()) << database.error().text;
    ASSERT_TRUE(database->execute("INSERT INTO evaluation VALUES ('model', 'tiny')").ok());
    const Status made = database->execute(sql);
    ASSERT_TRUE(made.ok()) << made.error().text;
    ASSERT_TRUE(database->finish().ok());
  }

  // Starts a server over the folder; `ask` is called with its port and its process.
  Finished serve(const std::function<void(uint16_t, int)>& ask) {
    RunOptions options;
    options.watch = [&](const std::string& err, int pid) {
      const uint16_t port = port_of(err);
      if (port == 0) return false;
      ask(port, pid);
      ::kill(pid, SIGTERM);
      return true;
    };
    return run({"serve", "--listen", "127.0.0.1:0"}, options);
  }

  static nlohmann::json body_of(const std::string& answer) {
    const size_t at = answer.find("\r\n\r\n");
    return at == std::string::npos ? nullptr
                                   : nlohmann::json::parse(answer.substr(at + 4), nullptr, false);
  }
};

TEST_F(HostileTest, AnEndlessViewIsRefusedByEveryVerbAndCostsItsRow) {
  make("good.xsp", "SELECT 1");
  make("bad.xsp", "DROP TABLE evaluation; CREATE VIEW evaluation AS " + std::string(kEndless) +
                      "SELECT 'xsp_format' AS key, i::VARCHAR AS value FROM t");
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"query", "bad.xsp", "SELECT 1"},
                                             {"analyze", "model_summary", "bad.xsp"},
                                             {"findings", "bad.xsp"},
                                             {"report", "bad.xsp"},
                                             {"diff", "good.xsp", "bad.xsp"}}) {
    const Finished finished = run(verb);
    EXPECT_EQ(finished.status, 1) << verb[0] << finished.err;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find("bad.xsp: not an .xsp file"), std::string::npos) << finished.err;
  }
  nlohmann::json list;
  const Finished finished = serve(
      [&](uint16_t port, int) { list = body_of(get(port, "/api/v1/evaluations"))["evaluations"]; });
  EXPECT_EQ(finished.status, 0) << finished.err;
  ASSERT_EQ(list.size(), 2u);
  for (const auto& one : list) {
    EXPECT_EQ(one["status"], one["id"] == "good.xsp" ? "ok" : "unreadable") << one;
  }
}

TEST_F(HostileTest, TheViewsOfAFileAreNeverRead) {
  const std::string endless =
      "CREATE OR REPLACE VIEW span AS " + std::string(kEndless) +
      "SELECT i AS run_id, i::BIGINT AS span_id, i::TINYINT AS level, i AS site_id FROM t;";
  make("rows.xsp",
       "CREATE TABLE span_row AS SELECT * EXCLUDE (name, type) FROM span;"
       "CREATE TABLE span_site(site_id INTEGER, name VARCHAR, type VARCHAR); DROP TABLE span;" +
           endless +
           "CREATE OR REPLACE VIEW attribute AS FROM span;"
           "CREATE OR REPLACE VIEW counter AS FROM span");
  make("bare.xsp", "DROP TABLE span; " + endless);
  for (const char* view : {"span", "attribute", "counter"}) {
    const Finished read =
        run({"query", "rows.xsp", "SELECT count(*) AS n FROM " + std::string(view)});
    EXPECT_EQ(read.status, 0) << view << read.err;
  }
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"query", "bare.xsp", "FROM span"},
                                             {"analyze", "model_summary", "bare.xsp"},
                                             {"findings", "bare.xsp"},
                                             {"report", "bare.xsp"}}) {
    const Finished refused = run(verb);
    EXPECT_EQ(refused.status, 1) << verb[0] << refused.err;
    EXPECT_NE(refused.err.find("bare.xsp: not an .xsp file"), std::string::npos) << refused.err;
  }
  const Finished finished = serve([&](uint16_t port, int) {
    const Clock::time_point before = Clock::now();
    const auto list = body_of(get(port, "/api/v1/evaluations"))["evaluations"];
    ASSERT_EQ(list.size(), 2u);
    for (const auto& one : list) {
      EXPECT_EQ(one["status"], one["id"] == "rows.xsp" ? "ok" : "unreadable") << one;
    }
    get(port, "/api/v1/evaluations/rows.xsp/timeline");
    EXPECT_LT(Clock::now() - before, std::chrono::seconds(60));
  });
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(HostileTest, CellsOfAnotherKindThanTheSchemasCostTheirRowAlone) {
  make("good.xsp", "SELECT 1");
  make("null.xsp",
       "DROP TABLE evaluation; CREATE TABLE evaluation(key VARCHAR, value VARCHAR);"
       "INSERT INTO evaluation VALUES ('xsp_format', '2'), ('model', NULL), (NULL, 'x')");
  make("text.xsp", "DROP TABLE run; CREATE TABLE run(run_id INTEGER, batch VARCHAR)");
  make("list.xsp", "DROP TABLE run; CREATE TABLE run(run_id INTEGER, batch INTEGER[])");
  make("huge.xsp",
       "DROP TABLE run; CREATE TABLE run(run_id INTEGER, batch HUGEINT);"
       "INSERT INTO run VALUES (1, 170141183460469231731687303715884105727)");
  make("computed.xsp",
       "DROP TABLE run; CREATE TABLE run(run_id INTEGER, "
       "batch INTEGER GENERATED ALWAYS AS (run_id / 0))");
  nlohmann::json list;
  const Finished finished = serve(
      [&](uint16_t port, int) { list = body_of(get(port, "/api/v1/evaluations"))["evaluations"]; });
  EXPECT_EQ(finished.status, 0) << finished.err;
  ASSERT_EQ(list.size(), 6u);
  for (const auto& one : list) {
    const bool is_fine = one["id"] == "good.xsp" || one["id"] == "null.xsp";
    EXPECT_EQ(one["status"], is_fine ? "ok" : "unreadable") << one;
    EXPECT_EQ(one["reason"].get<std::string>().find('\n'), std::string::npos) << one;
  }
  for (const char* file : {"null.xsp", "text.xsp", "list.xsp", "huge.xsp", "computed.xsp"}) {
    const Finished report = run({"report", file});
    EXPECT_EQ(report.status, std::string(file) == "null.xsp" ? 0 : 1) << file << report.err;
  }
}

// Returns the process of a server that has a file open; 0 if there is none.
int reader_of(int server) {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(server) + "/task")) {
    std::ifstream of_task(task.path() / "children");
    int child = 0;
    if (of_task >> child) return child;
  }
  return 0;
}

TEST_F(HostileTest, ACrashOfTheProcessThatReadsAFileIsOneAnswerAndTheNextIsFine) {
  make("a.xsp", "SELECT 1");
  std::string before, during, after;
  const Finished finished = serve([&](uint16_t port, int server) {
    const std::string target = "/api/v1/evaluations/a.xsp";
    before = get(port, target);
    const int reader = reader_of(server);
    ASSERT_NE(reader, 0);
    ::kill(reader, SIGSEGV);
    // An answer that nobody was given yet is not among the kept ones.
    during = get(port, target + "/analyses/audit");
    after = get(port, target + "/analyses/audit");
  });
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(before.find("HTTP/1.1 200"), std::string::npos) << before;
  EXPECT_NE(during.find("HTTP/1.1 500"), std::string::npos) << during;
  EXPECT_NE(during.find("a.xsp: damaged: the process that read it"), std::string::npos) << during;
  EXPECT_NE(after.find("HTTP/1.1 200"), std::string::npos) << after;
}

TEST_F(HostileTest, AServerThatWaitsForAnAnswerEndsSoonAfterItIsAskedTo) {
  make("good.xsp", "SELECT 1");
  make("bad.xsp", "SELECT 1");
  Clock::time_point asked;
  std::thread waiting;
  std::string good;
  const Finished finished = serve([&](uint16_t port, int pid) {
    EXPECT_NE(get(port, "/api/v1/evaluations/bad.xsp").find("HTTP/1.1 200"), std::string::npos);
    // The process that reads the file no longer answers.
    const int reader = reader_of(pid);
    ASSERT_NE(reader, 0);
    ::kill(reader, SIGSTOP);
    waiting = std::thread([port] { get(port, "/api/v1/evaluations/bad.xsp?again=1"); });
    std::this_thread::sleep_for(std::chrono::seconds(2));
    good = get(port, "/api/v1/evaluations/good.xsp");
    asked = Clock::now();
  });
  if (waiting.joinable()) waiting.join();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(good.find("HTTP/1.1 200"), std::string::npos) << good;
  EXPECT_LT(Clock::now() - asked, std::chrono::seconds(30));
}

TEST_F(HostileTest, WhoAsksAndIsKilledLeavesNoProcessBehind) {
  make("a.xsp", "SELECT 1");
  int reader = 0;
  RunOptions options;
  options.watch = [&](const std::string&, int pid) {
    reader = reader_of(pid);
    if (reader == 0) return false;
    ::kill(pid, SIGKILL);
    return true;
  };
  run({"query", "a.xsp", kEndless + std::string("SELECT max(i) FROM t")}, options);
  const auto until = Clock::now() + std::chrono::seconds(30);
  while (::kill(reader, 0) == 0 && Clock::now() < until) {
    std::ifstream stat("/proc/" + std::to_string(reader) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    if (text.find(") Z") != std::string::npos) break;  // a zombie that its parent does not collect
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_LT(Clock::now(), until);
  // The next process removes the files that it left.
  EXPECT_EQ(run({"query", "a.xsp", "SELECT 1"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
}

}  // namespace
}  // namespace xsp::integration
