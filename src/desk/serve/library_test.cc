#include "desk/serve/library.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "desk/serve/api.h"
#include "desk/serve/testing.h"

namespace xsp::serve {
namespace {

namespace fs = std::filesystem;

class LibraryTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    library_ = Library::of_folder(folder_).value();
  }
};

TEST_F(LibraryTest, OfTooManyFilesTheNewestAreListedAndTheRestCounted) {
  constexpr size_t kMore = 5;
  fs::create_directories(folder_ / "many");
  const auto now = fs::file_time_type::clock::now();
  for (size_t i = 0; i < Library::kFiles + kMore - 1; ++i) {
    const fs::path path = folder_ / "many" / (std::to_string(i) + ".xsp");
    std::ofstream(path) << "no database";
    fs::last_write_time(path, now - std::chrono::seconds(i));
  }
  fs::last_write_time(folder_ / "deep" / "a b.xsp", now - std::chrono::hours(24));
  const Listing listing = library_->list();
  EXPECT_EQ(listing.entries.size(), Library::kFiles);
  EXPECT_EQ(listing.left_out, kMore);
  EXPECT_EQ(listing.entries.front().id, "many/0.xsp");
  for (const Entry& entry : listing.entries) EXPECT_NE(entry.id, "deep/a b.xsp");
  EXPECT_TRUE(library_->hold("deep/a b.xsp").ok()) << "who names one that is left out, has it";
  start();
  EXPECT_NE(get("/api/v1/evaluations").find("\"left_out\":5"), std::string::npos);
}

TEST_F(LibraryTest, AFileThatCannotBeReadIsToldByItsIdAlone) {
  std::ofstream(folder_ / "deep" / "broken.xsp") << "no database";
  const auto held = library_->hold("deep/broken.xsp");
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().text.find("deep/broken.xsp: "), 0u) << held.error().text;
  EXPECT_EQ(held.error().text.find(folder_.string()), std::string::npos) << held.error().text;
  for (const Entry& entry : library_->list().entries) {
    EXPECT_EQ(entry.reason.find(folder_.string()), std::string::npos) << entry.reason;
  }
}

TEST_F(LibraryTest, WhatIsNotListedForItsPlaceIsNotHeldEither) {
  fs::create_directories(folder_ / "1" / "2" / "3" / "4");
  make(folder_ / "1" / "2" / "3" / "deepest.xsp");
  make(folder_ / "1" / "2" / "3" / "4" / "too_deep.xsp");
  fs::create_directory_symlink(folder_ / "deep", folder_ / "linked");
  std::set<std::string> ids;
  for (const Entry& entry : library_->list().entries) ids.insert(entry.id);
  EXPECT_EQ(ids, (std::set<std::string>{"1/2/3/deepest.xsp", "deep/a b.xsp"}));
  EXPECT_TRUE(library_->hold("1/2/3/deepest.xsp").ok());
  for (const char* id :
       {"1/2/3/4/too_deep.xsp", "linked/a b.xsp", "deep//a b.xsp", "./deep/a b.xsp",
        "deep/../deep/a b.xsp", "/deep/a b.xsp", "deep/a b.xsp/", "deep", ""}) {
    const auto held = library_->hold(id);
    ASSERT_FALSE(held.ok()) << id;
    EXPECT_EQ(held.error().code, Code::kNotAvailable) << id;
  }
}

TEST_F(LibraryTest, WhoHoldsOneKeepsNobodyFromOthersNorFromTheList) {
  make(folder_ / "other.xsp");
  ASSERT_EQ(library_->list().entries.size(), 2U);
  const auto held = library_->hold("deep/a b.xsp");
  ASSERT_TRUE(held.ok());
  auto others = std::async(std::launch::async, [this] {
    return library_->hold("other.xsp").ok() && library_->list().entries.size() == 2;
  });
  EXPECT_TRUE(others.get());
}

