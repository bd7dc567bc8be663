// Compares the causes of a step (analyses/prelude_8_causes.sql), to the nanosecond, with those of a
// slow and simple program: slow_causes.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <tuple>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/made_program.h"
#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/analyze/slow_causes.h"
#include "desk/store/database.h"
#include "tests/places.h"
#include "tests/text.h"

namespace xsp::analyze {
namespace {

namespace fs = std::filesystem;

auto place_of(const SlowPiece& piece) {
  return std::tie(piece.process, piece.period_ns, piece.is_hidden, piece.start_ns, piece.end_ns,
                  piece.cause, piece.span_id);
}

// Sorts the pieces, and joins neighbours that differ only in time.
std::vector<SlowPiece> tidy(std::vector<SlowPiece> pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  // Hidden pieces of two kinds may overlap, so a neighbour is looked up by its kind.
  std::vector<SlowPiece> joined;
  std::map<std::tuple<int64_t, int64_t, bool, std::string, int64_t, int64_t>, size_t> last;
  for (const SlowPiece& piece : pieces) {
    const auto alike = std::tuple(piece.process, piece.period_ns, piece.is_hidden, piece.cause,
                                  piece.thread, piece.span_id);
    const auto before = last.find(alike);
    if (before != last.end() && joined[before->second].end_ns == piece.start_ns) {
      joined[before->second].end_ns = piece.end_ns;
      continue;
    }
    last[alike] = joined.size();
    joined.push_back(piece);
  }
  std::sort(joined.begin(), joined.end(),
            [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  return joined;
}

int64_t whole(const store::Value& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number == nullptr ? -1 : *number;
}

std::vector<SlowPiece> pieces_in_sql(store::Database& database, int64_t how_many) {
  const Status asked = ask_for(database, {.batch = {}, .periods = how_many});
  EXPECT_TRUE(asked.ok()) << asked.error().text;
  const Result<store::Table> table =
      query_with_prelude(database,
                         "SELECT process, period_ns, start_ns, end_ns, is_hidden, cause, thread, "
                         "span_id FROM period_piece");
  EXPECT_TRUE(table.ok()) << table.error().text;
  std::vector<SlowPiece> pieces;
  if (!table.ok()) return pieces;
  for (const auto& row : table->rows) {
    pieces.push_back({whole(row[0]), whole(row[1]), whole(row[2]), whole(row[3]),
                      std::get<bool>(row[4]), std::get<std::string>(row[5]), whole(row[6]),
                      whole(row[7])});
  }
  return pieces;
}

std::string words_of(const SlowPiece& piece) {
  std::ostringstream words;
  words << "process " << piece.process << " period " << piece.period_ns << " ["
        << piece.start_ns - piece.period_ns << ", " << piece.end_ns - piece.period_ns << ") "
        << piece.cause << (piece.is_hidden ? " hidden" : "") << " thread " << piece.thread
        << " span " << piece.span_id;
  return words.str();
}

std::string words_at(const std::vector<SlowPiece>& pieces, size_t at) {
  return at < pieces.size() ? words_of(pieces[at]) : "nothing";
}

struct Seen {
  size_t periods = 0, pieces = 0;
  std::map<std::string, int64_t> causes;  // ns; hidden ones have a prefix
};

// Expects that both computations give the same. Returns what was compared.
Seen expect_same(store::Database& database, int64_t how_many, const std::string& whose) {
  Seen seen;
  forget_prelude(database);
  const Result<SlowCauses> slow = slow_causes(database, how_many);
  EXPECT_TRUE(slow.ok()) << slow.error().text;
  if (!slow.ok()) return seen;
  const std::vector<SlowPiece> expected = tidy(slow->pieces);
  const std::vector<SlowPiece> raw = pieces_in_sql(database, how_many);
  const std::vector<SlowPiece> given = tidy(raw);

  // Every moment of a period must be in one piece, and the device must be busy where its raw
  // records are.
  for (const SlowPeriod& period : slow->periods) {
    int64_t at = period.start_ns, busy_ns = 0;
    for (const SlowPiece& piece : given) {
      const bool is_its = piece.process == period.process && piece.period_ns == period.start_ns;
      if (!is_its || piece.is_hidden) continue;
      EXPECT_EQ(piece.start_ns, at)
          << whose << ": a hole, or one over another, before " << words_of(piece);
      at = piece.end_ns;
      if (piece.thread == -1 && piece.cause != "device") busy_ns += piece.end_ns - piece.start_ns;
    }
    EXPECT_EQ(at, period.end_ns) << whose << ": period " << period.start_ns << " of process "
                                 << period.process << " is not filled";
    EXPECT_EQ(busy_ns, period.busy_ns) << whose;
  }

  std::map<std::tuple<int64_t, int64_t, bool, std::string>, int64_t> totals[2];
  for (const auto& [total, pieces] :
       {std::pair(&totals[0], &expected), std::pair(&totals[1], &raw)}) {
    for (const SlowPiece& piece : *pieces) {
      (*total)[{piece.process, piece.period_ns, piece.is_hidden, piece.cause}] +=
          piece.end_ns - piece.start_ns;
    }
  }
  EXPECT_EQ(totals[0], totals[1]) << whose;
  for (size_t i = 0; i < std::max(expected.size(), given.size()); ++i) {
    if (words_at(expected, i) == words_at(given, i)) continue;
    ADD_FAILURE() << whose << ": expected " << words_at(expected, i) << "\n  given "
                  << words_at(given, i) << "\n  then expected " << words_at(expected, i + 1)
                  << "\n  given " << words_at(given, i + 1);
    break;
  }
  seen.periods = slow->periods.size();
  seen.pieces = raw.size();
  for (const SlowPiece& piece : given) {
    seen.causes[(piece.is_hidden ? "hidden " : "") + piece.cause] += piece.end_ns - piece.start_ns;
  }
  return seen;
}

store::Database made(const std::string& sql) {
  Result<store::Database> database = store::Database::in_memory();
  EXPECT_TRUE(database.ok());
  const Status filled = database->execute(sql);
  EXPECT_TRUE(filled.ok()) << filled.error().text;
  return std::move(database).value();
}

// DuckDB takes nearly all of the time, and sanitizers slow it very much.
#ifdef XSP_SANITIZED
constexpr unsigned kPrograms = 30, kParts = 1;
#else
constexpr unsigned kPrograms = 300, kParts = 10;
#endif

class MadePrograms : public ::testing::TestWithParam<unsigned> {};

TEST_P(MadePrograms, AreToldAlikeByTheSlowWay) {
  Seen all;
  const unsigned first = GetParam() * kPrograms / kParts;
  for (unsigned seed = first; seed < first + kPrograms / kParts; ++seed) {
    store::Database database = made(made_program(seed));
    const int64_t how_many = seed % 7 == 0 ? 3 : seed % 7 == 1 ? 1'000'000'000 : 100;
    const Seen seen = expect_same(database, how_many, "seed " + std::to_string(seed));
    if (HasFailure()) return;
    all.periods += seen.periods;
    for (const auto& [cause, ns] : seen.causes) all.causes[cause] += ns;
  }
  EXPECT_GT(all.periods, 200u);
  for (const char* cause :
       {"compute", "other kernels", "communication", "copy", "hidden communication", "hidden copy",
        "launch", "framework", "host code", "data", "copy preparation", "synchronisation",
        "allocation", "recording", "device"}) {
    EXPECT_GT(all.causes[cause], 0) << cause;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, MadePrograms, ::testing::Range(0u, kParts));

TEST(Causes, OfTheEvaluationThatWasRecorded) {
  Result<store::Database> database =
      store::Database::open(places::build("tests/data/h200_resnet50.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  EXPECT_GT(expect_same(*database, 100, "h200_resnet50").periods, 3u);
}

// Sets the parents of a host's spans by their times, as ingest does. Many fixtures leave them out.
constexpr const char* kParents = R"(
UPDATE span SET parent_id = (
  SELECT min_by(p.span_id, (p.duration_ns, -p.level, p.span_id)) FROM span p
  WHERE p.run_id = span.run_id AND p.process IS NOT DISTINCT FROM span.process
    AND p.thread IS NOT DISTINCT FROM span.thread AND p.device IS NULL
    AND p.start_ns <= span.start_ns
    AND p.start_ns + p.duration_ns >= span.start_ns + span.duration_ns
    AND (p.duration_ns, -p.level, -p.span_id) > (span.duration_ns, -span.level, -span.span_id))
WHERE device IS NULL)";

constexpr const char* kWatched =
    ";INSERT OR IGNORE INTO evaluation VALUES ('recorded_by', 'xsp run')";

constexpr const char* kCrossing = R"(
SELECT count(*) FROM span s JOIN span p USING (run_id)
WHERE s.process IS NOT DISTINCT FROM p.process AND s.thread IS NOT DISTINCT FROM p.thread
  AND s.device IS NULL AND p.device IS NULL AND p.start_ns < s.start_ns
  AND s.start_ns < p.start_ns + p.duration_ns
  AND p.start_ns + p.duration_ns < s.start_ns + s.duration_ns)";

// Sets the spans' parents, and expects both computations to agree. Returns the number of periods.
size_t periods_of(store::Database& database, const std::string& whose) {
  // If spans of a thread cross, none is innermost. Recorded spans never cross.
  const Result<store::Table> crossing = database.query(kCrossing);
  EXPECT_TRUE(crossing.ok()) << crossing.error().text;
  if (whole(crossing->rows[0][0]) > 0) return 0;
  const Status nested = database.execute(kParents);
  EXPECT_TRUE(nested.ok()) << nested.error().text;
  return expect_same(database, 100, whose).periods;
}

TEST(Causes, OfTheFixtures) {
  for (const char* name : {"small", "gpu"}) {
    store::Database database =
        made(text_of(places::source("tests/data/" + std::string(name) + ".sql")));
    EXPECT_GT(periods_of(database, name), 0u) << name;
  }
}

// Uses every evaluation that the tests of these analyses make, if rows are asked of it.
TEST(Causes, OfWatchedFixtures) {
  const fs::path root = places::source();
  for (const auto& [name, least] :
       {std::pair("x27_training_phases", 0u), std::pair("x30_steps", 30u),
        std::pair("x33_time_of_step", 80u)}) {
    store::Database database = made("SELECT 1");
    size_t periods = 0;
    std::istringstream lines(text_of(root / "analyses" / (std::string(name) + ".test")));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word, argument, block;
      words >> word >> argument;
      if (word == "sql" || word == "run") {
        for (std::string inner; std::getline(lines, inner) && inner != "end";)
          block += inner + "\n";
      }
      if (word == "fresh") database = made("SELECT 1");
      if (word == "fixture") block = text_of(root / "tests/data" / (argument + ".sql"));
      if (word == "sql" || word == "fixture") {
        // Some evaluations do not say that the program was watched. Without that, it has no steps
        // here.
        const bool says_so = block.find("'recorded_by'") != std::string::npos;
        const Status done =
            database.execute((says_so ? "DELETE FROM evaluation WHERE key = 'recorded_by';" : "") +
                             block + kWatched);
        ASSERT_TRUE(done.ok()) << name << ": " << done.error().text;
      }
      if (word == "run") periods += periods_of(database, name);
    }
    EXPECT_GE(periods, least) << name;
  }
}

// Uses the files of the folder that XSP_RECORDED names.
TEST(Causes, OfFilesThatWereRecorded) {
  const char* folder = std::getenv("XSP_RECORDED");
  if (folder == nullptr) GTEST_SKIP() << "XSP_RECORDED names no folder of recorded .xsp files";
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".xsp") continue;
    Result<store::Database> database = store::Database::open(entry.path());
    ASSERT_TRUE(database.ok()) << database.error().text;
    const Seen seen = expect_same(*database, 100, entry.path().filename().string());
    std::printf("%s: %zu periods, %zu pieces\n", entry.path().filename().c_str(), seen.periods,
                seen.pieces);
    ++files;
  }
  EXPECT_GT(files, 0u);
}

}  // namespace
}  // namespace xsp::analyze
