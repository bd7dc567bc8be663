#include "desk/experiment/model_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFilePairs = {".prototxt+.caffemodel", "-symbol.json+-#.params"};

class ModelFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (fs::temp_directory_path() / "xsp-pairs-XXXXXX").string();
    ASSERT_NE(::mkdtemp(form.data()), nullptr);
    folder = form;
    for (const char* name :
         {"a.prototxt", "a.caffemodel", "ab.caffemodel", "net-symbol.json", "net-0000.params",
          "net-0012.params", "net-x.params", "lone.prototxt"}) {
      std::ofstream(folder / name) << name;
    }
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(ModelFiles, EitherFileFindsTheOther) {
  auto pair = pair_of(folder / "a.prototxt", kFilePairs);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->stem, "a");
  EXPECT_EQ(pair->other, folder / "a.caffemodel");
  pair = pair_of(folder / "a.caffemodel", kFilePairs);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->other, folder / "a.prototxt");
}

TEST_F(ModelFiles, DigitsMayBeAnyAndTheLastFileCounts) {
  auto pair = pair_of(folder / "net-symbol.json", kFilePairs);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->stem, "net");
  EXPECT_EQ(pair->other, folder / "net-0012.params");
  pair = pair_of(folder / "net-0000.params", kFilePairs);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->stem, "net");
  EXPECT_EQ(pair->other, folder / "net-symbol.json");
}

TEST_F(ModelFiles, OtherNamesAreNoPairs) {
  EXPECT_FALSE(pair_of(folder / "net-x.params", kFilePairs)) << "x is no digit";
  EXPECT_FALSE(pair_of(folder / "net.json", kFilePairs));
  EXPECT_FALSE(pair_of(folder / ".prototxt", kFilePairs)) << "no stem";
  EXPECT_FALSE(pair_of(folder / "a.prototxt", {}));
  EXPECT_FALSE(pair_of("fake:layers=2", kFilePairs));
  const auto lone = pair_of(folder / "lone.prototxt", kFilePairs);
  ASSERT_TRUE(lone);
  EXPECT_TRUE(lone->other.empty());
}

}  // namespace
}  // namespace xsp::experiment
