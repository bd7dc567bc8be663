// Tests that the examples run, and that their traces have the expected content.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>

#include "shared/trace/reader.h"
#include "tests/places.h"
#include "xsp/xsp.h"

namespace {

namespace places = xsp::places;

namespace fs = std::filesystem;
using xsp::trace::Reader;

class Examples : public testing::Test {
 protected:
  Examples() {
    std::string form = (fs::temp_directory_path() / "xsp_test_XXXXXX").string();
    folder_ = mkdtemp(form.data());
  }
  ~Examples() override { fs::remove_all(folder_); }

  Reader run(const std::string& name) {
    const std::string path = (folder_ / "a.xtrace").string();
    setenv("XSP_TRACE", path.c_str(), 1);
    EXPECT_EQ(system((places::build("examples/") + name + " >/dev/null").c_str()), 0);
    auto reader = Reader::open(path);
    if (!reader.ok()) {
      ADD_FAILURE() << reader.error().text;
      abort();
    }
    EXPECT_TRUE(reader->is_complete());
    return std::move(reader).value();
  }
  // Returns the number of spans of each name.
  static std::map<std::string, int> names(const Reader& reader) {
    std::map<std::string, int> found;
    xsp::trace::SpanBatch batch;
    for (size_t s = 0; s < reader.streams().size(); ++s) {
      for (size_t c = 0; c < reader.streams()[s].chunk_count; ++c) {
        EXPECT_TRUE(reader.read(s, c, &batch).ok());
        for (const uint32_t site : batch.site) ++found[reader.sites()[site - 1].name];
      }
    }
    return found;
  }

 private:
  fs::path folder_;
};

using Names = std::map<std::string, int>;

TEST_F(Examples, Annotate) {
  const Reader reader = run("annotate");
  EXPECT_EQ(names(reader),
            (Names{{"request", 12}, {"series", 12}, {"harmonic", 12}, {"alternating", 12}}));
  EXPECT_TRUE(reader.losses().empty());
}

TEST_F(Examples, AnnotateScopes) {
  const Reader reader = run("annotate_scopes");
  EXPECT_EQ(names(reader),
            (Names{{"worker", 2}, {"model", 20}, {"layer0", 20}, {"layer1", 20}, {"layer2", 20}}));
  EXPECT_EQ(reader.streams().size(), 2u);
  for (const xsp::trace::Site& site : reader.sites()) {
    if (site.level != XSP_LEVEL_LAYER) continue;
    EXPECT_EQ(site.attributes.size(), 1u);
  }
}

TEST_F(Examples, GivenTimes) {
  const Reader reader = run("given_times");
  EXPECT_EQ(names(reader), (Names{{"cudaLaunchKernel", 5}, {"gemm_128x64", 5}}));
  ASSERT_EQ(reader.losses().size(), 1u);
  EXPECT_EQ(reader.losses()[0].source, "example");
  EXPECT_EQ(reader.losses()[0].count, 2u);
}

TEST_F(Examples, EveryOneRecords) {
  size_t programs = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(places::source("examples"))) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".c" && extension != ".cc") continue;
    ++programs;
    EXPECT_FALSE(names(run(entry.path().stem().string())).empty()) << entry.path();
  }
  EXPECT_GE(programs, 3u);
}

}  // namespace
