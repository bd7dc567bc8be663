#include "shared/base/scratch.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace xsp {
namespace {

namespace fs = std::filesystem;

TEST(Scratch, ItIsItsOwnersAloneAndGoesWithHim) {
  fs::path path;
  {
    const auto one = ScratchFolder::create();
    const auto other = ScratchFolder::create();
    ASSERT_TRUE(one.ok() && other.ok());
    path = (*one)->path();
    EXPECT_NE(path, (*other)->path());
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
    std::ofstream(path / "file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Scratch, WhatAKilledProcessLeftIsRemovedAndWhatALivingOneHasStays) {
  std::string base = (fs::temp_directory_path() / "scratch-test-XXXXXX").string();
  ASSERT_NE(::mkdtemp(base.data()), nullptr);
  // Each case is a process of its own: a process looks for leftovers only once.
  const auto start = [&](bool is_killed, int* hold) {
    int ready[2], end[2];
    EXPECT_EQ(::pipe(ready), 0);
    EXPECT_EQ(::pipe(end), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(end[1]);
      ::setenv("TMPDIR", base.c_str(), 1);
      auto folder = ScratchFolder::create();
      if (!folder.ok()) ::_exit(1);
      std::ofstream((*folder)->path() / (is_killed ? "dead" : "alive")) << "x";
      char byte = 0;
      (void)!::write(ready[1], &byte, 1);
      if (is_killed) ::_exit(0);  // no destructor runs
      (void)!::read(end[0], &byte, 1);
      ::_exit(0);
    }
    char byte = 0;
    (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]), ::close(ready[1]), ::close(end[0]);
    *hold = end[1];
    return child;
  };
  int hold = -1, ignored = -1;
  const pid_t living = start(false, &hold);
  ASSERT_EQ(::waitpid(start(true, &ignored), nullptr, 0) > 0, true);
  const auto count = [&](const char* name) {
    int found = 0;
    for (const auto& one : fs::recursive_directory_iterator(base)) {
      found += one.path().filename() == name;
    }
    return found;
  };
  EXPECT_EQ(count("dead"), 1);
  ASSERT_EQ(::waitpid(start(true, &ignored), nullptr, 0) > 0, true);
  EXPECT_EQ(count("dead"), 1) << "the second one's own";
  EXPECT_EQ(count("alive"), 1);
  ::close(hold);
  ::waitpid(living, nullptr, 0);
  fs::remove_all(base);
}

TEST(Scratch, WhatIsKeptIsNoLeftover) {
  fs::path path;
  {
    auto one = ScratchFolder::create();
    ASSERT_TRUE(one.ok());
    (*one)->keep();
    path = (*one)->path();
    EXPECT_NE(path.filename().string().find("kept"), std::string::npos);
  }
  EXPECT_TRUE(fs::exists(path));
  fs::remove_all(path);
}

}  // namespace
}  // namespace xsp
