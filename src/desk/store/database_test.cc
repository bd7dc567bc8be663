#include "desk/store/database.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "desk/store/testing.h"
#include "shared/base/testing.h"

namespace xsp::store {
namespace {

namespace fs = std::filesystem;

void expect_one_line(const Error& error, const std::string& name) {
  EXPECT_EQ(error.text.find('\n'), std::string::npos) << error.text;
  EXPECT_NE(error.text.find(name), std::string::npos) << error.text;
  EXPECT_LT(error.text.size(), 400u) << error.text;
}

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Writes an .xsp file with enough spans for several blocks.
void write_sample(const fs::path& path) {
  auto database = Database::create(path);
  ASSERT_TRUE(database.ok()) << database.error().text;
  auto status = database->execute(
      "INSERT INTO run(run_id, levels, status) VALUES (1, 'model', 'ok');"
      "INSERT INTO span SELECT 1, i, NULL, 2, 'n' || (i * 7919 % 1000), NULL, i, i, i * 1000 + "
      "hash(i) % 100,"
      " hash(i) % 100000, 1, 1, NULL, NULL, NULL, i, NULL, 1, 0, 5, false FROM range(1, 50001) "
      "t(i)");
  ASSERT_TRUE(status.ok()) << status.error().text;
  status = database->finish();
  ASSERT_TRUE(status.ok()) << status.error().text;
}

class DatabaseTest : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  size_t file_count() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  ScratchFolder folder_;
};

TEST_F(DatabaseTest, WhatIsWrittenIsReadAgain) {
  write_sample(path("a.xsp"));
  EXPECT_EQ(file_count(), 1u);
  auto database = Database::open(path("a.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  auto table = database->query("SELECT count(*) AS n, max(span_id) FROM span");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->columns[0].name, "n");
  EXPECT_EQ(table->columns[0].type, "BIGINT");
  EXPECT_EQ(table->rows[0][0], Value(int64_t{50000}));
  EXPECT_EQ(table->rows[0][1], Value(int64_t{50000}));
}

TEST_F(DatabaseTest, AStreamGivesEveryRowInOrderAndStopsAtARefusal) {
  write_sample(path("a.xsp"));
  auto database = Database::open(path("a.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  int64_t rows = 0, sum = 0;
  const Status all =
      database->stream("SELECT span_id FROM span WHERE span_id > $from ORDER BY 1",
                       {{"from", int64_t{10}}}, [&](std::vector<Value>& row) -> Status {
                         EXPECT_EQ(row[0], Value(11 + rows));
                         ++rows;
                         sum += std::get<int64_t>(row[0]);
                         return Ok{};
                       });
  ASSERT_TRUE(all.ok()) << all.error().text;
  EXPECT_EQ(rows, 49990);
  EXPECT_EQ(sum, 1250025000 - 55);
  rows = 0;
  const Status some = database->stream("FROM span", {}, [&](std::vector<Value>&) -> Status {
    return ++rows < 3 ? Status(Ok{}) : Status(failed("enough"));
  });
  ASSERT_FALSE(some.ok());
  EXPECT_EQ(some.error().text, "enough");
  EXPECT_EQ(rows, 3);
  // A row that cannot be computed is an error, although rows before it were given.
  const Status broken = database->stream(
      "SELECT CASE WHEN span_id < 40000 THEN 1 ELSE error('no more') END FROM span", {},
      [](std::vector<Value>&) -> Status { return Ok{}; });
  ASSERT_FALSE(broken.ok());
  expect_one_line(broken.error(), "no more");
  EXPECT_TRUE(database->query("SELECT 1").ok());
}

TEST_F(DatabaseTest, CellsKeepTheirValues) {
  auto database = Database::in_memory();
  ASSERT_TRUE(database.ok()) << database.error().text;
  const std::pair<const char*, Value> cells[] = {
      {"NULL", std::monostate()},
      {"true", true},
      {"-5::TINYINT", int64_t{-5}},
      {"200::UTINYINT", int64_t{200}},
      {"-300::SMALLINT", int64_t{-300}},
      {"60000::USMALLINT", int64_t{60000}},
      {"4000000000::UINTEGER", int64_t{4000000000}},
      {"9223372036854775807", int64_t{9223372036854775807}},
      {"18446744073709551615::UBIGINT", 18446744073709551615.0},
      {"7::UBIGINT", int64_t{7}},
      {"12345678901234567890123::HUGEINT", 12345678901234567890123.0},
      {"1.25::DECIMAL(4,2)", 1.25},
      {"-1.25::DECIMAL(18,2)", -1.25},
      {"-123456789012345678901.5::DECIMAL(38,1)", -123456789012345678901.5},
      {"0.5::FLOAT", 0.5},
      {"1e300", 1e300},
      {"'two words'", std::string("two words")},
      {"'a text that is too long to be kept inline'",
       std::string("a text that is too long to be kept inline")},
      {"DATE '2026-01-02'", std::string("2026-01-02")},
      {"TIMESTAMP '2026-01-02 03:04:05.5'", std::string("2026-01-02 03:04:05.5")},
      {"TIMESTAMP_NS '2026-01-02 03:04:05.123456789'",
       std::string("2026-01-02 03:04:05.123456789")},
      {"TIME '03:04:05'", std::string("03:04:05")},
      {"INTERVAL 3 HOURS", std::string("03:00:00")},
      {"'ab'::BLOB", std::string("ab")},
      {"'0101'::BIT", std::string("0101")},
      {"'8f7f0e06-6f4a-4f31-9c0a-0d6f2f3f1a11'::UUID",
       std::string("8f7f0e06-6f4a-4f31-9c0a-0d6f2f3f1a11")},
      {"'b'::ENUM('a', 'b')", std::string("b")},
      {"[1, 2, NULL]", std::string("[1, 2, NULL]")},
      {"[1, 2]::INTEGER[2]", std::string("[1, 2]")},
      {"[['a'], []]", std::string("[[a], []]")},
      {"{'a': 1, 'b': 'x'}", std::string("{'a': 1, 'b': x}")},
      {"MAP {}", std::string("{}")},
      {"MAP {'k': 1.5}", std::string("{k=1.5}")},
      {"union_value(k := 3)", std::string("3")},
  };
  for (const auto& [sql, expected] : cells) {
    auto table = database->query(std::string("SELECT ") + sql);
    ASSERT_TRUE(table.ok()) << sql << ": " << table.error().text;
    EXPECT_EQ(table->rows.at(0).at(0), expected) << sql;
  }
}

TEST_F(DatabaseTest, ParametersReplaceTheirNames) {
  auto database = Database::in_memory();
  ASSERT_TRUE(database.ok());
  auto table = database->query(
      "CREATE TABLE t(a INT); INSERT INTO t VALUES (1), (2), (3);"
      "SELECT a, $text, $real FROM t WHERE a > $least ORDER BY a",
      {{"least", int64_t{1}}, {"text", std::string("x'y")}, {"real", 2.5}});
  ASSERT_TRUE(table.ok()) << table.error().text;
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->rows[0][0], Value(int64_t{2}));
  EXPECT_EQ(table->rows[0][1], Value(std::string("x'y")));
  EXPECT_EQ(table->rows[0][2], Value(2.5));
  auto missing = database->query("SELECT $absent");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kUsage);
  expect_one_line(missing.error(), "$absent");
}

TEST_F(DatabaseTest, TextThatIsNoneIsKeptAsTextAndCountedOrRefused) {
  const std::string no_text = "a\xFFz";
  {
    auto database = Database::create(path("a.xsp"));
    ASSERT_TRUE(database.ok()) << database.error().text;
    const auto written = database->query("INSERT INTO model_layer VALUES (0, $name, $type)",
                                         {{"name", no_text}, {"type", std::string("Conv")}});
    ASSERT_TRUE(written.ok()) << written.error().text;
    ASSERT_TRUE(database->finish().ok());
  }
  auto database = Database::open(path("a.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  const auto kept = database->query("SELECT name FROM model_layer");
  EXPECT_EQ(kept->rows[0][0], Value(std::string("a\xEF\xBF\xBDz")));
  const auto count = database->query("SELECT value FROM evaluation WHERE key = 'texts_replaced'");
  ASSERT_EQ(count->rows.size(), 1u);
  EXPECT_EQ(count->rows[0][0], Value(std::string("1")));
  const auto asked = database->query("SELECT $text", {{"text", no_text}});
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().code, Code::kUsage);
  EXPECT_NE(asked.error().text.find("not UTF-8"), std::string::npos) << asked.error().text;
}

TEST_F(DatabaseTest, SqlErrorsAreOneLine) {
  auto database = Database::in_memory();
  ASSERT_TRUE(database.ok());
  const std::pair<const char*, const char*> statements[] = {
      {"SELEC 1", "syntax error"},
      {"SELECT nope FROM span", "nope"},
      {"SELECT *\nFROM\nnowhere", "nowhere"},
      {"SELECT 'a'::INTEGER", "Could not convert"},
      {"SELECT 1 +", "syntax error"},
      {"", "empty"},
      {"-- a comment alone", "empty"},
      {"SELECT checksum FROM span", "checksum"}};
  for (const auto& [sql, part] : statements) {
    auto table = database->query(sql);
    ASSERT_FALSE(table.ok()) << sql;
    EXPECT_EQ(table.error().code, Code::kUsage) << sql;
    expect_one_line(table.error(), part);
    EXPECT_EQ(table.error().text.find("LINE"), std::string::npos) << table.error().text;
  }
  EXPECT_NE(database->query("SELECT *\nFROM\nnowhere").error().text.find("(line 3)"),
            std::string::npos);
}

TEST_F(DatabaseTest, SqlOfAReadDatabaseReachesNothingElse) {
  write_sample(path("a.xsp"));
  write_bytes(path("secret.csv"), "a,b\n1,2\n");
  const std::string before = read_bytes(path("a.xsp"));
  auto database = Database::open(path("a.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  const std::string other = path("other").string();
  const std::string own = path("a.xsp").string();
  const std::string statements[] = {
      "INSERT INTO loss VALUES (1, 'a', 'b', 1)",
      "DROP TABLE span",
      "UPDATE span SET name = 'x'",
      "SELECT * FROM '" + path("secret.csv").string() + "'",
      "SELECT * FROM read_text('" + path("secret.csv").string() + "')",
      "SELECT * FROM glob('" + folder_.path().string() + "/*')",
      "COPY span TO '" + other + "'",
      "COPY span TO '" + own + "' (FORMAT csv, USE_TMP_FILE false)",
      "EXPORT DATABASE '" + other + "'",
      "ATTACH '" + other + "'",
      "LOAD '" + other + "'",
      "INSTALL httpfs",
      "SET enable_external_access = true",
      "SET memory_limit = '1GB'"};
  for (const std::string& sql : statements) {
    auto table = database->query(sql);
    ASSERT_FALSE(table.ok()) << sql;
    expect_one_line(table.error(), "SQL on");
  }
  EXPECT_EQ(read_bytes(path("a.xsp")), before);
  EXPECT_EQ(file_count(), 2u);
  EXPECT_TRUE(database->query("SELECT count(*) FROM span").ok());
}

TEST_F(DatabaseTest, RefusesWhatIsNotAnXspFile) {
  write_bytes(path("empty.xsp"), "");
  write_bytes(path("short.xsp"), "DUCK");
  write_bytes(path("foreign.xsp"), std::string(20000, 'x'));
  fs::create_directory(path("folder.xsp"));
  const std::pair<const char*, const char*> cases[] = {{"missing.xsp", "No such file"},
                                                       {"empty.xsp", "empty"},
                                                       {"short.xsp", "not an .xsp file"},
                                                       {"foreign.xsp", "not an .xsp file"},
                                                       {"folder.xsp", "is a folder"}};
  for (const auto& [name, part] : cases) {
    auto database = Database::open(path(name));
    ASSERT_FALSE(database.ok()) << name;
    expect_one_line(database.error(), part);
    expect_one_line(database.error(), name);
  }
  EXPECT_FALSE(fs::exists(path("missing.xsp")));
}

// Tests a file that is older than the samples' kernel costs, and one that is older than samples.
TEST_F(DatabaseTest, WhatOldFilesLackIsNullOrEmpty) {
  const std::string insert =
      "INSERT INTO sample(run_id, process, thread, time_ns, state, duration_ns) "
      "VALUES (1, 2, 3, 4, 'running', 5)";
  const std::pair<const char*, int64_t> cases[] = {
      {"ALTER TABLE sample DROP system_ns; ALTER TABLE sample DROP faults", 1},
      {"DROP TABLE sample; DROP TABLE stack", 0}};
  for (const auto& [sql, rows] : cases) {
    auto made = Database::create(path("old.xsp"));
    ASSERT_TRUE(made.ok()) << made.error().text;
    ASSERT_TRUE(made->execute(insert).ok());
    ASSERT_TRUE(made->execute(sql).ok());
    ASSERT_TRUE(made->finish().ok());
    auto database = Database::open(path("old.xsp"));
    ASSERT_TRUE(database.ok()) << database.error().text;
    const auto found = database->query(
        "SELECT count(*), count(system_ns), count(faults), sum(duration_ns)::BIGINT FROM sample");
    ASSERT_TRUE(found.ok()) << found.error().text;
    EXPECT_EQ(found->rows[0][0], Value(rows)) << sql;
    EXPECT_EQ(found->rows[0][1], Value(int64_t{0})) << sql;
    EXPECT_EQ(found->rows[0][2], Value(int64_t{0})) << sql;
    EXPECT_EQ(found->rows[0][3], rows > 0 ? Value(int64_t{5}) : Value()) << sql;
  }
}

TEST_F(DatabaseTest, RefusesForeignTablesAndNewerFormats) {
  const std::pair<const char*, const char*> cases[] = {
      {"DROP TABLE loss", "without xsp's tables"},
      {"DELETE FROM evaluation", "does not say its format"},
      {"UPDATE evaluation SET value = 'x' WHERE key = 'xsp_format'", "does not say its format"},
      {"UPDATE evaluation SET value = '3' WHERE key = 'xsp_format'", "newer xsp"}};
  for (const auto& [sql, part] : cases) {
    auto made = Database::create(path("a.xsp"));
    ASSERT_TRUE(made.ok()) << made.error().text;
    ASSERT_TRUE(made->execute(sql).ok());
    ASSERT_TRUE(made->finish().ok());
    auto database = Database::open(path("a.xsp"));
    ASSERT_FALSE(database.ok()) << sql;
    expect_one_line(database.error(), part);
    EXPECT_EQ(database.error().code, Code::kCorrupt);
  }
}

// Opens the file and reads all of it. Returns true on success; an error must be one line.
bool reads_well(const fs::path& path) {
  auto database = Database::open(path);
  if (!database.ok()) {
    expect_one_line(database.error(), path.filename().string());
    return false;
  }
  auto table = database->query(
      "SELECT sum(hash(s)) FROM span s UNION ALL SELECT sum(hash(e)) FROM evaluation e");
  if (!table.ok()) {
    expect_one_line(table.error(), path.filename().string());
    EXPECT_EQ(table.error().code, Code::kCorrupt) << table.error().text;
    return false;
  }
  return true;
}

TEST_F(DatabaseTest, TruncatedFilesAreRefusedInOneLine) {
  write_sample(path("a.xsp"));
  const std::string bytes = read_bytes(path("a.xsp"));
  std::mt19937_64 random(7);
  std::vector<size_t> lengths = {
      1, 8, 12, 100, 4095, 4096, 4097, 8192, 12288, 12289, bytes.size() - 1};
  for (int i = 0; i < 40; ++i) lengths.push_back(random() % bytes.size());
  for (size_t length : lengths) {
    write_bytes(path("b.xsp"), bytes.substr(0, length));
    EXPECT_FALSE(reads_well(path("b.xsp"))) << "cut at " << length << " of " << bytes.size();
  }
}

TEST_F(DatabaseTest, FlippedBitsAreRefusedInOneLineOrHarmless) {
  write_sample(path("a.xsp"));
  const std::string bytes = read_bytes(path("a.xsp"));
  ASSERT_TRUE(reads_well(path("a.xsp")));
  auto sum = [&](const fs::path& file) {
    return Database::open(file)->query("SELECT sum(hash(s))::VARCHAR FROM span s")->rows[0][0];
  };
  const Value expected = sum(path("a.xsp"));
  std::mt19937_64 random(11);
  uint64_t refused = 0;
  for (uint64_t i = 0; i < random_cases(100); ++i) {
    std::string damaged = bytes;
    // Half of the changes are in the headers.
    const size_t at = random() % (i % 2 == 0 ? 12288 : bytes.size());
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    write_bytes(path("b.xsp"), damaged);
    if (reads_well(path("b.xsp"))) {
      EXPECT_EQ(sum(path("b.xsp")), expected) << "a flip at " << at << " went unnoticed";
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, random_cases(50));
}

TEST_F(DatabaseTest, AnUnfinishedFileLeavesThePreviousOne) {
  write_bytes(path("a.xsp"), "what was there");
  {
    auto database = Database::create(path("a.xsp"));
    ASSERT_TRUE(database.ok()) << database.error().text;
    ASSERT_TRUE(database->execute("INSERT INTO loss VALUES (1, 'a', 'b', 1)").ok());
  }
  EXPECT_EQ(read_bytes(path("a.xsp")), "what was there");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(DatabaseTest, LeftoversOfAKilledWriterAreReplaced) {
  write_bytes(path("a.xsp.partial"), "half");
  write_bytes(path("a.xsp.partial.wal"), "half");
  write_sample(path("a.xsp"));
  EXPECT_EQ(file_count(), 1u);
  EXPECT_TRUE(reads_well(path("a.xsp")));
}

TEST_F(DatabaseTest, LeftoversOfAKilledWriterAreRemovedUnlessSomebodyWrites) {
  write_bytes(path("a.xsp"), "what was there");
  write_bytes(path("a.xsp.partial"), "half");
  write_bytes(path("a.xsp.partial.wal"), "half");
  Database::remove_remains(path("a.xsp"));
  EXPECT_EQ(file_count(), 1u);
  EXPECT_EQ(read_bytes(path("a.xsp")), "what was there");
  const auto database = Database::create(path("b.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  const size_t before = file_count();
  Database::remove_remains(path("b.xsp"));
  EXPECT_EQ(file_count(), before);
}

TEST_F(DatabaseTest, TwoWritersOfOneFileAreRefused) {
  const pid_t child = fork();
  if (child == 0) {
    auto second = Database::create(path("a.xsp"));
    if (!second.ok()) _exit(1);
    write_bytes(path("ready"), "1");
    for (;;) pause();
  }
  while (!fs::exists(path("ready"))) usleep(1000);
  auto database = Database::create(path("a.xsp"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_FALSE(database.ok());
  expect_one_line(database.error(), "another xsp");
  EXPECT_TRUE(Database::create(path("a.xsp")).ok());
}

TEST_F(DatabaseTest, OfManyWhoStartAtOnceOneWrites) {
  constexpr int kWriters = 6;
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < kWriters; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      auto database = Database::create(path("a.xsp"));
      if (!database.ok()) _exit(database.error().text.find("another xsp") == std::string::npos);
      usleep(100'000);  // by now, the other processes have started and ended
      _exit(database->finish().ok() ? 2 : 1);
    }
    int written = 0, failed = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      written += WIFEXITED(status) && WEXITSTATUS(status) == 2;
      failed += !WIFEXITED(status) || WEXITSTATUS(status) == 1;
    }
    EXPECT_GE(written, 1);
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(file_count(), 1u);
    EXPECT_TRUE(reads_well(path("a.xsp")));
  }
}

TEST_F(DatabaseTest, FoldersThatCannotBeWrittenAreRefusedInOneLine) {
  auto missing = Database::create(path("no/such/folder/a.xsp"));
  ASSERT_FALSE(missing.ok());
  expect_one_line(missing.error(), "No such file or directory");
  fs::create_directory(path("a.xsp"));
  auto folder = Database::create(path("a.xsp"));
  ASSERT_FALSE(folder.ok());
  expect_one_line(folder.error(), "is not a file");
  auto system = Database::create("/proc/a.xsp");
  ASSERT_FALSE(system.ok());
  expect_one_line(system.error(), "/proc/a.xsp");
}

// The limit on a file's size stands for a full disk: DuckDB gets the same errors.
TEST_F(DatabaseTest, AFullDiskIsOneLineAndLeavesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{600000, 600000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto database = Database::create(path("a.xsp"));
    if (!database.ok()) _exit(1);
    auto status = database->execute(
        "INSERT INTO span_attribute SELECT 1, i, hash(i)::VARCHAR, hash(i + 1)::VARCHAR FROM "
        "range(900000) t(i)");
    if (status.ok()) status = database->finish();
    if (status.ok()) _exit(2);
    const std::string& text = status.error().text;
    if (text.find("no space left") == std::string::npos) {
      write_bytes(path("error"), text.substr(0, 1000));
      _exit(3);
    }
    database = failed("done");
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << read_bytes(path("error"));
  EXPECT_EQ(file_count(), 0u);
}

TEST_F(DatabaseTest, NothingIsWrittenAfterFinish) {
  auto database = Database::create(path("a.xsp"));
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database->finish().ok());
  auto status = database->execute("SELECT 1");
  ASSERT_FALSE(status.ok());
  expect_one_line(status.error(), "a.xsp");
  EXPECT_TRUE(database->finish().ok());
}

}  // namespace
}  // namespace xsp::store
