// DenseNet-121 (Huang et al. 2016): every layer reads the outputs of all layers before it.
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr int64_t kGrowth = 32;
constexpr int64_t kBottleneck = 4;

formats::Value norm_relu_conv(formats::Builder& b, const std::string& name,
                              const std::string& suffix, const formats::Value& x, int64_t channels,
                              const formats::Window& window) {
  const formats::Value y =
      b.relu(name + "/relu" + suffix, b.batch_norm(name + "/norm" + suffix, x));
  return b.conv(name + "/conv" + suffix, y, channels, window);
}

formats::Value dense_block(formats::Builder& b, const std::string& name, const formats::Value& x,
                           int64_t layers) {
  std::vector<formats::Value> features = {x};
  for (int64_t layer = 1; layer <= layers; ++layer) {
    const std::string part = name + "/denselayer" + std::to_string(layer);
    formats::Value y = features.size() == 1 ? x : b.concat(part + "/concat", features);
    y = norm_relu_conv(b, part, "1", y, kBottleneck * kGrowth, {});
    features.push_back(norm_relu_conv(b, part, "2", y, kGrowth, {3, 1, 1}));
  }
  return b.concat(name + "/concat", features);
}

void densenet121(formats::Builder& b) {
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(224), formats::fixed(224)});
  x = b.batch_norm("features/norm0", b.conv("features/conv0", x, 64, {7, 2, 3}));
  x = b.max_pool("features/pool0", b.relu("features/relu0", x), {3, 2, 1});
  constexpr int64_t kLayers[] = {6, 12, 24, 16};
  for (int64_t block = 1; block <= 4; ++block) {
    x = dense_block(b, "features/denseblock" + std::to_string(block), x, kLayers[block - 1]);
    if (block == 4) break;
    const std::string name = "features/transition" + std::to_string(block);
    x = norm_relu_conv(b, name, "", x, x.channels / 2, {});
    x = b.average_pool(name + "/pool", x, {2, 2});
  }
  x = b.relu("relu", b.batch_norm("features/norm5", x));
  x = b.gemm("classifier", b.flatten("flatten", b.global_average_pool("avgpool", x)), 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

}  // namespace

std::vector<Recipe> densenet_recipes() {
  return {{"densenet121", "DenseNet-121", "image classification", "torchvision densenet121",
           7978856, 2.83, "torchvision model table (DenseNet121_Weights)", densenet121}};
}

}  // namespace xsp::zoo
