// MobileNet v1 (Howard et al. 2017), in each width and resolution that the paper reduces it to, and
// v2 (Sandler et al. 2018), width 1.0.
#include "zoo/mobilenet.h"

#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr double kV1Epsilon = 1e-3;

formats::Value conv_bn_relu6(formats::Builder& b, const std::string& name, const formats::Value& x,
                             int64_t channels, const formats::Window& window, double epsilon) {
  const formats::Value y = b.batch_norm(name + "/bn", b.conv(name, x, channels, window), epsilon);
  return b.relu6(name + "/relu6", y);
}

template <int64_t quarters, int64_t size>
void mobilenet_v1(formats::Builder& b) {
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(size), formats::fixed(size)});
  x = mobilenet_v1_backbone(b, "", x, size, quarters).back().value;
  x = b.flatten("flatten", b.global_average_pool("avgpool", x));
  x = b.gemm("fc", x, 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

// No ReLU follows the projection: its output is linear.
formats::Value inverted_residual(formats::Builder& b, const std::string& name,
                                 const formats::Value& x, int64_t channels, int64_t stride,
                                 int64_t expansion) {
  int64_t index = 0;
  const auto part = [&] { return name + "/conv/" + std::to_string(index++); };
  formats::Value y = x;
  const int64_t hidden = x.channels * expansion;
  if (expansion != 1) y = conv_bn_relu6(b, part(), y, hidden, {}, 1e-5);
  y = conv_bn_relu6(b, part(), y, hidden, {3, stride, 1, hidden}, 1e-5);
  y = b.conv(part(), y, channels, {}, formats::Builder::kLinear);
  y = b.batch_norm(part(), y);
  if (stride != 1 || x.channels != channels) return y;
  return b.add(name + "/add", x, y);
}

void mobilenet_v2(formats::Builder& b) {
  struct Stage {
    int64_t expansion, channels, blocks, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(224), formats::fixed(224)});
  int64_t index = 0;
  const auto feature = [&] { return "features/" + std::to_string(index++); };
  x = conv_bn_relu6(b, feature(), x, 32, {3, 2, 1}, 1e-5);
  for (const Stage& stage : kStages) {
    for (int64_t block = 0; block < stage.blocks; ++block) {
      x = inverted_residual(b, feature(), x, stage.channels, block == 0 ? stage.stride : 1,
                            stage.expansion);
    }
  }
  x = conv_bn_relu6(b, feature(), x, 1280, {}, 1e-5);
  x = b.flatten("flatten", b.global_average_pool("avgpool", x));
  x = b.gemm("classifier/1", x, 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

}  // namespace

std::vector<FeatureMap> mobilenet_v1_backbone(formats::Builder& b, const std::string& prefix,
                                              const formats::Value& x, int64_t size,
                                              int64_t quarters) {
  struct Stage {
    int64_t channels, stride;
  };
  constexpr Stage kStages[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                               {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                               {512, 1}, {1024, 2}, {1024, 1}};
  std::vector<FeatureMap> maps;
  formats::Value y = conv_bn_relu6(b, prefix + "conv0", x, 8 * quarters,
                                   formats::same_window(size, 3, 2), kV1Epsilon);
  size = (size + 1) / 2;
  for (const Stage& stage : kStages) {
    const std::string name = prefix + "conv" + std::to_string(maps.size() + 1);
    formats::Window window = formats::same_window(size, 3, stage.stride);
    window.groups = y.channels;
    y = conv_bn_relu6(b, name + "/depthwise", y, y.channels, window, kV1Epsilon);
    y = conv_bn_relu6(b, name + "/pointwise", y, stage.channels / 4 * quarters, {}, kV1Epsilon);
    size = (size + stage.stride - 1) / stage.stride;
    maps.push_back({y, size});
  }
  return maps;
}

namespace {

constexpr const char* kSlimIsLower =
    "TF-Slim's table is 2.6 % below the paper's own figure for this width, 0.325 at 224 x 224";

template <int64_t quarters, int64_t size>
Recipe reduced_mobilenet_v1(double gmacs, const char* source, const char* note = "") {
  constexpr const char* kWidths[] = {"0.25", "0.5", "0.75", "1.0"};
  constexpr int64_t kParameters[] = {500000, 1300000, 2600000, 4200000};
  const std::string width = kWidths[quarters - 1];
  const std::string pixels = std::to_string(size);
  Recipe recipe;
  recipe.name = "mobilenet_v1_" + width + "_" + pixels;
  recipe.title = "MobileNet v1 " + width + " " + pixels;
  recipe.task = "image classification";
  recipe.topology = "Howard et al. 2017 (padding as TensorFlow's SAME), 1000 classes";
  recipe.literature_parameters = kParameters[quarters - 1];
  recipe.literature_gmacs = gmacs;
  recipe.literature = std::string("Howard et al. 2017, table 6 (parameters); ") + source;
  recipe.literature_note = note;
  recipe.build = mobilenet_v1<quarters, size>;
  return recipe;
}

}  // namespace

std::vector<Recipe> mobilenet_recipes() {
  constexpr const char* kPaper = "the same table (MACs)";
  constexpr const char* kSlim = "TF-Slim's table of MobileNet v1 (MACs)";
  return {
      {"mobilenet_v1", "MobileNet v1 1.0 224", "image classification",
       "Howard et al. 2017 (padding as TensorFlow's SAME), 1000 classes", 4231976, 0.569,
       "Howard et al. 2017, table 4 (569 M mult-adds; 4.2 M parameters); Keras' summary",
       mobilenet_v1<4, 224>},
      reduced_mobilenet_v1<4, 192>(0.418, kSlim),
      reduced_mobilenet_v1<4, 160>(0.291, kSlim),
      reduced_mobilenet_v1<4, 128>(0.186, kSlim),
      reduced_mobilenet_v1<3, 224>(0.325, kPaper),
      reduced_mobilenet_v1<3, 192>(0.233, kSlim, kSlimIsLower),
      reduced_mobilenet_v1<3, 160>(0.162, kSlim, kSlimIsLower),
      reduced_mobilenet_v1<3, 128>(0.104, kSlim, kSlimIsLower),
      reduced_mobilenet_v1<2, 224>(0.149, kPaper),
      reduced_mobilenet_v1<2, 192>(0.110, kSlim),
      reduced_mobilenet_v1<2, 160>(0.077, kSlim),
      reduced_mobilenet_v1<2, 128>(0.049, kSlim),
      reduced_mobilenet_v1<1, 224>(0.041, kPaper),
      reduced_mobilenet_v1<1, 192>(0.034, kSlim,
                                   "TF-Slim's own 0.041 at 224 x 224 scales to 0.030 at this size"),
      reduced_mobilenet_v1<1, 160>(0.021, kSlim),
      reduced_mobilenet_v1<1, 128>(0.014, kSlim, "TF-Slim's table prints two digits"),
      {"mobilenet_v2", "MobileNet v2 1.0 224", "image classification", "torchvision mobilenet_v2",
       3504872, 0.300, "Sandler et al. 2018, table 4 (300 M mult-adds); torchvision model table",
       mobilenet_v2}};
}

}  // namespace xsp::zoo
