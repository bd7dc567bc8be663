#include "process/worker/protocol.h"

#include <gtest/gtest.h>

#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

using Fields = std::vector<std::string>;

TEST(WorkerProtocol, FieldsSurviveTheLine) {
  const std::vector<Fields> cases = {
      {"ran", "0", "12", "13"}, {""}, {"", ""}, {"note", "a\tb\nc\\d\re"}, {"x\\", "\\n", "\\\\t"},
  };
  for (const Fields& fields : cases) {
    const std::string line = join_fields(fields);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(line.find('\r'), std::string::npos);
    EXPECT_EQ(split_fields(line), fields) << line;
  }
}

TEST(WorkerProtocol, TextBecomesValid) {
  for (const char* good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(valid_utf8(good), good);
  }
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a?b");
  EXPECT_EQ(valid_utf8("w\xc1"), "w?");               // cut short
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "????");  // beyond Unicode
}

TEST(WorkerProtocol, ALoneBackslashAtTheEndIsItself) {
  EXPECT_EQ(split_fields("a\\"), Fields{"a\\"});
}

}  // namespace
}  // namespace xsp::process
