#include "desk/serve/http/request.h"

#include <gtest/gtest.h>

namespace xsp::serve {
namespace {

TEST(RequestTest, TakesAnAddressApart) {
  const auto request = parse_request("/api/v1/evaluations/a%2Fb.xsp?e=x%20y&e=z&flag&n=7");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->path, "/api/v1/evaluations/a%2Fb.xsp");
  EXPECT_EQ(request->all("e"), (std::vector<std::string>{"x y", "z"}));
  ASSERT_NE(request->find("flag"), nullptr);
  EXPECT_EQ(*request->find("flag"), "");
  EXPECT_EQ(request->find("absent"), nullptr);
  EXPECT_EQ(request->integer("n", 1, 0, 10).value(), 7);
  EXPECT_EQ(request->integer("absent", 1, 0, 10).value(), 1);
}

TEST(RequestTest, APlusIsASpaceInTheQueryAlone) {
  const auto request = parse_request("/a+b?sql=SELECT+1%2B1&a+b=+%20&c=%2b");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->path, "/a+b");
  EXPECT_EQ(*request->find("sql"), "SELECT 1+1");
  EXPECT_EQ(*request->find("a b"), "  ");
  EXPECT_EQ(*request->find("c"), "+");
  EXPECT_EQ(decode("a+b").value(), "a+b");
}

TEST(RequestTest, RefusesNumbersThatAreNoneOrOutOfRange) {
  const auto request = parse_request("/?a=x&b=11&c=3x&d=99999999999999999999&e=");
  ASSERT_TRUE(request.ok());
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    const auto number = request->integer(name, 1, 0, 10);
    ASSERT_FALSE(number.ok()) << name;
    EXPECT_EQ(number.error().code, Code::kUsage);
  }
}

TEST(RequestTest, RefusesEscapesThatAreNone) {
  for (const char* text : {"%", "%4", "%zz", "%4z", "ab%", "% 1", "%-1"}) {
    EXPECT_FALSE(decode(text).ok()) << text;
  }
  EXPECT_FALSE(parse_request("/?a=%").ok());
}

TEST(RequestTest, EncodesWhatItDecodes) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  EXPECT_EQ(decode(encode(every)).value(), every);
  EXPECT_EQ(encode("a/b c'(1)"), "a%2Fb%20c'(1)");
}

TEST(RequestTest, MatchesPartByPart) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(match("/evaluations/{}/analyses/{}", "/evaluations/a/analyses/b"), (Parts{"a", "b"}));
  EXPECT_EQ(match("/catalogue", "/catalogue"), Parts{});
  for (const char* path : {"", "/", "/catalogue/", "/catalogu", "catalogue", "/catalogue/x"}) {
    EXPECT_EQ(match("/catalogue", path), std::nullopt) << path;
  }
  EXPECT_EQ(match("/evaluations/{}", "/evaluations/"), std::nullopt);
  EXPECT_EQ(match("/evaluations/{}", "/evaluations//x"), std::nullopt);
}

}  // namespace
}  // namespace xsp::serve
