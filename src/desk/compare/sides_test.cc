// Watched programs are compared by the step that `xsp run` tells.
#include <gtest/gtest.h>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/compare/gate.h"
#include "desk/compare/testing.h"

namespace xsp::compare {
namespace {

using store::Database;

// Lets the calls be those of a program that xsp watched: one every `period_us`.
void watch(Database& database, int64_t period_us) {
  must(database,
       "INSERT INTO evaluation VALUES ('recorded_by', 'xsp run');"
       "UPDATE span SET start_ns = CAST(1e11 * run_id AS BIGINT) + " +
           std::to_string(1000 * period_us) + " * iteration");
}

// Returns the step that `xsp run` tells.
double told_step_ns(Database& database) {
  const auto table = analyze::run(database, **analyze::find("time_of_step"), {});
  EXPECT_TRUE(table.ok());
  for (const auto& row : table->rows) {
    if (text(row[0]) == "step") return std::get<double>(row[5]);
  }
  ADD_FAILURE() << "no step";
  return 0;
}

TEST(CompareSteps, WatchedProgramsAreComparedByTheStepThatRunTells) {
  Database a = make({}), b = make({.factor = 0.5});
  watch(a, 51000);
  watch(b, 7000);
  const Compared model("model", {&a, &b});
  EXPECT_EQ(model.rows({"unit_a", "unit_b", "verdict_b"}), "step,step,faster");
  EXPECT_DOUBLE_EQ(model.number(0, "latency_a_ns"), told_step_ns(a));
  EXPECT_DOUBLE_EQ(model.number(0, "latency_b_ns"), told_step_ns(b));
  EXPECT_NEAR(model.number(0, "ratio_b"), 7.0 / 51, 1e-6);
  EXPECT_NEAR(model.number(0, "throughput_b_per_s"), 1e9 / 7e6, 1e-3);
  EXPECT_EQ(judge(Compared("model", {&b, &a}).all(), 500).state, Gate::State::kTripped);
}

TEST(CompareSteps, AProgramsStepIsNotComparedWithAnInference) {
  Database a = make({}), b = make({.factor = 0.5});
  watch(a, 51000);
  const Compared model("model", {&a, &b});
  EXPECT_EQ(model.rows({"unit_a", "unit_b"}), "inference,inference");
  EXPECT_NEAR(model.number(0, "ratio_b"), 0.5, 1e-6);
  EXPECT_EQ(model.all().warnings.at(0),
            "batch 1: A repeats a step and B does not, so the calls of the model are compared, not "
            "the step");
}

TEST(CompareSteps, StepsOfOtherKindsAreToldApart) {
  Database a = make({}), b = make({});
  for (Database* one : {&a, &b}) watch(*one, 51000);
  must(b,
       "INSERT INTO site_attribute VALUES (1, 90, 'step_of', 'mark'), (2, 90, 'step_of', 'mark');"
       "INSERT INTO span BY NAME SELECT run_id, 90000 + iteration AS span_id, 1 AS level, 'step' "
       "AS name, 'step' AS type, start_ns, 102000000 AS duration_ns, 1 AS process, 1 AS thread, "
       "0 AS depth, false AS is_open, 0 AS self_ns, 90 AS site_id FROM span "
       "WHERE level = 2 AND iteration % 2 = 0");
  const Compared model("model", {&a, &b});
  EXPECT_EQ(model.rows({"unit_a", "unit_b"}), "step,step");
  const std::string notes = testing::PrintToString(model.all().warnings);
  EXPECT_NE(notes.find("a step of A is steady, by model; of B steady, by mark"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("a step of A calls the model 1 times, of B 2 times"), std::string::npos)
      << notes;
}

}  // namespace
}  // namespace xsp::compare
