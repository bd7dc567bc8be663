#include "desk/manifest/kept.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

#include "shared/base/cache.h"
#include "shared/base/scratch.h"

namespace xsp::manifest {
namespace {

namespace fs = std::filesystem;

class KeptModels : public ::testing::Test {
 protected:
  void SetUp() override { scratch_ = std::move(ScratchFolder::create()).value(); }
  const fs::path& cache() const { return scratch_->path(); }

  // Writes a file of 64 KiB that was last used so many hours ago.
  void write(const std::string& name, int hours) {
    const fs::path path = cache() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(64 << 10, 'x');
    const timespec then = {::time(nullptr) - 3600 * hours, 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  // Returns the names of the models, the least recently used first.
  std::string names(const std::vector<KeptModel>& models) const {
    std::string text;
    for (const KeptModel& one : models) {
      text += (text.empty() ? "" : " ") + one.path.lexically_relative(cache() / "models").string();
    }
    return text;
  }
  std::string left() const { return names(kept_models(cache())); }

  std::unique_ptr<ScratchFolder> scratch_;
};

TEST_F(KeptModels, AreListedFromTheLeastRecentlyUsed) {
  EXPECT_EQ(left(), "");
  write("models/export/torch/torchvision-alexnet/model.pt", 20);
  write("models/export/torch/torchvision-alexnet/labels.txt", 5);
  write("models/export/onnxruntime/gpt2/model.onnx", 30);
  write("models/0123abcd/model.onnx", 10);
  write("models/resnet50-1-1.onnx", 40);
  write("models/.part-abc/half.onnx", 90);
  write("models/resnet50-1-1-caffe.77.part/half", 90);
  write("frameworks/large.so", 90);
  EXPECT_EQ(left(),
            "resnet50-1-1.onnx export/onnxruntime/gpt2 0123abcd export/torch/torchvision-alexnet");
  EXPECT_EQ(kept_models(cache())[3].bytes,
            bytes_in(cache() / "models/export/torch/torchvision-alexnet"));
  EXPECT_GE(bytes_in(cache()), uint64_t{8} * (64 << 10));
}

TEST_F(KeptModels, AreRemovedUntilTheOthersFit) {
  for (const int hours : {5, 4, 3, 2}) write("models/n" + std::to_string(hours), hours);
  const auto all = kept_models(cache());
  const uint64_t each = all[0].bytes;
  EXPECT_EQ(names(*remove_models(cache(), 4 * each)), "");
  EXPECT_EQ(names(*remove_models(cache(), 3 * each - 1)), "n5 n4");
  EXPECT_EQ(left(), "n3 n2");
}

TEST_F(KeptModels, StayIfTheyWereJustUsed) {
  for (const int hours : {5, 4, 3}) write("models/n" + std::to_string(hours), hours);
  mark_used(cache() / "models/n5");
  EXPECT_EQ(left(), "n4 n3 n5");
  EXPECT_EQ(names(*remove_models(cache(), 0)), "n4 n3");
  EXPECT_EQ(left(), "n5");
}

}  // namespace
}  // namespace xsp::manifest
