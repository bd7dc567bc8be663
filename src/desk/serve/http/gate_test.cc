// Tests who is admitted, and how often.
#include "desk/serve/http/gate.h"

#include "desk/serve/testing.h"

namespace xsp::serve {
namespace {

using std::chrono::milliseconds;

TEST(RateLimitTest, LetsABurstAndThenTheRate) {
  RateLimit limit(10);  // so 100 at once
  const auto begin = RateLimit::Clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(limit.take("a", 1, begin)) << i;
  EXPECT_FALSE(limit.take("a", 1, begin));
  EXPECT_TRUE(limit.take("b", 20, begin)) << "each key has its own";
  EXPECT_TRUE(limit.take("a", 1, begin + milliseconds(101)));
  EXPECT_FALSE(limit.take("a", 1, begin + milliseconds(101)));
  EXPECT_FALSE(limit.take("a", 20, begin + milliseconds(1900)));
  EXPECT_TRUE(limit.take("a", 20, begin + milliseconds(2201)));
}

TEST(RateLimitTest, ForgetsTheLongestUnseenKey) {
  RateLimit limit(1);
  const auto now = RateLimit::Clock::now();
  EXPECT_TRUE(limit.take("first", 10, now));
  EXPECT_FALSE(limit.take("first", 1, now));
  for (size_t i = 0; i < RateLimit::kKeys; ++i) limit.take(std::to_string(i), 1, now);
  EXPECT_TRUE(limit.take("first", 1, now));
}

TEST(RateLimitTest, NoRateIsNoLimit) {
  RateLimit limit(0);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(limit.take("a", 20, RateLimit::Clock::now()));
}

class GateTest : public ServerTest {
 protected:
  void start_with_catalogue(double rate = 0) {
    place_ = (folder_ / "catalogue.sqlite").string();
    auto access = catalogue::Access::open(place_);
    ASSERT_TRUE(access.ok()) << access.error().text;
    for (const auto scope :
         {catalogue::Scope::kRead, catalogue::Scope::kRun, catalogue::Scope::kAdmin}) {
      const auto secret = access->make_token(catalogue::name_of(scope), scope);
      ASSERT_TRUE(secret.ok()) << secret.error().text;
      secrets_.push_back(*secret);
    }
    ServerOptions options;
    options.catalogue = place_;
    options.rate = rate;
    start(options);
  }
  int ask(const std::string& method, const std::string& target, const std::string& secret) const {
    const std::string token = secret.empty() ? "" : "Authorization: Bearer " + secret + "\r\n";
    return status_of(say(method + " " + target + " HTTP/1.1\r\n" + kHost + token + "\r\n"));
  }

  std::string place_;
  std::vector<std::string> secrets_;  // by scope
};

TEST_F(GateTest, AScopeIncludesThoseBeforeIt) {
  start_with_catalogue();
  for (size_t i = 0; i < secrets_.size(); ++i) {
    EXPECT_EQ(ask("GET", "/api/v1/models", secrets_[i]), 200);
    EXPECT_EQ(ask("GET", "/api/v1/audit", secrets_[i]), i == 2 ? 200 : 403);
    // Nobody answers here, which is told to those alone who might ask.
    EXPECT_EQ(ask("POST", "/api/v1/predictions?model=a", secrets_[i]), 403);
  }
  EXPECT_EQ(ask("GET", "/api/v1/models", ""), 200);
  EXPECT_EQ(ask("GET", "/api/v1/audit", ""), 401);
  EXPECT_EQ(ask("GET", "/api/v1/audit", secrets_[2] + "0"), 401);
}

TEST_F(GateTest, TheLogHasRefusalsAndWhoeverWrote) {
  start_with_catalogue();
  ask("POST", "/api/v1/predictions?model=a", "");
  ask("DELETE", "/api/v1/tokens/read", secrets_[2]);
  ask("GET", "/api/v1/models", "");
  EXPECT_EQ(ask("GET", "/api/v1/audit", secrets_[0]), 401) << "the token is revoked";
  auto access = catalogue::Access::open(place_);
  const auto log = access->audited(10);
  ASSERT_TRUE(log.ok()) << log.error().text;
  ASSERT_EQ(log->size(), 3u);
  EXPECT_EQ((*log)[0].status, 401);
  EXPECT_EQ((*log)[1].name, "admin");
  EXPECT_EQ((*log)[1].method, "DELETE");
  EXPECT_EQ((*log)[1].status, 200);
  EXPECT_EQ((*log)[2].path, "/api/v1/predictions");
  EXPECT_EQ((*log)[2].address, "127.0.0.1");
}

TEST_F(GateTest, AnAddressIsHeldToItsRate) {
  start_with_catalogue(0.5);  // so five at once
  int admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += ask("GET", "/api/v1/models", "") == 200;
  EXPECT_GE(admitted, 5);
  EXPECT_LT(admitted, 10);
  const std::string refused = get("/api/v1/models");
  EXPECT_EQ(status_of(refused), 429);
  EXPECT_NE(refused.find("Retry-After: "), std::string::npos);
  EXPECT_EQ(status_of(get("/")), 200) << "the page asks nothing";
}

}  // namespace
}  // namespace xsp::serve
