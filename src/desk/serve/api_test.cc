#include "desk/serve/api.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "desk/serve/http/routes.h"
#include "tests/places.h"

namespace xsp::serve {
namespace {

TEST(ApiTest, EveryRouteIsInItsDocument) {
  std::ifstream file(places::source("docs/http_api.md"));
  std::ostringstream text;
  text << file.rdbuf();
  size_t routes = 0;
  for (const Route* route : all_routes()) {
    ++routes;
    const std::string method = route->method == "GET" ? "" : std::string(route->method) + " ";
    EXPECT_NE(text.str().find("| `" + method + std::string(route->pattern) + "` |"),
              std::string::npos)
        << route->pattern;
  }
  size_t rows = 0;
  for (const char* begin : {"\n| `/", "\n| `POST /", "\n| `DELETE /"}) {
    for (size_t at = 0; (at = text.str().find(begin, at)) != std::string::npos; ++at) ++rows;
  }
  EXPECT_EQ(rows, routes);
}

class AnswerTest : public testing::Test {
 protected:
  void SetUp() override {
    // The folder belongs to this test only: others run at the same time.
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("api_answers_" + name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    auto library = Library::of_folder(folder_);
    ASSERT_TRUE(library.ok());
    library_ = std::move(library).value();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& model) {
    auto database = store::Database::create(folder_ / "one.xsp");
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute("INSERT INTO evaluation VALUES ('model', '" + model + "')").ok());
    ASSERT_TRUE(database->finish().ok());
  }

  std::filesystem::path folder_;
  std::unique_ptr<Library> library_;
};

TEST_F(AnswerTest, AreJsonWhateverIsAsked) {
  Api api(*library_);
  for (const char* target :
       {"", "/", "/api/v1", "/api/v2/catalogue", "/api/v1/catalogue?x=%", "/api/v1/evaluations/%zz",
        "/api/v1/evaluations/a", "/api/v1/evaluations/a/analyses/b", "/api/v1/compare/model",
        "/api/v1/evaluations/a/timeline?run=-1"}) {
    const Answer answer = api.answer(target);
    EXPECT_GE(answer.status, 400) << target;
    const auto body = nlohmann::json::parse(answer.body);
    EXPECT_FALSE(body["error"].get<std::string>().empty()) << target;
  }
}

TEST_F(AnswerTest, FollowTheFile) {
  Api api(*library_);
  const std::string target = "/api/v1/evaluations/one.xsp";
  EXPECT_EQ(api.answer(target).status, 404);
  write("first");
  EXPECT_NE(api.answer(target).body.find("first"), std::string::npos);
  EXPECT_NE(api.answer(target).body.find("first"), std::string::npos);
  write("second, which is longer");
  EXPECT_NE(api.answer(target).body.find("second"), std::string::npos);
  std::filesystem::remove(folder_ / "one.xsp");
  EXPECT_EQ(api.answer(target).status, 404);
}

TEST_F(AnswerTest, ParametersThatAnAnalysisDoesNotTakeAreRefused) {
  write("tiny");
  Api api(*library_);
  const std::string analysis = "/api/v1/evaluations/one.xsp/analyses/";
  EXPECT_EQ(api.answer(analysis + "audit").status, 200);
  EXPECT_EQ(api.answer(analysis + "audit?nonsense=1").status, 400);
  EXPECT_EQ(api.answer(analysis + "layer_information?batch=x").status, 400);
  EXPECT_EQ(api.answer(analysis + "layer_information?batch=1&batch=2").status, 400);
  EXPECT_EQ(api.answer(analysis + "nonsense").status, 404);
}

TEST(CellTest, WhatIsNoNumberIsNull) {
  EXPECT_TRUE(cell_json(std::monostate{}).is_null());
  EXPECT_TRUE(cell_json(0.0 / 0.0).is_null());
  EXPECT_TRUE(cell_json(1.0 / 0.0).is_null());
  EXPECT_EQ(cell_json(int64_t{5}), 5);
}

TEST_F(AnswerTest, AreKeptOnceWhateverUnknownParametersAreAdded) {
  write("first");
  Api api(*library_);
  const std::string target = "/api/v1/evaluations/one.xsp";
  const Answer kept = api.answer(target + "?x=1");
  ASSERT_EQ(kept.status, 200) << kept.body;
  AnswerCache& cache = api.cache();
  const size_t bytes = cache.bytes();
  EXPECT_GT(bytes, kept.body.size());
  for (const char* more : {"", "?x=2", "?y=a&z=b", "?x=1&x=1"}) api.answer(target + more);
  EXPECT_EQ(cache.bytes(), bytes);
  api.answer("/api/v1/compare/facts?e=one.xsp&e=one.xsp&batch=1");
  const size_t both = cache.bytes();
  api.answer("/api/v1/compare/facts?e=one.xsp&e=one.xsp&batch=2");
  EXPECT_GT(cache.bytes(), both) << "a known parameter tells answers apart";
}

TEST_F(AnswerTest, QueriesWaitForTheirTurnInsteadOfBeingRefused) {
  write("one");
  Services services{.library = *library_, .predict = {}, .models = {}};
  services.has_queries = true;
  Api api(services);
  std::vector<Answer> answers(6);  // three times as many as run at a time
  std::vector<std::thread> askers;
  // The server gives each request a body, also those whose route takes none.
  const Body no_body = [](const Take&) { return Status(Ok{}); };
  const std::string target = "/api/v1/evaluations/one.xsp/query?sql=FROM%20evaluation";
  for (Answer& answer : answers) {
    askers.emplace_back([&] { answer = api.answer(Api::understand("GET", target), &no_body); });
  }
  for (std::thread& asker : askers) asker.join();
  for (const Answer& answer : answers) EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST(AnswerCacheTest, CountsKeysAsWellAsBodies) {
  AnswerCache cache;
  size_t kept = 0;
  const auto key_of = [](int number) { return std::string(4000, 'k') + std::to_string(number); };
  for (int number = 0; number < 20'000; ++number) {
    Answer answer{200, "{}", {}};
    ASSERT_TRUE(cache.claim(key_of(number)));
    cache.release(key_of(number), answer);
  }
  for (int number = 0; number < 20'000; ++number) kept += cache.find(key_of(number)).has_value();
  EXPECT_LE(kept * 2 * 4000, AnswerCache::kBytes);
  EXPECT_GT(kept, 1000u);
  EXPECT_LE(cache.bytes(), AnswerCache::kBytes);
}

}  // namespace
}  // namespace xsp::serve
