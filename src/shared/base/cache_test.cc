#include "shared/base/cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "shared/base/scratch.h"

namespace xsp {
namespace {

class Cache : public testing::Test {
 protected:
  Cache() : home_(std::getenv("HOME")), scratch_(std::move(*ScratchFolder::create())) {}
  ~Cache() override {
    ::unsetenv("XDG_CACHE_HOME");
    ::setenv("HOME", home_.c_str(), 1);
  }

  std::string home_;
  std::unique_ptr<ScratchFolder> scratch_;
};

TEST_F(Cache, IsWhereTheUserSays) {
  ::setenv("HOME", "/home/one", 1);
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(*cache_folder(), "/home/one/.cache/xsp");
  ::setenv("XDG_CACHE_HOME", "/large", 1);
  EXPECT_EQ(*cache_folder(), "/large/xsp");
  ::setenv("XDG_CACHE_HOME", "here", 1);
  EXPECT_EQ(*cache_folder(), "/home/one/.cache/xsp") << "relative paths are ignored";
  ::unsetenv("HOME");
  EXPECT_EQ(cache_folder().error().text, "HOME is not set: set it, or XDG_CACHE_HOME");
}

TEST_F(Cache, AFolderIsMadeOrTheReasonIsSaid) {
  ::setenv("XDG_CACHE_HOME", scratch_->path().c_str(), 1);
  EXPECT_EQ(*make_cache_folder(), scratch_->path() / "xsp");
  EXPECT_TRUE(std::filesystem::is_directory(*make_cache_folder("models")));
  std::ofstream(scratch_->path() / "xsp" / "file") << "x";
  const std::string why = make_cache_folder("file").error().text;
  EXPECT_NE(why.find("/xsp/file: cannot be made: "), std::string::npos) << why;
  EXPECT_NE(why.find("set XDG_CACHE_HOME to a folder of yours"), std::string::npos) << why;
}

}  // namespace
}  // namespace xsp
