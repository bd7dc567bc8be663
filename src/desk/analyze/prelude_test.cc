// Tests the macros of analyses/prelude_*.sql against the plain computation that they stand for.
#include "desk/analyze/prelude.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/embedded.h"
#include "desk/analyze/run.h"
#include "desk/store/testing.h"
#include "tests/places.h"

namespace xsp::analyze {
namespace {

using store::Database;
using store::number;
using store::Table;

Database with_prelude() {
  Result<Database> database = Database::in_memory();
  EXPECT_TRUE(database.ok()) << database.error().text;
  const Status loaded = load_prelude(*database);
  EXPECT_TRUE(loaded.ok()) << loaded.error().text;
  return std::move(database).value();
}

Table query(Database& database, const std::string& sql) {
  Result<Table> table = database.query(sql);
  EXPECT_TRUE(table.ok()) << table.error().text;
  return table.ok() ? std::move(table).value() : Table();
}

TEST(Prelude, QuantilesInterpolate) {
  Database database = with_prelude();
  const Table table = query(database,
                            "SELECT quantile_of([1, 2, 3, 4], 0.5), quantile_of([1, 2, 4], 0.75), "
                            "quantile_of([7], 0.99), quantile_of([1, 2, 3, 4, 5], 0.9)");
  EXPECT_DOUBLE_EQ(number(table.rows[0][0]), 2.5);
  EXPECT_DOUBLE_EQ(number(table.rows[0][1]), 3);
  EXPECT_DOUBLE_EQ(number(table.rows[0][2]), 7);
  EXPECT_DOUBLE_EQ(number(table.rows[0][3]), 4.6);
}

TEST(Prelude, TheIntervalOfASeriesComesFromTwentyParts) {
  Database database = with_prelude();
  std::mt19937 random(1);
  for (const size_t size : {20u, 21u, 39u, 40u, 41u, 1000u}) {
    std::vector<double> values(size);
    for (double& value : values) value = static_cast<double>(random() % 1000);
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(size);
    std::vector<double> residuals(20);
    std::string list;
    for (size_t i = 0; i < size; ++i) {
      residuals[i * 20 / size] += (values[i] - mean) / static_cast<double>(size);
      list += (i == 0 ? "" : ",") + std::to_string(static_cast<int>(values[i]));
    }
    double squares = 0;
    for (const double residual : residuals) squares += residual * residual;
    constexpr double kStudent19 = 2.0930240544;  // 97.5 % of Student's t with 19 degrees of freedom
    const Table table = query(database, "SELECT mean_half_width([" + list + "])");
    EXPECT_NEAR(number(table.rows[0][0]), kStudent19 * std::sqrt(20 / 19.0 * squares), 1e-3);
  }
  const Table few = query(database, "SELECT mean_half_width([1, 2, 3, 4, 5]) IS NULL");
  EXPECT_TRUE(std::get<bool>(few.rows[0][0]));
}

TEST(Prelude, InferencesBeyondTheRangeOfSmallIntegersHaveKeysOfTheirOwn) {
  Database database = with_prelude();
  const Table table =
      query(database,
            "SELECT count(DISTINCT inference_key(p::BIGINT, i::INTEGER)) "
            "FROM range(3) a(p), (VALUES (0), (32768), (40000), (2000000000)) b(i)");
  EXPECT_EQ(number(table.rows[0][0]), 12);
}

TEST(Prelude, LevelsAreNumbersThatGrow) {
  Database database = with_prelude();
  const Table table = query(database,
                            "SELECT deepest_level('model'), deepest_level('model, layer,kernel'), "
                            "deepest_level('layer,model'), level_name(level_number('api'))");
  EXPECT_EQ(number(table.rows[0][0]), 2);
  EXPECT_EQ(number(table.rows[0][1]), 6);
  EXPECT_EQ(number(table.rows[0][2]), 3);
  EXPECT_EQ(std::get<std::string>(table.rows[0][3]), "api");
}

// Returns the reason why the level model has no numbers, or none of its own, in a file with these
// rows.
std::string why_no_model(const std::string& evaluation, const std::string& run_levels,
                         bool has_model) {
  Result<Database> made = Database::in_memory();
  EXPECT_TRUE(made.ok()) << made.error().text;
  Database database = std::move(made).value();
  std::string sql =
      "INSERT INTO run BY NAME SELECT 1 AS run_id, '" + run_levels +
      "' AS levels, 10 AS iterations, 'ok' AS status; INSERT INTO span(run_id, span_id, level, "
      "name, iteration, ordinal, start_ns, duration_ns, site_id, depth, self_ns, is_open) VALUES "
      "(1, 1, " +
      std::string(has_model ? "2" : "1") + ", 'one', 0, 0, 0, 1000, 1, 0, 1000, false);";
  if (!evaluation.empty()) sql += "INSERT INTO evaluation VALUES " + evaluation;
  const Status filled = database.execute(sql);
  EXPECT_TRUE(filled.ok()) << filled.error().text;
  EXPECT_TRUE(load_prelude(database).ok());
  const Table table = query(
      database,
      "SELECT coalesce(why_no_level('model'), (SELECT doubt FROM level_doubt WHERE level = 2))");
  const auto* text = std::get_if<std::string>(&table.rows.at(0).at(0));
  return text == nullptr ? "" : *text;
}

// The advice must not have been followed yet, and must help.
TEST(Prelude, AdviceForALevelWithoutNumbersFitsHowItWasRecorded) {
  const std::string deep = "application,model,layer";
  const std::string by_run = "('recorded_by', 'xsp run'), ('leveled', ";
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find("level model"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    return text;
  };
  EXPECT_EQ(why_no_model("", "application,model", true), "");
  has(why_no_model("", deep, true), "profile with --levels model");
  has(why_no_model(by_run + "'turns')", deep, true), "use xsp run --leveled=runs");
  has(why_no_model("('recorded_by', 'xsp run')", deep, true), "use xsp run --leveled=runs");
  const std::string of_runs =
      has(why_no_model(by_run + "'runs')", deep, true), "let the command do more");
  EXPECT_EQ(of_runs.find("--leveled"), std::string::npos) << of_runs;
  has(why_no_model(by_run + "'no')", deep, true), "leave out --leveled=no");
  has(why_no_model(by_run + "'turns')", "application,layer", true), "see --levels");
  has(why_no_model(by_run + "'runs')", deep, false), "open a span at level model");
  has(why_no_model("('recorded_by', 'the program')", deep, true), "XSP_LEVELS");
}

// Compiled code below Python belongs to the Python line that called it. Without Python, the
// innermost named function counts.
// XLA's filters have their channels last, after data whose channels are last.
TEST(Prelude, DepthwiseConvolutionsAreKnownInBothLayouts) {
  Database database = with_prelude();
  const Table table =
      query(database,
            "SELECT is_depthwise('Conv', [[8, 96, 56, 56], [96, 1, 3, 3]]), "
            "is_depthwise('Conv', [[8, 96, 56, 56], [24, 96, 1, 1]]), "
            "is_depthwise('__cudnn$convForward', [[8, 56, 56, 96], [96, 3, 3, 1]]), "
            "is_depthwise('__cudnn$convForward', [[8, 56, 56, 96], [24, 1, 1, 96]]), "
            "is_depthwise('__cudnn$convForward', [[8, 224, 224, 3], [32, 3, 3, 3]])");
  const std::vector<store::Value> expected = {true, false, true, false, false};
  EXPECT_EQ(table.rows[0], expected);
}

TEST(Prelude, StacksTellWhoseCodeAThreadIsIn) {
  Database database = with_prelude();
  ASSERT_TRUE(database
                  .execute("INSERT INTO stack VALUES "
                           "(1, 1, NULL, 'step', '/src/train.py', 12, 'python'), "
                           "(1, 2, 1, 'array_matmul', '/lib/umath.so', NULL, 'native'), "
                           "(1, 3, 2, 'dgemm_', '/lib/libblas.so.3', NULL, 'native'), "
                           "(1, 4, NULL, 'main', '/bin/prog', NULL, 'native'), "
                           "(1, 5, 4, 'solve(int)', '/bin/prog', NULL, 'native'), "
                           "(1, 6, 5, '[libm.so.6]', '/lib/libm.so.6', NULL, 'native')")
                  .ok());
  const auto row = [&database](const std::string& stack) {
    const Table table =
        query(database,
              "SELECT concat_ws('|', coalesce(place, '-'), coalesce(own_function, '-'), "
              "coalesce(callee, '-'), coalesce(native_function, '-'), "
              "coalesce(native_library, '-')) FROM stack_facts(1) WHERE stack_id = " +
                  stack);
    return table.rows.empty() ? "" : std::get<std::string>(table.rows[0][0]);
  };
  EXPECT_EQ(row("1"), "train.py:12|step|-|-|-");
  EXPECT_EQ(row("3"), "train.py:12|step|-|dgemm_|libblas.so.3");
  EXPECT_EQ(row("4"), "-|-|main|main|prog");
  EXPECT_EQ(row("5"), "-|-|solve(int)|solve(int)|prog");
  EXPECT_EQ(row("6"), "-|-|solve(int)|[libm.so.6]|libm.so.6");
}

// The macros share one namespace: the second of a name would silently replace the first.
TEST(Prelude, NoNameIsGivenTwice) {
  static const std::regex kCreated(R"(CREATE OR REPLACE TEMP (?:MACRO|VIEW|TABLE) (\w+))");
  std::map<std::string, int> names;
  for (const EmbeddedSql& file : embedded_sql()) {
    if (!is_prelude(file.name)) continue;
    const std::string text(file.text);
    for (std::sregex_iterator it(text.begin(), text.end(), kCreated), end; it != end; ++it) {
      EXPECT_EQ(++names[it->str(1)], 1) << it->str(1) << " again in " << file.name;
    }
  }
  EXPECT_TRUE(names.contains("layers"));
}

TEST(Prelude, IsKnownOnceLoaded) {
  Database database = with_prelude();
  const Status again = load_prelude(database);
  EXPECT_TRUE(again.ok());
}

TEST(PreludeOfAQuery, HasNothingIfItNamesNothing) {
  Result<Database> database = Database::in_memory();
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(query_with_prelude(*database, "SELECT 'every_step' AS x -- layers(1)").ok());
  EXPECT_TRUE(database->loaded().empty());
}

// A kernel and a step, so that no table is left empty.
constexpr const char* kOfEverything =
    "INSERT INTO run BY NAME SELECT 1 AS run_id, 'application,model,kernel' AS levels, "
    "10 AS iterations, 'ok' AS status; INSERT INTO span(run_id, span_id, level, type, name, "
    "iteration, ordinal, start_ns, duration_ns, site_id, depth, self_ns, is_open) VALUES "
    "(1, 1, 1, 'step', 'step', 0, 0, 0, 1000, 1, 0, 1000, false), "
    "(1, 2, 6, 'kernel', 'one', 0, 0, 0, 1000, 2, 0, 1000, false);";

// The tables that are empty unless their condition holds, by name.
std::map<std::string, std::string> conditions_of_tables() {
  static const std::regex kConditional(R"(TEMP TABLE (\w+) AS\n  -- @if (\w+\(\)) else \()");
  std::map<std::string, std::string> conditions;
  for (const EmbeddedSql& file : embedded_sql()) {
    const std::string text(file.text);
    for (std::sregex_iterator it(text.begin(), text.end(), kConditional), end; it != end; ++it) {
      conditions[it->str(1)] = it->str(2);
    }
  }
  EXPECT_GT(conditions.size(), 5u);
  return conditions;
}

TEST(PreludeOfAQuery, ATableThatIsLeftEmptyHasTheColumnsOfItsQuery) {
  Database whole = with_prelude();
  for (const auto& [name, condition] : conditions_of_tables()) {
    Result<Database> database = Database::in_memory();
    ASSERT_TRUE(database.ok());
    const std::string columns = "SELECT column_name, column_type FROM (DESCRIBE FROM " + name + ")";
    const auto declared = query_with_prelude(*database, columns);
    ASSERT_TRUE(declared.ok()) << name << ": " << declared.error().text;
    EXPECT_LT(database->loaded().size(), 8u) << name << " is not left empty";
    EXPECT_EQ(declared->rows, query(whole, columns).rows) << name;
  }
}

TEST(PreludeOfAQuery, ATableIsLeftEmptyOnlyIfItsQueryGivesNothing) {
  size_t empty = 0;
  for (const char* fixture : {"small", "gpu", "training", "sampled"}) {
    Result<Database> database = Database::in_memory();
    ASSERT_TRUE(database.ok());
    std::ostringstream sql;
    sql << std::ifstream(places::source(std::string("tests/data/") + fixture + ".sql")).rdbuf();
    ASSERT_TRUE(database->execute(sql.str()).ok()) << fixture;
    ASSERT_TRUE(load_prelude(*database).ok());
    for (const auto& [name, condition] : conditions_of_tables()) {
      const Table table =
          query(*database, "SELECT " + condition + ", (SELECT count(*) FROM " + name + ")");
      if (std::get<bool>(table.rows.at(0).at(0))) continue;
      EXPECT_EQ(number(table.rows[0][1]), 0) << fixture << ": " << name;
      ++empty;
    }
  }
  EXPECT_GT(empty, 10u);
}

// DuckDB plans a macro when it is made, so that one whose parts are missing is not made.
TEST(PreludeOfAQuery, HasEachDefinitionWithAllThatItNeeds) {
  Database whole = with_prelude();
  const Table macros = query(whole, "SELECT DISTINCT function_name FROM duckdb_functions()");
  std::set<std::string> calls;
  for (const auto& row : macros.rows) calls.insert(std::get<std::string>(row[0]));
  ASSERT_GT(whole.loaded().size(), 100u);
  for (const std::string& name : whole.loaded()) {
    Result<Database> database = Database::in_memory();
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute(kOfEverything).ok());
    const bool is_macro = calls.count(name) != 0;
    // A call that lacks its arguments fails after all that it needs is there.
    const auto result = query_with_prelude(
        *database, is_macro ? "SELECT " + name + "()" : "SELECT count(*) FROM " + name);
    EXPECT_TRUE(is_macro || result.ok()) << name << ": " << result.error().text;
    EXPECT_TRUE(database->loaded().count(name) != 0) << name << ": " << result.error().text;
    EXPECT_LT(database->loaded().size(), whole.loaded().size()) << name;
  }
}

TEST(PreludeOfAQuery, IsLoadedAnewAfterAChange) {
  Result<Database> database = Database::in_memory();
  ASSERT_TRUE(database.ok());
  const auto runs = [&] {
    const auto table = query_with_prelude(*database, "SELECT count(*) FROM source_run");
    EXPECT_TRUE(table.ok()) << table.error().text;
    return table.ok() ? number(table->rows[0][0]) : -1;
  };
  EXPECT_EQ(runs(), 0);
  std::ostringstream fixture;
  fixture << std::ifstream(places::source("tests/data/small.sql")).rdbuf();
  ASSERT_TRUE(database->execute(fixture.str()).ok());
  forget_prelude(*database);
  EXPECT_GT(runs(), 0);
}

TEST(PreludeOfAQuery, TablesOfABatchSizeAreMadeAnewForAnother) {
  Result<Database> database = Database::open(places::build("tests/data/h200_resnet50.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  const auto batches = [&] {
    const auto table = query_with_prelude(
        *database, "SELECT count(DISTINCT batch), CAST(min(batch) AS BIGINT) FROM layer_cost");
    EXPECT_TRUE(table.ok()) << table.error().text;
    return table.ok() && number(table->rows[0][0]) == 1 ? number(table->rows[0][1]) : -1;
  };
  EXPECT_EQ(batches(), 1);  // without being asked, the smallest
  for (const int64_t batch : {4, 1, 4}) {
    ASSERT_TRUE(ask_for(*database, {.batch = batch}).ok());
    EXPECT_EQ(database->loaded().count("layer_cost"), 0u);
    EXPECT_EQ(database->loaded().count("executed_layer"), 1u);  // holds every batch size
    EXPECT_EQ(batches(), batch);
    ASSERT_TRUE(ask_for(*database, {.batch = batch}).ok());
    EXPECT_EQ(database->loaded().count("layer_cost"), 1u);
  }
  ASSERT_TRUE(ask_for(*database, {}).ok());
  EXPECT_EQ(batches(), 1);
}

// The causes take about as long as all other findings together, and a model on a CPU has none.
TEST(PreludeOfAQuery, FindingsOfAModelWithoutADeviceMakeNoCauses) {
  const auto found = find("findings");
  ASSERT_TRUE(found.ok()) << found.error().text;
  for (const bool has_device : {false, true}) {
    Result<Database> database = Database::in_memory();
    ASSERT_TRUE(database.ok());
    const std::string fixture = has_device ? "gpu" : "small";
    std::ostringstream text;
    text << std::ifstream(places::source("tests/data/" + fixture + ".sql")).rdbuf();
    ASSERT_TRUE(database->execute(text.str()).ok());
    const auto table = run(*database, **found, {});
    ASSERT_TRUE(table.ok()) << table.error().text;
    EXPECT_FALSE(table->rows.empty());
    for (const std::string made : {"step_cause", "overlapped_part"}) {
      EXPECT_EQ(database->loaded().count(made), has_device ? 1u : 0u) << made;
    }
  }
}

TEST(PreludeOfAQuery, IsAboutWhatWasAskedForAlsoAfterAChange) {
  Result<Database> database = Database::in_memory();
  ASSERT_TRUE(database.ok());
  const auto asked_batch = [&] {
    const auto table = query_with_prelude(*database, "SELECT CAST(asked_batch() AS BIGINT)");
    EXPECT_TRUE(table.ok()) << table.error().text;
    return table.ok() ? number(table->rows[0][0]) : -1;
  };
  ASSERT_TRUE(ask_for(*database, {.batch = 4}).ok());
  EXPECT_EQ(asked_batch(), 4);
  // A change drops the tables, with the one that says what was asked for.
  forget_prelude(*database);
  ASSERT_TRUE(query_with_prelude(*database, "SELECT asked_batch()").ok());
  ASSERT_TRUE(ask_for(*database, {.batch = 4}).ok());
  EXPECT_EQ(asked_batch(), 4);
}

}  // namespace
}  // namespace xsp::analyze
