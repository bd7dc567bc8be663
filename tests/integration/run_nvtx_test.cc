// Tests xsp run of a program with NVTX's ranges, which needs no GPU.
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class RunNvtxTest : public WatchedTest {
 protected:
  Finished watch(const std::vector<std::string>& words,
                 const std::map<std::string, std::string>& environment = {}) const {
    std::vector<std::string> arguments = {
        "run", "--leveled=no", "--levels", "all",
        "-o",  "t.xsp",        "--",       places::build("tests/nvtx_program")};
    arguments.insert(arguments.end(), words.begin(), words.end());
    RunOptions options;
    options.environment = environment;
    return run(arguments, options);
  }
  // Returns NAME TYPE LEVEL PARENT of every span but the process's, by its start.
  std::vector<std::string> spans() const {
    std::vector<std::string> lines;
    const auto rows = query("t.xsp",
                            "SELECT concat(s.name, '|', s.type, '|', s.level, '|', p.name) AS line "
                            "FROM span s JOIN span p ON p.span_id = s.parent_id "
                            "WHERE s.type <> 'process' ORDER BY s.start_ns, s.duration_ns DESC");
    for (const auto& row : rows) lines.push_back(row["line"]);
    return lines;
  }
  nlohmann::json attribute(const std::string& name, const std::string& key) const {
    return scalar("t.xsp",
                  "SELECT value FROM span s JOIN attribute a USING (run_id, span_id) "
                  "WHERE s.name = '" +
                      name + "' AND key = '" + key + "'");
  }
};

using Lines = std::vector<std::string>;

TEST_F(RunNvtxTest, RangesAndMarksAreSpansWithTheirAttributes) {
  const Finished finished = watch({"default", "domains"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  // The output has the depths of the pushes, of the pops, and of one pop too many.
  EXPECT_EQ(finished.out, "0 1\n1 0 -2 ");
  Lines all = spans();
  ASSERT_EQ(all.size(), 7u) << ::testing::PrintToString(all);
  EXPECT_EQ(all[0], "outer|range|1|nvtx_program");
  EXPECT_EQ(all[1], "inner \u00e9|range|1|outer");
  EXPECT_EQ(all[2], "here|mark|1|inner \u00e9");
  EXPECT_EQ(all[3], "with payload|range|1|nvtx_program");
  EXPECT_EQ(all[4], "aten::conv2d|operator|3|nvtx_program");
  EXPECT_EQ(all[5], "registered|range|1|nvtx_program");
  EXPECT_EQ(all[6].rfind("gemm|range|4|", 0), 0u) << all[6];
  EXPECT_EQ(attribute("with payload", "payload"), "2.5");
  EXPECT_EQ(attribute("with payload", "category"), "loading");
  EXPECT_EQ(attribute("gemm", "domain"), "cuBLASLt");
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE name = 'inner é'"), 1);
}

TEST_F(RunNvtxTest, TheDomainXspSaysWhichLevelARangeHas) {
  ASSERT_EQ(watch({"steps"}).status, 0);
  // This holds for any number of warm-up iterations.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT concat(count(*), ' ', max(iteration) - min(iteration)) FROM span "
                   "WHERE level = 2 AND name = 'step'"),
            "3 2");
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span s JOIN span m ON m.span_id = s.parent_id "
                   "WHERE s.level = 3 AND s.name = 'part' AND m.name = 'step' "
                   "AND s.iteration = m.iteration"),
            3);
}

TEST_F(RunNvtxTest, RangesAndMarksOfTheDomainXspAreSteps) {
  const std::string steps =
      "SELECT count(*) FROM attribute JOIN span USING (run_id, span_id) WHERE type = 'step' AND "
      "key = 'step_of' AND value = ";
  ASSERT_EQ(watch({"steps"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", steps + "'model'"), 3);
  ASSERT_EQ(watch({"marks"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", steps + "'mark'"), 3) << "the first mark begins the first step";
}

TEST_F(RunNvtxTest, XlasRangesAreItsProgramsAndInstructions) {
  ASSERT_EQ(watch({"xla"}).status, 0);
  EXPECT_EQ(spans(), (Lines{"jit_f|hlo_module|3|nvtx_program", "jit_f/fusion.1|hlo_op|3|jit_f",
                            "cse|XlaPass|1|nvtx_program", "cse|XlaPass|1|nvtx_program"}));
  EXPECT_EQ(attribute("jit_f/fusion.1", "operation"), "jit(f)/add");
  EXPECT_EQ(scalar("t.xsp", "SELECT count(DISTINCT site_id) FROM span WHERE name = 'cse'"), 1);
}

TEST_F(RunNvtxTest, ARangeMayEndOnAnotherThreadAndAForkLeavesTheParentsItsOwn) {
  ASSERT_EQ(watch({"started", "fork"}).status, 0);
  const auto rows = query("t.xsp",
                          "SELECT s.name, p.process = s.process AS is_own FROM span s JOIN span p "
                          "ON p.span_id = s.parent_id WHERE s.type = 'range' ORDER BY s.name");
  ASSERT_EQ(rows.size(), 3u) << rows;
  EXPECT_EQ(rows[0]["name"], "across threads");
  EXPECT_EQ(rows[1]["name"], "of the child");
  EXPECT_EQ(rows[2]["name"], "of the parent");
  for (const auto& row : rows) EXPECT_EQ(row["is_own"], true) << row;
}

TEST_F(RunNvtxTest, NamesAndDepthsAreBounded) {
  ASSERT_EQ(watch({"many", "default"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE name LIKE 'number %'"), 4096);
  EXPECT_EQ(attribute("(other ranges)", "message"), "number 4096");
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE name = '(other ranges)' "),
            6000 - 4096 + 128 + 5);
}

TEST_F(RunNvtxTest, AnotherToolKeepsTheRanges) {
  const Finished finished = watch({"default"}, {{"NVTX_INJECTION64_PATH", "/no/such/tool.so"}});
  ASSERT_EQ(finished.status, 0);
  EXPECT_TRUE(spans().empty());
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM evaluation WHERE key LIKE 'note.%' AND value "
                   "LIKE 'NVTX%/no/such/tool.so%'"),
            1);
}

}  // namespace
}  // namespace xsp::integration
