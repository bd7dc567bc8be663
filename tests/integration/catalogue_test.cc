// Tests xsp catalogue over both engines: SQLite, and a real PostgreSQL server.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "desk/store/database.h"
#include "desk/store/subset.h"
#include "tests/integration/http.h"
#include "tests/integration/postgres_server.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

enum class Kind { kSqlite, kPostgres };

class CatalogueTest : public XspTest, public testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    if (GetParam() == Kind::kSqlite) {
      place_ = (folder / "catalogue.sqlite").string();
      return;
    }
    const std::string why_not = PostgresServer::why_not();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    server_ = std::make_unique<PostgresServer>();
    ASSERT_TRUE(server_->create());
    place_ = server_->address();
  }
  void TearDown() override {
    server_.reset();
    XspTest::TearDown();
  }

  // Writes an evaluation of four layers at the batch sizes 1 and 2, under this name.
  // The machine has one fact besides, if it is given, and the file is changed by SQL.
  void make(const std::string& name, const std::string& model, const std::string& key = "",
            const std::string& value = "", const std::string& change = "") const {
    std::filesystem::create_directories((folder / name).parent_path());
    auto database = store::Database::create(folder / name);
    ASSERT_TRUE(database.ok()) << database.error().text;
    std::ifstream fixture(places::source("tests/data/small.sql"));
    std::ostringstream sql;
    sql << fixture.rdbuf() << "UPDATE evaluation SET value = '" << model
        << "' WHERE key = 'model';";
    if (!key.empty()) sql << "INSERT INTO evaluation VALUES ('" << key << "', '" << value << "');";
    sql << change;
    ASSERT_TRUE(database->execute(sql.str()).ok());
    ASSERT_TRUE(database->finish().ok());
  }
  void make_some(int number) const {
    for (int i = 0; i < number; ++i) {
      make("results/" + std::to_string(100 + i) + ".xsp", "model" + std::to_string(i));
    }
  }

  Finished catalogue(std::vector<std::string> words, const RunOptions& options = {}) const {
    words.insert(words.begin(), "catalogue");
    words.insert(words.end(), {"--db", place_});
    return run(words, options);
  }
  nlohmann::json ask(const std::string& sql) const {
    const Finished finished = catalogue({"query", sql, "--format", "json"});
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, false);
  }
  int64_t count(const std::string& table) const {
    return ask("SELECT count(*) AS n FROM " + table)[0]["n"];
  }
  // Returns everything that files say.
  std::vector<nlohmann::json> contents() const {
    return {ask("SELECT * FROM model ORDER BY id"),
            ask("SELECT * FROM framework ORDER BY id"),
            ask("SELECT * FROM system ORDER BY fingerprint"),
            ask("SELECT * FROM dataset ORDER BY id"),
            ask("SELECT * FROM evaluation ORDER BY id"),
            ask("SELECT * FROM result ORDER BY evaluation, metric")};
  }

  std::string place_;
  std::unique_ptr<PostgresServer> server_;
};

