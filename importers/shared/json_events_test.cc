#include "importers/shared/json_events.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace xsp::importers {
namespace {

class JsonEventsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (std::filesystem::temp_directory_path() / "xsp-json-XXXXXX").string();
    ASSERT_NE(::mkdtemp(form.data()), nullptr);
    folder_ = form;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Returns the events of a file with this text; the last one is "error" if reading failed.
  std::vector<std::string> events(const std::string& text) {
    const auto path = folder_ / "a.json";
    std::ofstream(path, std::ios::binary) << text;
    auto opened = JsonEvents::open(path, "events");
    EXPECT_TRUE(opened.ok());
    std::vector<std::string> found;
    for (std::string event;;) {
      const auto has_one = opened->next(&event);
      if (!has_one.ok()) found.push_back("error");
      if (!has_one.ok() || !*has_one) break;
      found.push_back(event);
    }
    numbers = opened->numbers();
    return found;
  }

  using Texts = std::vector<std::string>;
  std::map<std::string, std::string> numbers;
  std::filesystem::path folder_;
};

TEST_F(JsonEventsTest, ReadsAListAndAMember) {
  EXPECT_EQ(events(R"([{"a":1}, {"b":[{}]} ])"), (Texts{R"({"a":1})", R"({"b":[{}]})"}));
  EXPECT_EQ(events(R"({"x": {"events": [{"no":1}]}, "base": 12, "events": [{"a":1}
      ,{"b":2}], "after" : -3.5})"),
            (Texts{R"({"a":1})", R"({"b":2})"}));
  EXPECT_EQ(numbers.at("base"), "12");
  EXPECT_EQ(numbers.at("after"), "-3.5");
}

TEST_F(JsonEventsTest, BracketsInTextsDoNotCount) {
  EXPECT_EQ(events(R"([{"a":"}]\"{\\"},{"b":"["}])"),
            (Texts{R"({"a":"}]\"{\\"})", R"({"b":"["})"}));
  EXPECT_EQ(events(R"({"k\"]":"[{}]","events":[{}]})"), (Texts{"{}"}));
}

TEST_F(JsonEventsTest, ValuesThatAreNoObjectsArePassed) {
  EXPECT_EQ(events(R"([1, "two", [{"in":1}], null, {"a":1}])"), (Texts{R"({"a":1})"}));
}

TEST_F(JsonEventsTest, AFileThatIsCutShortEndsThere) {
  const std::string whole = R"({"events":[{"a":1},{"b":"c"},{"d":2}],"x":1})";
  for (size_t size = 1; size < whole.size(); ++size) {
    const Texts found = events(whole.substr(0, size));
    for (const std::string& event : found) {
      EXPECT_TRUE(event == R"({"a":1})" || event == R"({"b":"c"})" || event == R"({"d":2})" ||
                  event == "error")
          << event << " of " << size << " bytes";
    }
  }
  EXPECT_EQ(events(whole).size(), 3u);
}

TEST_F(JsonEventsTest, WhatIsNoJsonIsAnError) {
  EXPECT_EQ(events("\x1f\x8b rest"), (Texts{"error"}));
  EXPECT_EQ(events(R"({"a" 1})"), (Texts{"error"}));
  EXPECT_EQ(events(""), (Texts{"error"}));
  EXPECT_EQ(events(R"({"a":1})"), (Texts{}));
}

TEST_F(JsonEventsTest, AnEventMayNotBeEndless) {
  EXPECT_EQ(events("[{\"a\":\"" + std::string(kEventBytesMax + 10, 'x') + "\"}]"),
            (Texts{"error"}));
}

}  // namespace
}  // namespace xsp::importers
