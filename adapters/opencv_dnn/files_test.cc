#include "adapters/opencv_dnn/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "xsp/adapter.hpp"

namespace xsp::opencv_dnn {
namespace {

TEST(OpencvFiles, InputsOfAPrototxtInBothStyles) {
  EXPECT_EQ(caffe_input_names("name: \"net\" input: \"data\" input_shape { dim: 1 dim: 3 }\n"
                              "input: 'im_info' # input: \"no\"\nlayer { name: \"a\" top: \"a\" }"),
            (std::vector<std::string>{"data", "im_info"}));
  EXPECT_EQ(caffe_input_names("layer { name: \"x\" type: \"Input\" top: \"x\" top: \"y\"\n"
                              "  input_param { shape { dim: 1 } } }\n"
                              "layer { type: \"ReLU\" bottom: \"x\" top: \"z\" }"),
            (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(caffe_input_names("name: \"input: \\\"x\\\"\" layer { param { type: \"Input\" } }"),
            std::vector<std::string>{});
  EXPECT_EQ(caffe_input_names("}}} { : \"open"), std::vector<std::string>{});
}

TEST(OpencvFiles, InputsAsTheOptionSaysThem) {
  const auto ports = parse_input_shapes("data:1,3,224,224;info:1,3");
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].name, "data");
  EXPECT_EQ(ports[0].dimensions, (std::vector<int64_t>{1, 3, 224, 224}));
  EXPECT_EQ(ports[1].name, "info");
  for (const char* bad :
       {"", "data", "data:", ":1,3", "data:1,x", "data:1,,3", "data:0", "a:1;;"}) {
    EXPECT_TRUE(parse_input_shapes(bad).empty()) << bad;
  }
}

TEST(OpencvFiles, TheSecondFileIsBesideTheFirstOrGiven) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("xsp-files-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string text = folder / "net.prototxt";
  const std::string weights = folder / "net.caffemodel";
  const std::string other = folder / "other.caffemodel";
  std::ofstream(text) << "x";
  std::ofstream(other) << "x";
  std::string why;
  (void)find_files(text, "", &why);
  EXPECT_NE(why.find("no net.caffemodel"), std::string::npos) << why;
  why.clear();
  EXPECT_EQ(find_files(text, other, &why).weights, other);
  EXPECT_EQ(why, "");
  std::ofstream(weights) << "x";
  const Files by_text = find_files(text, "", &why);
  const Files by_weights = find_files(weights, "", &why);
  EXPECT_EQ(why, "");
  EXPECT_EQ(by_text.weights, weights);
  EXPECT_EQ(by_weights.description, text);
  EXPECT_EQ(by_weights.weights, weights);
  (void)find_files(folder / "absent.prototxt", "", &why);
  EXPECT_NE(why.find("no such file"), std::string::npos) << why;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace xsp::opencv_dnn
