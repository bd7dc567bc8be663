#include "exporters/shared/spans.h"

#include <map>
#include <set>

#include "exporters/shared/testing.h"

namespace xsp::exporters {
namespace {

class SpansTest : public ExporterTest {
 protected:
  std::vector<Span> spans() {
    std::vector<Span> all;
    auto database = open_for_export(request);
    EXPECT_TRUE(database.ok()) << database.error().text;
    const auto count = each_span(*database, request, [&](const Span& span) -> Status {
      all.push_back(span);
      return Ok{};
    });
    EXPECT_TRUE(count.ok()) << count.error().text;
    EXPECT_EQ(count.ok() ? *count : 0, all.size());
    return all;
  }
};

TEST_F(SpansTest, GivesEachSpanOnceInOrder) {
  const auto all = spans();
  auto database = store::Database::open(request.file);
  ASSERT_TRUE(database.ok());
  const auto count = database->query("SELECT count(*) FROM span");
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(store::Value(static_cast<int64_t>(all.size())), count->rows[0][0]);
  std::set<uint64_t> ids;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(ids.insert(all[i].unique_id()).second);
    EXPECT_TRUE(i == 0 || all[i - 1].start_ns <= all[i].start_ns);
  }
}

TEST_F(SpansTest, TiesExecutionsToTheirLaunches) {
  request.run = 3;
  std::map<int64_t, Span> by_id;
  for (const Span& span : spans()) by_id[span.id] = span;
  // In the first inference, gemm_a is launched by the call 6, and the copy by 12.
  EXPECT_EQ(by_id.at(18).launch, 6);
  EXPECT_EQ(by_id.at(21).launch, 12);
  EXPECT_TRUE(by_id.at(6).is_launch());
  EXPECT_FALSE(by_id.at(18).is_launch());
  EXPECT_FALSE(by_id.at(16).launch) << "a call that launches nothing";
}

TEST_F(SpansTest, HasTheFactsOfTheSpanAndOfItsSite) {
  request.run = 4;
  for (const Span& span : spans()) {
    if (span.id != 18) continue;
    std::map<std::string, std::string> texts;
    std::map<std::string, double> numbers;
    for (const Fact& fact : span.facts) {
      fact.number ? (void)numbers.emplace(fact.key, *fact.number)
                  : (void)texts.emplace(fact.key, fact.text);
    }
    EXPECT_EQ(texts.at("grid"), "[98,1,1]");
    EXPECT_EQ(numbers.at("tensor_bf16_flops"), 8e9);
    EXPECT_EQ(numbers.at("registers_per_thread"), 128);
    return;
  }
  FAIL() << "the kernel is missing";
}

TEST_F(SpansTest, ChoosesARunAndIterations) {
  request.run = 3;
  const size_t both = spans().size();
  request.iterations = {1, 1};
  const auto one = spans();
  EXPECT_EQ(2 * one.size(), both);
  for (const Span& span : one) EXPECT_EQ(span.iteration, 1);
}

TEST_F(SpansTest, NoSpansAreAnError) {
  request.run = 99;
  auto database = open_for_export(request);
  ASSERT_TRUE(database.ok());
  const auto count = each_span(*database, request, [](const Span&) -> Status { return Ok{}; });
  ASSERT_FALSE(count.ok());
  EXPECT_NE(count.error().text.find("run 99: no spans"), std::string::npos) << count.error().text;
}

}  // namespace
}  // namespace xsp::exporters
