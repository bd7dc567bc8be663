#include "capture/worker_protocol.h"

#include <gtest/gtest.h>

namespace xsp::capture {
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

TEST(WorkerProtocol, ALoneBackslashAtTheEndIsItself) {
  EXPECT_EQ(split_fields("a\\"), Fields{"a\\"});
}

}  // namespace
}  // namespace xsp::capture