TEST_P(CatalogueTest, TheFiguresAreThoseOfTheAnalyses) {
  make("results/a.xsp", "small");
  const Finished added = catalogue({"add", "results"});
  ASSERT_EQ(added.status, 0) << added.err;
  const nlohmann::json shown = nlohmann::json::parse(
      run({"analyze", "model_information", "results/a.xsp", "--format", "json"}).out);
  const nlohmann::json rows = ask(
      "SELECT batch, metric, value, low, high, unit FROM evaluation JOIN result ON evaluation = "
      "id WHERE metric IN ('inference.latency', 'throughput') ORDER BY batch, metric");
  ASSERT_EQ(rows.size(), 4u) << rows;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rows[2 * i]["value"], shown[i]["latency_ns"]);
    EXPECT_EQ(rows[2 * i]["low"], shown[i]["low_ns"]);
    EXPECT_EQ(rows[2 * i]["high"], shown[i]["high_ns"]);
    EXPECT_EQ(rows[2 * i]["unit"], "ns");
    EXPECT_EQ(rows[2 * i + 1]["value"], shown[i]["throughput_per_s"]);
    EXPECT_LT(rows[2 * i + 1]["low"], rows[2 * i + 1]["value"]);
    EXPECT_GT(rows[2 * i + 1]["high"], rows[2 * i + 1]["value"]);
  }
  // A share comes with the third that has it.
  const nlohmann::json thirds = nlohmann::json::parse(
      run({"analyze", "dominant_third", "results/a.xsp", "--format", "json"}).out);
  const nlohmann::json third =
      ask("SELECT word, value FROM result JOIN evaluation ON evaluation = id WHERE metric = "
          "'third.latency' AND batch = 1");
  ASSERT_EQ(third.size(), 1u);
  size_t found = 0;
  for (const nlohmann::json& one : thirds) {
    if (one["third"] != third[0]["word"]) continue;
    ++found;
    EXPECT_EQ(one["latency_pct"], third[0]["value"]);
    EXPECT_EQ(one["dominates"].get<std::string>().find("latency"), 0u) << one;
  }
  EXPECT_EQ(found, 1u) << third;
  // Nothing ran on a device: the figure is missing, and the catalogue says why.
  const nlohmann::json kernels =
      ask("SELECT value, note FROM result WHERE metric = 'kernels.share'");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_TRUE(kernels[0]["value"].is_null());
  EXPECT_EQ(kernels[0]["note"].get<std::string>().find("not measured: "), 0u);
}

TEST_P(CatalogueTest, AFigureOfCountedKernelsSaysIfSomeWereNotCounted) {
  std::filesystem::create_directories(folder / "results");
  const auto written = store::write_subset(
      places::build("tests/data/h200_resnet50.xsp"), folder / "results/part.xsp",
      [](store::Database& database) {
        return database.execute(
            "CREATE TEMP TABLE added_fact(run_id INTEGER, name VARCHAR, value BIGINT);"
            "CREATE TEMP TABLE kept AS SELECT run_id, span_id FROM span JOIN run USING (run_id)"
            " WHERE coalesce(counters, '') <> 'roofline' OR name NOT LIKE 'sm80%'");
      });
  ASSERT_TRUE(written.ok()) << written.error().text;
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  const Finished told =
      run({"analyze", "kernels_in_model", "results/part.xsp", "--format", "json"});
  const double uncounted = nlohmann::json::parse(told.out)[0]["uncounted_pct"];
  EXPECT_GT(uncounted, 5);
  const nlohmann::json rows =
      ask("SELECT metric, doubt FROM result JOIN evaluation ON evaluation = id WHERE batch = 1"
          " AND metric IN ('kernels.flops', 'kernels.latency') ORDER BY metric");
  ASSERT_EQ(rows.size(), 2u);
  const std::string doubt = rows[0]["doubt"].is_null() ? "" : rows[0]["doubt"];
  EXPECT_EQ(doubt.find("not all counted: "), 0u) << doubt;
  EXPECT_NEAR(std::strtod(doubt.c_str() + 17, nullptr), uncounted, 0.1) << doubt;
  EXPECT_TRUE(rows[1]["doubt"].is_null()) << rows;
}

TEST_P(CatalogueTest, AddingAgainChangesNothingAndRebuildGivesTheSame) {
  make_some(4);
  make("results/deep/er/copy.xsp", "model1");
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  const auto once = contents();
  EXPECT_EQ(once[4].size(), 10u) << once[4];
  const Finished again = catalogue({"add", "results/101.xsp", "results"});
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.err.find("0 added, 5 unchanged"), std::string::npos) << again.err;
  EXPECT_TRUE(contents() == once);
  ASSERT_EQ(catalogue({"rebuild", "results"}).status, 0);
  EXPECT_TRUE(contents() == once);
  // A file that changed replaces what it said before, and a lost file is gone after a rebuild.
  make("results/102.xsp", "other");
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  EXPECT_EQ(ask("SELECT id FROM model WHERE id IN ('model2', 'other')"),
            nlohmann::json::parse(R"([{"id": "other"}])"));
  std::filesystem::remove(folder / "results/103.xsp");
  ASSERT_EQ(catalogue({"rebuild", "results"}).status, 0);
  EXPECT_EQ(count("evaluation"), 8);
  EXPECT_EQ(ask("SELECT id FROM model WHERE id = 'model3'").size(), 0u);
}

