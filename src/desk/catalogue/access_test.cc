// Tests tokens and the audit log.
#include "desk/catalogue/access.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "desk/catalogue/catalogue.h"
#include "desk/catalogue/listing.h"
#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

class AccessTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("access_" + name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    place_ = (folder_ / "catalogue.sqlite").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string place_;
};

TEST_F(AccessTest, ATokenIsKnownByItsSecretUntilItIsRevoked) {
  auto access = Access::open(place_);
  ASSERT_TRUE(access.ok()) << access.error().text;
  const auto secret = access->make_token("ci", Scope::kRun);
  ASSERT_TRUE(secret.ok()) << secret.error().text;
  EXPECT_EQ(secret->size(), 68u);
  const auto found = access->find(*secret);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->name, "ci");
  EXPECT_EQ((*found)->scope, Scope::kRun);
  for (const std::string& wrong :
       {std::string(), std::string("ci"), *secret + "0", secret->substr(0, 67), (*found)->id}) {
    EXPECT_FALSE(access->find(wrong)->has_value()) << wrong;
  }
  EXPECT_FALSE(access->make_token("ci", Scope::kRead).ok()) << "a valid token has the name";
  ASSERT_TRUE(access->revoke("ci").ok());
  EXPECT_FALSE(access->find(*secret)->has_value());
  EXPECT_FALSE(access->revoke("ci").ok()) << "it is revoked already";
  EXPECT_TRUE(access->make_token("ci", Scope::kRead).ok());
  EXPECT_EQ(access->tokens()->size(), 2u);
}

TEST_F(AccessTest, TheCatalogueDoesNotKeepTheSecret) {
  auto access = Access::open(place_);
  const std::string secret = *access->make_token("ci", Scope::kRun);
  auto catalogue = Catalogue::open_for_reading(place_);
  ASSERT_TRUE(catalogue.ok());
  const auto table = catalogue->query("SELECT * FROM token");
  ASSERT_EQ(table->rows.size(), 1u);
  for (const store::Value& cell : table->rows[0]) {
    EXPECT_EQ(store::text_of(cell).find(secret.substr(4)), std::string::npos);
  }
}

TEST_F(AccessTest, NamesAreShortAndPlain) {
  auto access = Access::open(place_);
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a\n"), std::string(65, 'a')}) {
    EXPECT_FALSE(access->make_token(name, Scope::kRead).ok()) << name;
  }
  EXPECT_FALSE(scope_of("root").ok());
  EXPECT_EQ(*scope_of("admin"), Scope::kAdmin);
}

TEST_F(AccessTest, TheLogHasTheNewestFirst) {
  auto access = Access::open(place_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        access->audit({"", "id", "ci", "10.0.0.1", "POST", "/" + std::to_string(i), 200}).ok());
  }
  const auto log = access->audited(2);
  ASSERT_TRUE(log.ok()) << log.error().text;
  ASSERT_EQ(log->size(), 2u);
  EXPECT_GE((*log)[0].at, (*log)[1].at);
  EXPECT_EQ((*log)[0].status, 200);
  EXPECT_EQ((*log)[0].address, "10.0.0.1");
}

// A server refuses bytes that are no text.
TEST_F(AccessTest, TheLogHasTextWhateverThePath) {
  auto access = Access::open(place_);
  const std::string before(499, 'a');
  for (const std::string& path : {std::string("/\xFF"), before + "\xC3\xA9"}) {
    ASSERT_TRUE(access->audit({"", "", "", "10.0.0.1", "POST", path, 401}).ok());
  }
  const auto log = access->audited(2);
  ASSERT_EQ(log->size(), 2u);
  std::vector<std::string> paths = {(*log)[0].path, (*log)[1].path};
  std::sort(paths.begin(), paths.end());  // of one time
  EXPECT_EQ(paths[0], "/\xEF\xBF\xBD");
  EXPECT_EQ(paths[1], before) << "no half of a character";
}

TEST_F(AccessTest, EveryListingAnswersWithAllItsFilters) {
  ASSERT_TRUE(Access::open(place_).ok());
  auto catalogue = Catalogue::open_for_reading(place_);
  ASSERT_TRUE(catalogue.ok());
  ASSERT_GE(listings().size(), 8u);
  for (const Listing& listing : listings()) {
    std::vector<std::pair<std::string, std::string>> filters;
    for (const ListingFilter& filter : listing.filters) {
      filters.emplace_back(filter.name, filter.is_whole ? "1" : "x'; DROP TABLE result; --");
    }
    const auto page = list(*catalogue, listing, filters, {.limit = 10});
    ASSERT_TRUE(page.ok()) << listing.name << ": " << page.error().text;
    EXPECT_EQ(page->total, 0);
    EXPECT_EQ(page->table.columns.size(), listing.columns.size());
    filters.emplace_back("nonsense", "1");
    EXPECT_EQ(list(*catalogue, listing, filters, {.limit = 10}).error().code, Code::kUsage);
  }
  EXPECT_EQ(list(*catalogue, listings().back(), {{"batch", "x"}}, {.limit = 10}).error().code,
            Code::kUsage);
}

}  // namespace
}  // namespace xsp::catalogue
