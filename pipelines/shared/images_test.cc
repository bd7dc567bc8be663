// Tests the steps for images against what Pillow makes of the files in tests/data/images.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "pipelines/shared/testing.h"
#include "shared/base/words.h"
#include "tests/places.h"

namespace xsp::pipelines {
namespace {

const std::string kFolder = places::source("tests/data/images/");

class Images : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_built("decode")) {
      GTEST_SKIP() << "decode is not built here: it needs libjpeg and libpng";
    }
  }

  static std::string content(const std::string& name) {
    std::ifstream file(kFolder + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Value decoded(const std::string& name) {
    const Result<Value> image = run_step("decode", {}, bytes_value(content(name)));
    EXPECT_TRUE(image.ok()) << name << ": " << (image.ok() ? "" : image.error().text);
    return image.ok() ? *image : Value{};
  }
};

void expect_same(const Result<Value>& given, const Value& expected, const std::string& what) {
  ASSERT_TRUE(given.ok()) << what << ": " << given.error().text;
  ASSERT_EQ(given->type.dimensions, expected.type.dimensions) << what;
  EXPECT_EQ(given->data, expected.data) << what;
}

TEST_F(Images, AreDecodedAsPillowDoes) {
  for (const std::string name :
       {"photo.jpg", "grey.jpg", "alpha.png", "palette.png", "grey16.png"}) {
    const size_t dot = name.find('.');
    expect_same(decoded(name),
                decoded("expected/" + name.substr(0, dot) + "_" + name.substr(dot + 1) + ".png"),
                name);
  }
}

TEST_F(Images, AreResizedAsPillowDoes) {
  const Value photo = decoded("photo.png");
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder + "expected")) {
    const std::string name = entry.path().stem().string();
    const size_t line = name.rfind('_'), times = name.rfind('x');
    if (times == std::string::npos || name.find("grey") == 0) continue;
    const Params params = {{"filter", name.substr(0, line)},
                           {"width", name.substr(line + 1, times - line - 1)},
                           {"height", name.substr(times + 1)}};
    expect_same(run_step("resize_pillow", params, photo), decoded("expected/" + name + ".png"),
                name);
    ++compared;
  }
  EXPECT_EQ(compared, 20u);
}

TEST_F(Images, AreResizedAsOpencvDoes) {
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder + "opencv")) {
    const std::string name = entry.path().stem().string();
    Result<Value> image = decoded("photo.png");
    for (const std::string& size : split(name, '_')) {
      const size_t times = size.find('x');
      image = run_step("resize_opencv",
                       {{"width", size.substr(0, times)}, {"height", size.substr(times + 1)}},
                       std::move(*image));
      ASSERT_TRUE(image.ok()) << image.error().text;
    }
    expect_same(image, decoded("opencv/" + name + ".png"), name);
    ++compared;
  }
  EXPECT_EQ(compared, 7u);
}

TEST_F(Images, ThatAreNoneAreRefused) {
  const std::string jpeg = content("photo.jpg"), png = content("photo.png");
  const auto error = [](const std::string& bytes) {
    const Result<Value> image = run_step("decode", {}, bytes_value(bytes));
    return image.ok() ? "no error" : image.error().text;
  };
  EXPECT_NE(error("").find("neither a JPEG nor a PNG"), std::string::npos) << error("");
  for (const std::string& whole : {jpeg, png}) {
    for (const size_t size : {size_t{4}, whole.size() / 2, whole.size() - 20}) {
      EXPECT_NE(error(whole.substr(0, size)).find("image that can be read: "), std::string::npos)
          << size;
    }
  }
}