TEST_P(CatalogueTest, ABadFileCostsOnlyItself) {
  make_some(2);
  write_file("results/100a.xsp", "this is no database");
  const Finished added = catalogue({"add", "results"});
  EXPECT_EQ(added.status, 1);
  EXPECT_NE(added.err.find("left out: results/100a.xsp: not an .xsp file"), std::string::npos)
      << added.err;
  EXPECT_NE(added.err.find("2 added, 0 unchanged, 1 left out"), std::string::npos) << added.err;
  EXPECT_EQ(error_lines(added), 1) << added.err;
  EXPECT_EQ(count("evaluation"), 4);
}

TEST_P(CatalogueTest, TokensAreMadeListedAndRevoked) {
  const Finished made = catalogue({"token", "new", "--name", "ci", "--scope", "run"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(made.out.starts_with("xsp_")) << made.out;
  EXPECT_EQ(made.out.size(), 69u) << made.out;
  const Finished again = catalogue({"token", "new", "--name", "ci"});
  EXPECT_EQ(again.status, 2);
  EXPECT_EQ(error_lines(again), 1) << again.err;
  EXPECT_EQ(catalogue({"token", "new", "--name", "x", "--scope", "root"}).status, 2);
  EXPECT_EQ(catalogue({"token", "revoke", "ci"}).status, 0);
  EXPECT_EQ(catalogue({"token", "revoke", "ci"}).status, 2);
  const auto listed =
      nlohmann::json::parse(catalogue({"token", "list", "--format", "json"}).out, nullptr, false);
  ASSERT_EQ(listed.size(), 1u) << listed;
  EXPECT_EQ(listed[0]["scope"], "run");
  EXPECT_FALSE(listed[0]["revoked_at"].is_null());
}

TEST_P(CatalogueTest, IsServedAndRefusalsAreLogged) {
  make_some(3);
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  const nlohmann::json shown =
      ask("SELECT value FROM result JOIN evaluation ON evaluation = id WHERE metric = 'throughput' "
          "AND batch = 2 AND model = 'model1'");
  std::string figures, listed, first, others, refused;
  RunOptions options;
  options.watch = [&](const std::string& err, int pid) {
    const uint16_t port = port_of(err);
    if (port == 0) return false;
    figures = get(port, "/api/v1/results?metric=throughput&model=model1&batch=2");
    listed = get(port, "/api/v1/models");
    first = get(port, "/api/v1/models?limit=1");
    others = get(port, "/api/v1/models?after=" + body_of(first).value("next", ""));
    refused = get(port, "/api/v1/audit");
    ::kill(pid, SIGTERM);
    return true;
  };
  const Finished served = run({"serve", "--listen", "127.0.0.1:0", "--catalogue", place_}, options);
  EXPECT_EQ(served.status, 0) << served.err;
  const nlohmann::json rows = body_of(figures);
  ASSERT_EQ(rows["total_rows"], 1) << figures;
  EXPECT_EQ(rows["columns"][8]["name"], "value");
  EXPECT_EQ(rows["rows"][0][8], shown[0]["value"]);
  EXPECT_EQ(rows["rows"][0].back(), "results/101.xsp");
  EXPECT_EQ(body_of(listed)["total_rows"], 3) << listed;
  nlohmann::json pages = body_of(first)["rows"];
  const nlohmann::json rest = body_of(others)["rows"];
  for (const auto& row : rest) pages.push_back(row);
  EXPECT_EQ(pages, body_of(listed)["rows"]) << first << others;
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 401")) << refused;
  const auto log = nlohmann::json::parse(catalogue({"audit", "--format", "json"}).out);
  ASSERT_EQ(log.size(), 1u) << log;
  EXPECT_EQ(log[0]["path"], "/api/v1/audit");
  EXPECT_EQ(log[0]["status"], 401);
}

TEST_P(CatalogueTest, IsServedAgainAfterItsServerWasStopped) {
  if (!server_) GTEST_SKIP() << "SQLite has no server";
  make_some(1);
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  std::vector<std::string> answers;
  RunOptions options;
  options.watch = [&](const std::string& err, int pid) {
    const uint16_t port = port_of(err);
    if (port == 0) return false;
    for (const char* target : {"/api/v1/models", "/api/v1/audit"}) {
      answers.push_back(get(port, target));
      EXPECT_TRUE(server_->stop());
      answers.push_back(get(port, target));
      EXPECT_TRUE(server_->start());
      answers.push_back(get(port, target));
    }
    ::kill(pid, SIGTERM);
    return true;
  };
  const Finished served = run({"serve", "--listen", "127.0.0.1:0", "--catalogue", place_}, options);
  EXPECT_EQ(served.status, 0) << served.err;
  ASSERT_EQ(answers.size(), 6u);
  const std::vector<std::string> wanted = {"200", "503", "200", "401", "503", "401"};
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(answers[i].substr(9, 3), wanted[i]) << answers[i];
    EXPECT_EQ(answers[i].find(server_->folder().string()), std::string::npos) << answers[i];
  }
}

TEST_P(CatalogueTest, AQueryCannotWrite) {
  make_some(1);
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  for (const char* sql : {"DELETE FROM evaluation", "DROP TABLE result",
                          "COMMIT; DELETE FROM evaluation", "CREATE TABLE mine(a INTEGER)"}) {
    const Finished refused = catalogue({"query", sql});
    EXPECT_NE(refused.status, 0) << sql;
    EXPECT_EQ(error_lines(refused), 1) << refused.err;
  }
  const Finished wrong = catalogue({"query", "SELECT nothing_such FROM evaluation"});
  EXPECT_EQ(wrong.status, 2) << wrong.err;
  EXPECT_NE(wrong.err.find("nothing_such"), std::string::npos);
  EXPECT_EQ(count("evaluation"), 2);
}

TEST_P(CatalogueTest, SummariesHaveTheFiguresAndAreWrittenOnce) {
  make("results/it's.xsp", "small");
  const Finished first = catalogue({"add", "results", "--summaries"});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_NE(first.err.find("1 summary written"), std::string::npos) << first.err;
  auto reader = store::Database::in_memory();
  ASSERT_TRUE(reader.ok());
  std::filesystem::rename(folder / "results/it's.summary.parquet", folder / "its.parquet");
  const auto rows =
      reader->query("SELECT batch, value, low, high FROM '" + (folder / "its.parquet").string() +
                    "' WHERE metric = 'inference.latency' ORDER BY batch");
  ASSERT_TRUE(rows.ok()) << rows.error().text;
  ASSERT_EQ(rows->rows.size(), 2u);
  const nlohmann::json known =
      ask("SELECT batch, value, low, high FROM evaluation JOIN result ON evaluation = id "
          "WHERE metric = 'inference.latency' ORDER BY batch");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::get<int64_t>(rows->rows[i][0]), known[i]["batch"]);
    EXPECT_EQ(std::get<double>(rows->rows[i][1]), known[i]["value"]);
    EXPECT_EQ(std::get<double>(rows->rows[i][3]), known[i]["high"]);
  }
  std::filesystem::rename(folder / "its.parquet", folder / "results/it's.summary.parquet");
  const Finished again = catalogue({"add", "results", "--summaries"});
  EXPECT_NE(again.err.find("0 summaries written"), std::string::npos) << again.err;
}

