// Tests the API's comparisons with evaluations of known numbers.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "desk/serve/api.h"
#include "desk/serve/http/routes.h"
#include "desk/store/database.h"
#include "tests/places.h"

namespace xsp::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CompareRoute : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "xsp-compare-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    make("a.xsp", "");
    make("b & c.xsp", "UPDATE span SET duration_ns = 2 * duration_ns, self_ns = 2 * self_ns");
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static void make(const std::string& file, const std::string& change) {
    auto database = store::Database::create(folder_ / file);
    ASSERT_TRUE(database.ok()) << database.error().text;
    std::ifstream fixture(places::source("tests/data/small.sql"));
    std::ostringstream sql;
    sql << fixture.rdbuf();
    const Status filled = database->execute(sql.str() + ";" + change);
    ASSERT_TRUE(filled.ok()) << filled.error().text;
    const Status finished = database->finish();
    ASSERT_TRUE(finished.ok()) << finished.error().text;
  }

  void SetUp() override {
    auto library = Library::of_folder(folder_);
    ASSERT_TRUE(library.ok()) << library.error().text;
    library_ = std::move(library).value();
  }
  Answer ask(const std::string& request, size_t limit = Api::kRows) {
    return Api(*library_, limit).answer("/api/v1/compare/" + request);
  }
  // Returns the cell of a row, by column.
  static json cell(const json& answer, size_t row, const std::string& column) {
    for (size_t i = 0; i < answer["columns"].size(); ++i) {
      if (answer["columns"][i]["name"] == column) return answer["rows"][row][i];
    }
    return "no such column";
  }

  static inline fs::path folder_;
  std::unique_ptr<Library> library_;
};

const std::string kBoth = "e=a.xsp&e=b%20%26%20c.xsp";

TEST_F(CompareRoute, AnswersRowsWithTheEvaluationsInOrder) {
  const Answer answer = ask("model?" + kBoth);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json model = json::parse(answer.body);
  EXPECT_EQ(model["comparison"], "model");
  EXPECT_EQ(model["evaluations"], json({"a.xsp", "b & c.xsp"}));
  EXPECT_EQ(model["batch"], nullptr);
  ASSERT_EQ(model["warnings"].size(), 1u);
  EXPECT_NE(model["warnings"][0].get<std::string>().find("by one process each"), std::string::npos);
  ASSERT_EQ(model["rows"].size(), 2u);
  EXPECT_EQ(model["total_rows"], 2);
  EXPECT_EQ(cell(model, 0, "latency_a_ns"), 1025000.0);
  EXPECT_EQ(cell(model, 0, "latency_b_ns"), 2050000.0);
  EXPECT_DOUBLE_EQ(cell(model, 0, "ratio_b").get<double>(), 2);
  EXPECT_EQ(cell(model, 0, "verdict_b"), "slower");
  const json turned = json::parse(ask("model?e=b%20%26%20c.xsp&e=a.xsp").body);
  EXPECT_EQ(cell(turned, 0, "verdict_b"), "faster");
}

TEST_F(CompareRoute, TakesABatchAndALimit) {
  const json layers = json::parse(ask("layers?batch=2&" + kBoth, 3).body);
  EXPECT_EQ(layers["batch"], 2);
  EXPECT_EQ(layers["rows"].size(), 3u);
  EXPECT_EQ(layers["total_rows"], 4);
  EXPECT_EQ(cell(layers, 0, "layer"), "conv");
  EXPECT_EQ(cell(layers, 0, "difference_b_ns"), 750000.0);
  EXPECT_EQ(json::parse(ask("layers?" + kBoth).body)["batch"], 1);
}

TEST_F(CompareRoute, SaysWhatWasNotMeasured) {
  const Answer kernels = ask("kernels?" + kBoth);
  EXPECT_EQ(kernels.status, 200);
  const json answer = json::parse(kernels.body);
  EXPECT_EQ(answer["not_measured"], "not measured: A: no GPU: the runs were on the CPU");
  EXPECT_EQ(answer["rows"], json::array());
  EXPECT_TRUE(json::parse(ask("layers?batch=7&" + kBoth).body).contains("not_measured"));
}

TEST_F(CompareRoute, RefusesMisuse) {
  EXPECT_EQ(ask("model?e=a.xsp").status, 400);
  EXPECT_EQ(ask("model?e=a.xsp&e=a.xsp&e=a.xsp&e=a.xsp&e=a.xsp&e=a.xsp&e=a.xsp").status, 400);
  EXPECT_EQ(ask("layer?" + kBoth).status, 404);
  EXPECT_EQ(ask("layers?batch=two&" + kBoth).status, 400);
  EXPECT_EQ(ask("layers?batch=-1&" + kBoth).status, 400);
  EXPECT_EQ(ask("layers?batch=1&batch=1&" + kBoth).status, 400);
  EXPECT_EQ(ask("layers?time=then&" + kBoth).status, 400);
  EXPECT_EQ(ask("layers?colour=red&" + kBoth).status, 400);
  const int missing = ask("model?e=a.xsp&e=none.xsp").status;
  EXPECT_TRUE(missing == 400 || missing == 404) << missing;
  EXPECT_NE(ask("model?e=a.xsp&e=../a.xsp").status, 200);
}

TEST_F(CompareRoute, AnEvaluationMayBeComparedWithItself) {
  const json model = json::parse(ask("model?e=a.xsp&e=a.xsp").body);
  EXPECT_EQ(cell(model, 0, "ratio_b"), 1.0);
}

// Two requests that hold the same evaluations in another order must not wait for each other.
TEST_F(CompareRoute, RequestsInEitherOrderEnd) {
  const auto many = [&](const std::string& request) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(request).status, 200);
  };
  std::thread other([&] { many("facts?e=b%20%26%20c.xsp&e=a.xsp"); });
  many("facts?" + kBoth);
  other.join();
}

TEST_F(CompareRoute, WhatAReportRecordsIsAnswered) {
  const std::vector<Entry> entries = library_->list().entries;
  const std::vector<std::string> requests = compare_requests(entries);
  // Each of the two evaluations is the reference once. The requests are model, facts, and three
  // tables at the smallest and at each of the two batch sizes.
  EXPECT_EQ(requests.size(), 2u * (2 + 3 * 3));
  for (const std::string& one : requests) {
    EXPECT_EQ(Api(*library_).answer(one).status, 200) << one;
  }
  EXPECT_TRUE(compare_requests({entries[0]}).empty());
}

}  // namespace
}  // namespace xsp::serve
