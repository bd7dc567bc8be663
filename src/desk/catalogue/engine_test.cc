// Tests the places of catalogues.
#include "desk/catalogue/engine.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace xsp::catalogue {
namespace {

TEST(LastingPlace, APathIsAbsolute) {
  const std::filesystem::path here = std::filesystem::current_path();
  EXPECT_EQ(lasting_place("a/../c.sqlite"), (here / "c.sqlite").string());
  EXPECT_EQ(lasting_place("/a/c.sqlite"), "/a/c.sqlite");
}

TEST(LastingPlace, AnAddressHasNoPassword) {
  for (const auto& [given, kept] : std::vector<std::pair<const char*, const char*>>{
           {"postgresql://h/n", "postgresql://h/n"},
           {"postgresql:///n?host=/run", "postgresql:///n?host=/run"},
           {"postgresql://u@h:5432/n", "postgresql://u@h:5432/n"},
           {"postgresql://u:p@h:5432/n", "postgresql://u@h:5432/n"},
           {"postgres://u:p?:q@h/a@b", "postgres://u@h/a@b"},
           {"postgresql://:p@h/n", "postgresql://@h/n"},
           {"postgresql://u@h/n?password=p", "postgresql://u@h/n"},
           {"postgresql://u@h/n?a=b&sslpassword=p&c=d", "postgresql://u@h/n?a=b&c=d"},
           {"postgresql://u@h/n?pass%77ord=p&c=d", "postgresql://u@h/n?c=d"},
           {"postgresql://h", "postgresql://h"},
           {"postgresql://", "postgresql://"}}) {
    EXPECT_EQ(lasting_place(given), kept);
  }
}

}  // namespace
}  // namespace xsp::catalogue
