#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "trace/reader.h"
#include "xsp/xsp.h"

namespace xsp {
namespace {

using trace::Reader;
using trace::SpanBatch;

// A path that no other test uses; removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string form = (std::filesystem::temp_directory_path() / "xsp_test_XXXXXX").string();
    folder_ = mkdtemp(form.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::string path(const char* name = "a.xtrace") const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

TEST(Session, ThinPath) {
  Scratch scratch;
  xsp_options options = {};
  options.struct_size = sizeof options;
  const std::string path = scratch.path();
  options.path = path.c_str();
  ASSERT_EQ(xsp_start(&options), 0);
  static xsp_site outer_site = XSP_SITE(XSP_LEVEL_MODEL, "model");
  const uint32_t conv = xsp_intern_site(XSP_LEVEL_LAYER, "conv1", "Conv");
  const uint32_t key = xsp_intern_key("iteration");
  xsp_site_attribute(conv, "input_shapes", "[[1,3]]");
  xsp_site_counter(conv, "output_bytes", 12);
  for (int i = 0; i < 10; ++i) {
    xsp_span span = xsp_begin(&outer_site);
    xsp_span_int(&span, key, i);
    xsp_complete_span layer = {};
    layer.struct_size = sizeof layer;
    layer.site_id = conv;
    layer.start_ns = xsp_now_ns();
    layer.duration_ns = 5;
    xsp_emit(&layer);
    xsp_end(&span);
  }
  ASSERT_EQ(xsp_stop(), 0);
  auto reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.error().text;
  EXPECT_TRUE(reader->is_complete());
  EXPECT_TRUE(reader->losses().empty());
  ASSERT_EQ(reader->streams().size(), 2u);
  EXPECT_EQ(reader->streams()[0].span_count, 10u);
  SpanBatch batch;
  ASSERT_TRUE(reader->read(0, 0, &batch).ok());
  ASSERT_EQ(batch.values.size(), 10u);
  EXPECT_EQ(batch.values[7].as_int, 7);
  EXPECT_EQ(reader->keys()[batch.values[7].key], "iteration");
  EXPECT_EQ(reader->sites()[batch.site[0] - 1].name, "model");
  EXPECT_GE(batch.start_ns[0], reader->first_ns());
  EXPECT_LE(batch.end_ns[9], reader->last_ns());
  EXPECT_EQ(reader->sites()[conv - 1].counters.at(0).second, 12);
}

}  // namespace
}  // namespace xsp
