#include "exporters/shared/json_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace xsp::exporters {
namespace {

TEST(JsonText, EscapesWhatJsonForbids) {
  std::string out;
  put_text(&out, std::string_view("a\"b\\c\n\0\x1f \xc3\xa4", 11));
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\u000a\\u0000\\u001f \xc3\xa4\"");
}

TEST(JsonText, NumbersReadBackTheSame) {
  for (const double value : {0.0, 0.1, 1e300, -2.5e-300, 1.0 / 3}) {
    std::string out;
    put_number(&out, value);
    EXPECT_EQ(std::strtod(out.c_str(), nullptr), value) << out;
  }
  std::string out;
  put_number(&out, std::numeric_limits<double>::infinity());
  EXPECT_EQ(out, "null");
}

TEST(JsonText, MicrosecondsKeepEveryNanosecond) {
  const std::pair<int64_t, const char*> cases[] = {{0, "0.000"},
                                                   {1, "0.001"},
                                                   {1234567, "1234.567"},
                                                   {-1, "-0.001"},
                                                   {-1234567, "-1234.567"},
                                                   {INT64_MAX, "9223372036854775.807"}};
  for (const auto& [ns, text] : cases) {
    std::string out;
    put_microseconds(&out, ns);
    EXPECT_EQ(out, text);
  }
}

TEST(JsonText, ListsHaveCommasBetweenTheirParts) {
  std::string out = "{";
  JsonList list(&out);
  put_number(list.member("a"), int64_t{1});
  put_text(list.member("b"), "c");
  EXPECT_EQ(out, "{\"a\":1,\"b\":\"c\"");
}

}  // namespace
}  // namespace xsp::exporters
