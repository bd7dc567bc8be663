// ResNet-50 v1.5: like v1, but a bottleneck that halves the image does so in its 3x3 convolution.
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr int64_t kExpansion = 4;
// The last scale of a residual branch: small, as after training, so that sums stay of one size.
constexpr double kBranchScale = 0.3;

formats::Value conv_bn(formats::Builder& b, const std::string& conv, const std::string& bn,
                       const formats::Value& x, int64_t channels, const formats::Window& window,
                       double scale = 1) {
  return b.batch_norm(bn, b.conv(conv, x, channels, window), 1e-5, scale);
}

formats::Value bottleneck(formats::Builder& b, const std::string& name, const formats::Value& x,
                          int64_t width, int64_t stride) {
  formats::Value y = conv_bn(b, name + "/conv1", name + "/bn1", x, width, {});
  y = b.relu(name + "/relu1", y);
  y = conv_bn(b, name + "/conv2", name + "/bn2", y, width, {3, stride, 1});
  y = b.relu(name + "/relu2", y);
  y = conv_bn(b, name + "/conv3", name + "/bn3", y, width * kExpansion, {}, kBranchScale);
  formats::Value shortcut = x;
  if (stride != 1 || x.channels != width * kExpansion) {
    shortcut = conv_bn(b, name + "/downsample/0", name + "/downsample/1", x, width * kExpansion,
                       {1, stride});
  }
  return b.relu(name + "/relu3", b.add(name + "/add", y, shortcut));
}

void resnet50(formats::Builder& b) {
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(224), formats::fixed(224)});
  x = b.relu("relu", conv_bn(b, "conv1", "bn1", x, 64, {7, 2, 3}));
  x = b.max_pool("maxpool", x, {3, 2, 1});
  constexpr int64_t kBlocks[] = {3, 4, 6, 3};
  int64_t width = 64;
  for (int64_t layer = 0; layer < 4; ++layer, width *= 2) {
    for (int64_t block = 0; block < kBlocks[layer]; ++block) {
      const std::string name = "layer" + std::to_string(layer + 1) + "/" + std::to_string(block);
      x = bottleneck(b, name, x, width, block == 0 && layer > 0 ? 2 : 1);
    }
  }
  x = b.gemm("fc", b.flatten("flatten", b.global_average_pool("avgpool", x)), 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

}  // namespace

std::vector<Recipe> resnet_recipes() {
  return {{"resnet50", "ResNet-50 v1.5", "image classification",
           "torchvision resnet50 (stride in the 3x3)", 25557032, 4.09,
           "torchvision model table (ResNet50_Weights)", resnet50}};
}

}  // namespace xsp::zoo
