#include "shared/base/text.h"

#include <gtest/gtest.h>

namespace xsp {
namespace {

TEST(Text, WhatIsTextIsKeptAsItCame) {
  for (const std::string good : {"", "plain", "tab\tand\nlines\r\n", "\xC3\xA9", "\xE2\x82\xAC",
                                 "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    const CheckedText checked = check_text(good);
    EXPECT_TRUE(checked.ok()) << checked.fault;
    EXPECT_EQ(checked.text, good);
  }
}

TEST(Text, BytesThatAreNoCharacterAreReplacedOneByOne) {
  const std::string mark = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> cases[] = {
      {"a\xFFz", "a" + mark + "z"},
      {"w\xC3", "w" + mark},                             // cut short
      {"\xC0\xAF", mark + mark},                         // overlong
      {"\xED\xA0\x80", mark + mark + mark},              // a surrogate
      {"\xF4\x90\x80\x80", mark + mark + mark + mark}};  // beyond Unicode
  for (const auto& [text, kept] : cases) {
    const CheckedText checked = check_text(text);
    EXPECT_STREQ(checked.fault, "not UTF-8");
    EXPECT_EQ(checked.text, kept);
  }
}

TEST(Text, ControlCharactersAndLengthAreFaults) {
  for (const std::string& bad :
       {std::string(1, '\0'), std::string("a\x1B[31m"), std::string("\x7F")}) {
    EXPECT_STREQ(check_text(bad).fault, "holds a control character");
    EXPECT_TRUE(check_text(check_text(bad).text).ok());
  }
  EXPECT_TRUE(check_text(std::string(kTextBytesMax, 'a')).ok());
  const CheckedText long_one = check_text(std::string(kTextBytesMax + 1, 'a'));
  EXPECT_STREQ(long_one.fault, "too long");
  EXPECT_EQ(long_one.text.size(), kTextBytesMax);
  // No character is cut in two.
  EXPECT_EQ(check_text("ab\xC3\xA9", 3).text, "ab");
}

TEST(Text, AnArgumentIsRefusedInOneLineAndAnAttributeIsCounted) {
  EXPECT_TRUE(require_text("--name", "resnet50").ok());
  const Status refused = require_text("--name", "a\xFF" + std::string(1000, 'b'));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_LT(refused.error().text.size(), 120u);
  EXPECT_NE(refused.error().text.find("not UTF-8"), std::string::npos) << refused.error().text;
  uint64_t replaced = 0;
  EXPECT_EQ(keep_text("fine", replaced), "fine");
  EXPECT_EQ(replaced, 0u);
  EXPECT_EQ(keep_text("\xFF", replaced), "\xEF\xBF\xBD");
  EXPECT_EQ(replaced, 1u);
}

}  // namespace
}  // namespace xsp
