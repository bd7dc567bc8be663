// VGG-16, configuration D of Simonyan and Zisserman 2014. torchvision puts an adaptive pooling
// before the classifier, which does nothing at 224x224; exporters leave it out, like dropout.
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

void vgg16(formats::Builder& b) {
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(224), formats::fixed(224)});
  constexpr int64_t kPool = 0;
  constexpr int64_t kLayers[] = {64,    64,  kPool, 128, 128,   kPool, 256, 256, 256,
                                 kPool, 512, 512,   512, kPool, 512,   512, 512, kPool};
  int64_t index = 0;
  for (const int64_t channels : kLayers) {
    if (channels == kPool) {
      x = b.max_pool("features/" + std::to_string(index++), x, {2, 2});
      continue;
    }
    x = b.conv("features/" + std::to_string(index++), x, channels, {3, 1, 1, 1, true});
    x = b.relu("features/" + std::to_string(index++), x);
  }
  x = b.flatten("flatten", x);
  x.channels *= 7 * 7;
  x = b.relu("classifier/1", b.gemm("classifier/0", x, 4096, formats::Builder::kBeforeRelu));
  x = b.relu("classifier/4", b.gemm("classifier/3", x, 4096, formats::Builder::kBeforeRelu));
  x = b.gemm("classifier/6", x, 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

}  // namespace

std::vector<Recipe> vgg_recipes() {
  return {{"vgg16", "VGG-16", "image classification", "torchvision vgg16", 138357544, 15.47,
           "torchvision model table (VGG16_Weights)", vgg16}};
}

}  // namespace xsp::zoo
