#include "importers/shared/packed_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <fstream>

#include "importers/shared/json_events.h"

namespace xsp::importers {
namespace {

class PackedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (std::filesystem::temp_directory_path() / "xsp-packed-XXXXXX").string();
    ASSERT_NE(::mkdtemp(form.data()), nullptr);
    folder_ = form;
    path_ = folder_ / "a.json.gz";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void pack(const std::string& text) const {
    gzFile file = gzopen(path_.c_str(), "wb9");
    ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    ASSERT_EQ(gzclose(file), Z_OK);
  }
  void damage(std::streamoff at) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.put('\x55').put('\x55').put('\x55').put('\x55');
  }
  // Returns the number of events, or the text of the error.
  std::string read() const {
    auto events = JsonEvents::open(path_, "traceEvents");
    if (!events.ok()) return events.error().text;
    size_t count = 0;
    for (std::string event;; ++count) {
      const auto has_one = events->next(&event);
      if (!has_one.ok()) return has_one.error().text;
      if (!*has_one) return std::to_string(count);
    }
  }
  // Returns a list of events whose text hardly repeats.
  static std::string events_of(int count) {
    std::string text = "[";
    uint64_t state = 1;
    for (int i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += (i == 0 ? "{\"a\":" : ",{\"a\":") + std::to_string(state) + "}";
    }
    return text + "]";
  }

  std::filesystem::path folder_, path_;
};

TEST_F(PackedFileTest, ReadsACompressedListWhole) {
  pack(events_of(50000));
  EXPECT_EQ(read(), "50000");
}

TEST_F(PackedFileTest, AFileThatIsCutShortEndsThere) {
  pack(events_of(50000));
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  const int count = std::atoi(read().c_str());
  EXPECT_GT(count, 20000);
  EXPECT_LT(count, 30000);
}

TEST_F(PackedFileTest, ADamagedFileIsAnErrorThatNamesIt) {
  pack(events_of(50000));
  // The checksum of the whole stands in the last eight bytes.
  damage(static_cast<std::streamoff>(std::filesystem::file_size(path_)) - 8);
  const std::string text = read();
  EXPECT_NE(text.find(path_.string() + ": cannot be unpacked: "), std::string::npos) << text;
}

TEST_F(PackedFileTest, AFileThatUnpacksWithoutBoundIsRefused) {
  pack("[" + std::string(kUnpackedBytesMin + (8 << 20), ' ') + "]");
  const std::string text = read();
  EXPECT_NE(text.find(": unpacks to more than 200 times its size"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST_F(PackedFileTest, AFolderAndAMissingFileAreErrors) {
  EXPECT_FALSE(PackedFile::open(folder_).ok());
  EXPECT_FALSE(PackedFile::open(folder_ / "none").ok());
}

}  // namespace
}  // namespace xsp::importers