TEST(ColourOrder, SwapsRedAndBlue) {
  const Value image = image_value(1, 2, 3, "rgb", {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(numbers_of<uint8_t>(run_step("colour_order", {{"to", "bgr"}}, image)),
            (std::vector<uint8_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(numbers_of<uint8_t>(run_step("colour_order", {{"to", "rgb"}}, image)),
            (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Crop, TakesTheMiddle) {
  const Value image = image_value(
      4, 5, 1, "grey", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  EXPECT_EQ(numbers_of<uint8_t>(run_step("crop", {{"height", "2"}, {"width", "3"}}, image)),
            (std::vector<uint8_t>{6, 7, 8, 11, 12, 13}));
  // 0.5 becomes 0, and 1.5 becomes 2.
  EXPECT_EQ(numbers_of<uint8_t>(run_step("crop", {{"height", "3"}, {"width", "2"}}, image)),
            (std::vector<uint8_t>{2, 3, 7, 8, 12, 13}));
  EXPECT_FALSE(run_step("crop", {{"height", "5"}, {"width", "2"}}, image).ok());
}

TEST(Layout, OfPlanesAndBack) {
  const Value image = image_value(1, 2, 3, "rgb", {1, 2, 3, 4, 5, 6});
  const Result<Value> planes = run_step("layout", {{"to", "NCHW"}}, image);
  EXPECT_EQ(numbers_of<uint8_t>(planes), (std::vector<uint8_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(planes->type.dimensions, (std::vector<int64_t>{3, 1, 2}));
  EXPECT_EQ(numbers_of<uint8_t>(run_step("layout", {{"to", "NHWC"}}, *planes)),
            (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(ResizePillow, WantsOneSize) {
  const Type image = image_value(1, 1, 3, "rgb", {1, 2, 3}).type;
  EXPECT_EQ(refusal(pipeline_of("resize_pillow", {{"filter", "box"}}, image)),
            "resize_pillow: short: no size, or two: give short, or height and width");
  const Result<Value> longer = run_step("resize_pillow", {{"filter", "box"}, {"short", "2"}},
                                        image_value(2, 3, 1, "grey", {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(longer->type.dimensions, (std::vector<int64_t>{2, 3, 1}));
}

// The sizes are those of rapidocr's cv2.resize for the same images.
TEST(ResizeOpencv, KeepsTheShape) {
  const auto size = [](const Params& params, int64_t height, int64_t width) {
    Value image = image_value(1, 1, 1, "grey", {7});
    image.type.dimensions = {height, width, 1};
    image.data.resize(static_cast<size_t>(height * width), std::byte{7});
    const Result<Value> result = run_step("resize_opencv", params, std::move(image));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text);
    if (!result.ok()) return std::vector<int64_t>();
    EXPECT_EQ(result->as<uint8_t>().back(), 7);
    return result->type.dimensions;
  };
  using Dimensions = std::vector<int64_t>;
  const Params most = {{"height", "48"}, {"width_max", "192"}};
  EXPECT_EQ(size(most, 31, 100), (Dimensions{48, 155, 1}));  // 154.8
  EXPECT_EQ(size(most, 31, 300), (Dimensions{48, 192, 1}));
  const Params least = {{"height", "48"}, {"width_min", "320"}};
  EXPECT_EQ(size(least, 31, 100), (Dimensions{48, 155, 1}));
  EXPECT_EQ(size(least, 31, 300), (Dimensions{48, 464, 1}));  // 464.5: cut, beyond the least
  const Params shorter = {{"short_min", "736"}, {"multiple", "32"}};
  EXPECT_EQ(size(shorter, 400, 500), (Dimensions{736, 928, 1}));  // 920 is 28.75 multiples
  EXPECT_EQ(size(shorter, 752, 816), (Dimensions{768, 832, 1}));  // 23.5 and 25.5: even
}

TEST(ResizeOpencv, WantsOneSize) {
  const Type image = image_value(1, 1, 3, "rgb", {1, 2, 3}).type;
  const std::string advice = "give short_min, or height and one of width, width_max and width_min";
  EXPECT_EQ(refusal(pipeline_of("resize_opencv", {}, image)),
            "resize_opencv: height: no size, or two: " + advice);
  EXPECT_EQ(refusal(pipeline_of("resize_opencv", {{"height", "4"}, {"short_min", "2"}}, image)),
            "resize_opencv: height '4': no size, or two: " + advice);
  EXPECT_EQ(refusal(pipeline_of("resize_opencv",
                                {{"height", "4"}, {"width", "4"}, {"multiple", "2"}}, image)),
            "resize_opencv: multiple '2': only for short_min: leave it out");
}

TEST(Pad, AddsPixelsOnTheRightAndBelow) {
  Value image = tensor_value<float>(XSP_FLOAT32, {1, 1, 2}, {1, 2});
  image.type.kind = Kind::kImage;
  image.type.layout = "CHW";
  EXPECT_EQ(
      numbers_of<float>(run_step("pad", {{"width", "3"}, {"height", "2"}, {"value", "9"}}, image)),
      (std::vector<float>{1, 2, 9, 9, 9, 9}));
  EXPECT_EQ(numbers_of<float>(run_step("pad", {{"width", "1"}}, image)),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(refusal(pipeline_of("pad", {}, image.type)),
            "pad: width: no size: give width, height or both");
}

}  // namespace
}  // namespace xsp::pipelines
