#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "desk/serve/api.h"

namespace xsp::serve {
namespace {

namespace fs = std::filesystem;

class PredictionsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("predictions_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(traces());
    auto library = Library::of_folder(folder_);
    ASSERT_TRUE(library.ok());
    library_ = std::move(library).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path traces() const { return folder_ / "predictions"; }
  void put(const std::string& name) const { std::ofstream(traces() / name) << "trace"; }
  bool has(const std::string& name) const { return fs::exists(traces() / name); }
  // Puts 250 traces of earlier requests there, the first with notes.
  void put_earlier() const {
    for (int i = 0; i < 250; ++i) put(earlier(i));
    put(earlier(0) + ".notes");
    put(earlier(249) + ".notes");
  }
  static std::string earlier(int i) {
    return "20200101T" + std::to_string(100000 + i) + "-0a1b2c-model.xsp";
  }
  // Lets the model "right" answer, or "wrong" fail.
  void ask(const std::string& model) const {
    Services services{.library = *library_, .predict = {}, .models = {}};
    services.predict = [](const PredictionJob& job) -> Result<std::string> {
      if (job.model == "wrong") return failed("no such model");
      XSP_TRY(store::Database database, store::Database::create(job.output));
      XSP_CHECK_OK(database.finish());
      return std::string("[]");
    };
    Api api(services);
    const Body body = [](const Take& take) { return take("input"); };
    const Answer answer =
        api.answer(Api::understand("POST", "/api/v1/predictions?model=" + model), &body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const char* const end = model == "wrong" ? "failed" : "ok";
    EXPECT_NE(answer.body.find(std::string(R"("status":")") + end), std::string::npos)
        << answer.body;
  }

  fs::path folder_;
  std::unique_ptr<Library> library_;
};

TEST_F(PredictionsTest, KeepTheNewestAndTheUsersOwnFiles) {
  const std::vector<std::string> own = {"a.xsp", "20200101.xsp", "20200101T000000-0a1b2c.xsp",
                                        "20200101T000000-0a1b2g-model.xsp",
                                        "20200101T000000-0a1b2c-model.xtrace"};
  for (const std::string& name : own) put(name);
  put_earlier();
  ask("right");
  for (const std::string& name : own) EXPECT_TRUE(has(name)) << name;
  EXPECT_FALSE(has(earlier(0)));
  EXPECT_FALSE(has(earlier(0) + ".notes"));
  EXPECT_FALSE(has(earlier(50))) << "with the new one there are 200";
  EXPECT_TRUE(has(earlier(51)));
  EXPECT_TRUE(has(earlier(249) + ".notes"));
}

TEST_F(PredictionsTest, RemoveNothingIfNoneIsAdded) {
  put_earlier();
  ask("wrong");
  EXPECT_TRUE(has(earlier(0)));
  EXPECT_TRUE(has(earlier(0) + ".notes"));
}

}  // namespace
}  // namespace xsp::serve