TEST_F(LibraryTest, ManyAreReadThoughFewAreOpen) {
  constexpr size_t kMany = Library::kOpen + 6;
  for (size_t i = 1; i < kMany; ++i) {
    fs::copy_file(folder_ / "deep" / "a b.xsp", folder_ / (std::to_string(i) + ".xsp"));
  }
  const Listing listing = library_->list();
  ASSERT_EQ(listing.entries.size(), kMany);
  std::vector<std::thread> readers;
  std::atomic<size_t> good{0};
  for (const Entry& entry : listing.entries) {
    EXPECT_EQ(entry.reason, "");
    readers.emplace_back([&, id = entry.id] {
      auto one = library_->hold(id);
      if (one.ok() && one->database().query("FROM evaluation").ok()) ++good;
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(good, kMany);
}

TEST_F(LibraryTest, TooManyWhoWaitAreToldSoAtOnce) {
  auto held = std::make_unique<Held>(library_->hold("deep/a b.xsp").value());
  std::vector<std::unique_ptr<Library::Wait>> waiting;
  for (size_t i = 0; i < Library::kWaiting; ++i) {
    waiting.push_back(std::make_unique<Library::Wait>(*library_));
    EXPECT_TRUE(waiting.back()->ok());
  }
  const auto refused = library_->hold("deep/a b.xsp");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInterrupted);
  waiting.clear();
  held.reset();
  EXPECT_TRUE(library_->hold("deep/a b.xsp").ok());
}

TEST_F(LibraryTest, QueriesHaveAMemoryOfTheirOwn) {
  library_->limit_memory(0);  // gives each database the minimum
  auto held = library_->hold("deep/a b.xsp");
  ASSERT_TRUE(held.ok());
  const auto limit = held->database().query("SELECT current_setting('memory_limit')");
  ASSERT_TRUE(limit.ok());
  EXPECT_EQ(std::get<std::string>(limit->rows[0][0]), "32.0 MiB");
  // A list of a billion numbers fits into no memory limit.
  const auto much = held->database().query("SELECT len(list(range)) FROM range(1000000000)");
  ASSERT_FALSE(much.ok());
  EXPECT_EQ(much.error().code, Code::kOutOfMemory) << much.error().text;
}

TEST_F(LibraryTest, AQueryThatTakesTooLongIsBrokenOff) {
  auto held = library_->hold("deep/a b.xsp");
  ASSERT_TRUE(held.ok());
  library_->limit_queries(std::chrono::milliseconds(50));
  const auto endless = held->database().query(
      "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = 7");
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code, Code::kInterrupted) << endless.error().text;
}

TEST_F(LibraryTest, WhateverIsAskedOfALongFileIsAnsweredWith503) {
  {
    auto database = store::Database::create(folder_ / "long.xsp");
    ASSERT_TRUE(database.ok());
    const Status made = database->execute(
        "INSERT INTO run(run_id, levels, batch, status) VALUES (1, 'model', 1, 'ok');"
        "INSERT INTO span SELECT 1, range, NULL, 2, 'a', NULL, NULL, NULL, range, 1, 1, 1, NULL, "
        "NULL, NULL, NULL, NULL, 1, 0, 1, false FROM range(1000000)");
    ASSERT_TRUE(made.ok()) << made.error().text;
    ASSERT_TRUE(database->finish().ok());
  }
  library_->limit_queries(std::chrono::milliseconds(1));
  Api api(*library_);
  for (const char* target : {"", "/timeline?run=1", "/timeline/search?run=1&text=a",
                             "/timeline/tile?run=1&zoom=0&tile=0", "/timeline/span?run=1&span=1"}) {
    const Answer answer = api.answer(std::string(kApiPrefix) + "/evaluations/long.xsp" + target);
    EXPECT_EQ(answer.status, 503) << target << answer.body;
  }
}

}  // namespace
}  // namespace xsp::serve
