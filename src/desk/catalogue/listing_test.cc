// Tests the pages of listings.
#include "desk/catalogue/listing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "desk/catalogue/schema.h"
#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

const Listing& listing_named(std::string_view name) {
  return *std::find_if(listings().begin(), listings().end(),
                       [&](const Listing& one) { return one.name == name; });
}

class ListingPages : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("listing_" + name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const std::string place = (folder_ / "catalogue.sqlite").string();
    engine_ = std::move(open_engine(place, false)).value();
    ASSERT_TRUE(migrate(*engine_).ok());
    catalogue_.emplace(std::move(Catalogue::open_for_reading(place)).value());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& sql) {
    const auto done = engine_->query(sql);
    ASSERT_TRUE(done.ok()) << done.error().text;
  }
  void add_sweep(const std::string& id, const std::string& created_at) {
    write("INSERT INTO sweep(id, spec, state, created_at) VALUES ('" + id + "', '', 'done', '" +
          created_at + "')");
  }
  ListingPage page(const char* name, const ListingPart& part) {
    auto found = list(*catalogue_, listing_named(name), {}, part);
    EXPECT_TRUE(found.ok()) << found.error().text;
    return std::move(found).value();
  }
  // Returns the first cells of a page's rows.
  static std::string ids(const ListingPage& page) {
    std::string text;
    for (const auto& row : page.table.rows) {
      text += (text.empty() ? "" : " ") + store::text_of(row[0]);
    }
    return text;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Engine> engine_;
  std::optional<Catalogue> catalogue_;
};

TEST_F(ListingPages, FollowEachOtherWhateverIsInsertedOrRemoved) {
  for (const char* id : {"b", "d", "f", "h", "j"}) {
    write(std::string("INSERT INTO model VALUES ('") + id + "', 'm', NULL)");
  }
  const ListingPage first = page("models", {.limit = 2});
  EXPECT_EQ(ids(first), "b d");
  EXPECT_EQ(first.total, 5);
  // Rows before the cursor, behind it, and the cursor's own row.
  write("INSERT INTO model VALUES ('a', 'm', NULL), ('c', 'm', NULL), ('e', 'm', NULL)");
  write("DELETE FROM model WHERE id = 'd'");
  EXPECT_EQ(ids(page("models", {.limit = 2, .offset = 2})), "c e") << "rows move";
  const ListingPage second = page("models", {.limit = 2, .after = first.next});
  EXPECT_EQ(ids(second), "e f");
  EXPECT_EQ(second.total, 7);
  const ListingPage third = page("models", {.limit = 2, .after = second.next});
  EXPECT_EQ(ids(third), "h j");
  EXPECT_EQ(third.next, "") << "a full page may be the last one";
}

TEST_F(ListingPages, FollowAnOrderThatDescends) {
  for (const char* id : {"1", "2", "3"}) add_sweep(id, "2026-01-01");
  add_sweep("0", "2026-01-03");
  add_sweep("9", "2025-01-01");
  std::string all, after;
  do {
    const ListingPage one = page("sweeps", {.limit = 1, .after = after});
    all += ids(one) + " ";
    after = one.next;
  } while (!after.empty());
  EXPECT_EQ(all, "0 1 2 3 9 ");
}

TEST_F(ListingPages, ASweepIsAskedForByItsIdOrItsName) {
  write(
      "INSERT INTO sweep(id, name, spec, state, created_at) VALUES ('7f', 'zoo', '', 'done', ''), "
      "('8f', 'net', '', 'failed', '')");
  write(
      "INSERT INTO task(id, sweep, spec, state) VALUES ('7f/a', '7f', '', 'done'), "
      "('8f/a', '8f', '', 'failed')");
  for (const char* listing : {"sweeps", "tasks"}) {
    for (const auto& [asked, found] : std::vector<std::pair<std::string, std::string>>{
             {"7f", "7f"}, {"zoo", "7f"}, {"8f", "8f"}, {"net", "8f"}, {"none", ""}}) {
      const auto rows = list(*catalogue_, listing_named(listing), {{"sweep", asked}}, {.limit = 9});
      ASSERT_TRUE(rows.ok()) << rows.error().text;
      EXPECT_EQ(ids(*rows).substr(0, 2), found) << listing << " " << asked;
    }
  }
}

TEST_F(ListingPages, ARowsKeysMayBeAnyText) {
  for (const char* id : {"", " ", ".", "it''s", "\xc3\xa4", "z.z"}) {
    write(std::string("INSERT INTO model VALUES ('") + id + "', 'm', NULL)");
  }
  size_t rows = 0;
  std::string after;
  do {
    const ListingPage one = page("models", {.limit = 1, .after = after});
    rows += one.table.rows.size();
    after = one.next;
  } while (!after.empty() && rows < 10);
  EXPECT_EQ(rows, 6u);
  EXPECT_EQ(page("models", {.limit = 0}).next, "");
}

TEST_F(ListingPages, AForeignCursorIsRefused) {
  write("INSERT INTO model VALUES ('a', 'm', NULL), ('b', 'm', NULL)");
  const std::string cursor = page("models", {.limit = 1}).next;
  for (const std::string& wrong : {std::string("x"), cursor + "0", cursor + ".61", std::string("."),
                                   "6d6f64656c73.ff" + cursor, std::string("6d6f64656c73.ff"),
                                   std::string("6d6f64656c73.00"), std::string("..")}) {
    const auto found = list(*catalogue_, listing_named("models"), {}, {.limit = 1, .after = wrong});
    ASSERT_FALSE(found.ok()) << wrong;
    EXPECT_EQ(found.error().code, Code::kUsage);
    EXPECT_EQ(found.error().text,
              "after: not a cursor of models: give the `next` of the answer before");
  }
  EXPECT_FALSE(list(*catalogue_, listing_named("tasks"), {}, {.limit = 1, .after = cursor}).ok());
}

}  // namespace
}  // namespace xsp::catalogue