TEST_P(CatalogueTest, AComparisonHasARatioOnlyIfNothingElseDiffers) {
  make("results/a.xsp", "one", "machine.kernel", "1");
  make("results/b.xsp", "two", "machine.kernel", "1");
  make("results/c.xsp", "three", "machine.kernel", "2", "UPDATE run SET stopped_by = 'time'");
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  const Finished compared =
      catalogue({"compare", "inference.latency", "--over", "model", "--format", "json"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  const auto rows = nlohmann::json::parse(compared.out, nullptr, false);
  ASSERT_EQ(rows.size(), 6u) << compared.out;  // three pairs at two batch sizes
  for (const auto& row : rows) {
    const bool is_fair = row["a"] != "three" && row["b"] != "three";
    EXPECT_EQ(row["ratio"].is_number(), is_fair) << row;
    EXPECT_EQ(row["doubt"].is_null(), is_fair) << row;
    if (is_fair) {
      EXPECT_EQ(row["ratio"], 1);
    } else {
      EXPECT_EQ(row["refused"].get<std::string>().find("machine.kernel: "), 0u) << row;
    }
  }
  EXPECT_EQ(catalogue({"compare", "inference.latency", "--over", "framework"}).status, 4);
  const Finished unknown = catalogue({"compare", "inference.latncy", "--over", "model"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("did you mean 'inference.latency'"), std::string::npos) << unknown.err;
  EXPECT_EQ(catalogue({"compare", "inference.latency", "--over", "colour"}).status, 2);
}

TEST_P(CatalogueTest, EqualGpusOfAMachineAreOneSystem) {
  make("results/a.xsp", "one", "gpu.0.name", "G");
  make("results/b.xsp", "two", "gpu.1.name", "G");
  make("results/c.xsp", "three", "gpu.1.name", "H");
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  const auto systems = ask("SELECT name, count(*) AS n FROM system GROUP BY name ORDER BY name");
  ASSERT_EQ(systems.size(), 2u) << systems;
  EXPECT_EQ(systems[0]["n"], 1);
  EXPECT_EQ(systems[1]["n"], 1);
}

TEST_P(CatalogueTest, TwoWritersLoseNothing) {
  make_some(6);
  Finished first, second;
  std::thread one([&] { first = catalogue({"add", "results"}); });
  std::thread other([&] { second = catalogue({"add", "results"}); });
  one.join();
  other.join();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(second.status, 0) << second.err;
  const auto both = contents();
  EXPECT_EQ(both[4].size(), 12u);
  ASSERT_EQ(catalogue({"rebuild", "results"}).status, 0);
  EXPECT_TRUE(contents() == both);
}

// Each file is in the catalogue as a whole or not at all, whenever the writer is killed.
TEST_P(CatalogueTest, AKilledWriterLeavesWholeFiles) {
  make_some(8);
  ASSERT_EQ(catalogue({"add", "results/100.xsp"}).status, 0);
  for (int round = 0; round < 2; ++round) {
    const int64_t before = count("evaluation");
    RunOptions options;
    options.watch = [&](const std::string&, int pid) {
      if (count("evaluation") == before) return false;
      kill(pid, SIGKILL);
      return true;
    };
    // Where many processors read, the writer may end before the kill.
    const int status = catalogue({"add", "results"}, options).status;
    EXPECT_TRUE(status == 128 + SIGKILL || status == 0) << status;
    const nlohmann::json files =
        ask("SELECT file, count(*) AS n, (SELECT count(*) FROM result JOIN evaluation o ON "
            "evaluation = o.id WHERE o.file = e.file) AS figures FROM evaluation e GROUP BY file");
    for (const auto& file : files) {
      EXPECT_EQ(file["n"], 2) << files;
      EXPECT_EQ(file["figures"], files[0]["figures"]) << files;
    }
  }
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  const auto whole = contents();
  EXPECT_EQ(whole[4].size(), 16u);
  ASSERT_EQ(catalogue({"rebuild", "results"}).status, 0);
  EXPECT_TRUE(contents() == whole);
}

TEST_P(CatalogueTest, AServerThatIsStoppedAndStartedUnderLoadLosesNothing) {
  if (GetParam() == Kind::kSqlite) GTEST_SKIP() << "SQLite has no server";
  make_some(8);
  ASSERT_EQ(catalogue({"add", "results/100.xsp"}).status, 0);
  Finished added;
  std::thread load([&] { added = catalogue({"add", "results"}); });
  while (count("evaluation") < 4) std::this_thread::yield();
  EXPECT_TRUE(server_->stop());
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_TRUE(server_->start());
  load.join();
  EXPECT_EQ(added.status, 0) << added.err;
  const auto whole = contents();
  EXPECT_EQ(whole[4].size(), 16u);
  ASSERT_EQ(catalogue({"rebuild", "results"}).status, 0);
  EXPECT_TRUE(contents() == whole);
}

// The limit on the size of files stands for a full disk: SQLite's writes fail in the middle.
TEST_P(CatalogueTest, AFullDiskIsSaidAndCostsNothingThatWasThere) {
  RunOptions options;
  if (GetParam() == Kind::kPostgres) {
    constexpr int kDiskMb = 96;
    server_ = std::make_unique<PostgresServer>();
    if (!server_->create(kDiskMb)) GTEST_SKIP() << "no file system of its own can be mounted here";
    place_ = server_->address();
  }
  make_some(6);
  ASSERT_EQ(catalogue({"add", "results/100.xsp"}).status, 0);
  const auto before = contents();
  if (GetParam() == Kind::kPostgres) {
    std::ofstream ballast(server_->folder() / "ballast", std::ios::binary);
    const std::string block(4096, 'x');
    while (ballast.write(block.data(), 4096).flush()) continue;
  } else {
    options.file_bytes_max = std::filesystem::file_size(place_) + 4096;
  }
  const Finished full = catalogue({"add", "results"}, options);
  EXPECT_EQ(full.status, 1) << full.err;
  EXPECT_EQ(error_lines(full), 1) << full.err;
  const std::string who = GetParam() == Kind::kSqlite ? "catalogue.sqlite" : "PostgreSQL: ";
  EXPECT_NE(full.err.find(who), std::string::npos) << full.err;
  if (server_) std::filesystem::remove(server_->folder() / "ballast");
  const auto after = contents();
  EXPECT_GE(after[4].size(), before[4].size());
  EXPECT_EQ(after[4].size() % 2, 0u);
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  EXPECT_EQ(count("evaluation"), 12);
}

TEST_P(CatalogueTest, APlaceWithoutACatalogueIsSaidInOneLine) {
  const Finished missing = catalogue({"query", "SELECT 1"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(error_lines(missing), 1) << missing.err;
  EXPECT_NE(missing.err.find("no catalogue is there"), std::string::npos) << missing.err;
  make_some(1);
  place_ = GetParam() == Kind::kSqlite ? "results/100.xsp" : "postgresql:///xsp?host=/nothing";
  const Finished wrong = catalogue({"add", "results"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_EQ(error_lines(wrong), 1) << wrong.err;
  EXPECT_EQ(run({"analyze", "a1", "results/100.xsp"}).status, 0);
}

TEST_P(CatalogueTest, AnOlderOneIsReadAfterTheCommandThatTheErrorNames) {
  if (GetParam() != Kind::kSqlite) GTEST_SKIP() << "python3 has no library for PostgreSQL here";
  make_some(1);
  ASSERT_EQ(catalogue({"add", "results"}).status, 0);
  const std::string older = "import sqlite3\nc = sqlite3.connect('" + place_ +
                            "')\nc.execute('ALTER TABLE task DROP COLUMN reason')\n"
                            "c.execute('UPDATE catalogue SET version = 5')\nc.commit()\n";
  write_file("older.py", older);
  ASSERT_EQ(std::system(("cd '" + folder.string() + "' && python3 older.py").c_str()), 0);
  const Finished refused = catalogue({"query", "SELECT count(*) AS n FROM evaluation"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(error_lines(refused), 1) << refused.err;
  EXPECT_NE(refused.err.find("with xsp catalogue migrate --db " + place_), std::string::npos)
      << refused.err;
  const Finished migrated = catalogue({"migrate"});
  EXPECT_EQ(migrated.status, 0) << migrated.err;
  EXPECT_NE(migrated.err.find("version 5 is now version"), std::string::npos) << migrated.err;
  EXPECT_EQ(count("evaluation"), 2);
  EXPECT_NE(catalogue({"migrate"}).err.find("already"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Engines, CatalogueTest, testing::Values(Kind::kSqlite, Kind::kPostgres),
                         [](const auto& kind) {
                           return kind.param == Kind::kSqlite ? "Sqlite" : "Postgres";
                         });

}  // namespace
}  // namespace xsp::integration
