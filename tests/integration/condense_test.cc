// Tests xsp condense on an evaluation that was recorded on an H200, and on one of this machine.
#include <algorithm>
#include <set>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CondenseTest : public XspTest {
 protected:
  void take_recorded() const {
    fs::copy_file(places::build("tests/data/h200_resnet50.xsp"), folder / "a.xsp");
  }
  void condense() const {
    const Finished finished = run({"condense", "a.xsp", "-o", "b.xsp"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  void expect_refused(const std::string& file, const std::string& part) const {
    const auto before = files();
    const Finished finished = run({"condense", file, "-o", "c.xsp"});
    EXPECT_NE(finished.status, 0);
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
    EXPECT_EQ(files(), before);
  }
  std::vector<std::string> analyses() const {
    const Finished listed = run({"analyze", "--list", "--format", "json"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    std::vector<std::string> names;
    for (const json& one : json::parse(listed.out)) names.push_back(one["name"]);
    return names;
  }
  std::string answer(const std::string& name, const std::string& file) const {
    const Finished finished = run({"analyze", name, file, "--format", "csv"});
    return std::to_string(finished.status) + "\n" + finished.out;
  }
};

// The audit says how many spans are left out; warm-up's share is one of single inferences.
const std::set<std::string> kOwnAnswers = {"audit", "hotspots"};

TEST_F(CondenseTest, EveryAnalysisAnswersTheSame) {
  take_recorded();
  condense();
  EXPECT_LT(scalar("b.xsp", "SELECT count(*) FROM span"),
            scalar("a.xsp", "SELECT count(*) FROM span"));
  const std::vector<std::string> names = analyses();
  EXPECT_GT(names.size(), 40u);
  for (const std::string& name : names) {
    if (kOwnAnswers.count(name) > 0) continue;
    EXPECT_EQ(answer(name, "b.xsp"), answer(name, "a.xsp")) << name;
  }
}

TEST_F(CondenseTest, TheAuditAddsUp) {
  take_recorded();
  condense();
  const int64_t before = scalar("a.xsp", "SELECT count(*) FROM span").get<int64_t>();
  const int64_t after = scalar("b.xsp", "SELECT count(*) FROM span").get<int64_t>();
  const std::string audit = answer("audit", "b.xsp");
  EXPECT_NE(audit.find("xsp condense left out " + std::to_string(before - after)),
            std::string::npos)
      << audit;
  const auto bad = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(",not ok,", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(bad(audit), bad(answer("audit", "a.xsp"))) << audit;
}

TEST_F(CondenseTest, WhatCannotBeCondensedIsSaid) {
  take_recorded();
  condense();
  expect_refused("b.xsp", "is condensed already");
  expect_refused("nosuch.xsp", "cannot be opened");
  ASSERT_EQ(run({"run", "-o", "w.xsp", "--", "true"}).status, 0);
  expect_refused("w.xsp", "is of a watched program");
  const Finished same = run({"condense", "a.xsp", "-o", "a.xsp"});
  EXPECT_NE(same.status, 0);
  EXPECT_EQ(error_lines(same), 1) << same.err;
}

}  // namespace
}  // namespace xsp::integration
