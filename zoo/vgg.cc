// VGG-16 and VGG-19, configurations D and E of Simonyan and Zisserman 2014. torchvision puts an
// adaptive pooling before the classifier, which does nothing at 224x224; exporters leave it out,
// like dropout.
#include <array>

#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

// `convolutions` has the number of them before each of the five poolings.
void vgg(formats::Builder& b, const std::array<int, 5>& convolutions) {
  constexpr std::array<int64_t, 5> kChannels = {64, 128, 256, 512, 512};
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(224), formats::fixed(224)});
  int index = 0;
  for (size_t part = 0; part < kChannels.size(); ++part) {
    for (int i = 0; i < convolutions[part]; ++i) {
      x = b.conv("features/" + std::to_string(index++), x, kChannels[part], {3, 1, 1, 1, true});
      x = b.relu("features/" + std::to_string(index++), x);
    }
    x = b.max_pool("features/" + std::to_string(index++), x, {2, 2});
  }
  x = b.flatten("flatten", x);
  x.channels *= 7 * 7;
  x = b.relu("classifier/1", b.gemm("classifier/0", x, 4096, formats::Builder::kBeforeRelu));
  x = b.relu("classifier/4", b.gemm("classifier/3", x, 4096, formats::Builder::kBeforeRelu));
  x = b.gemm("classifier/6", x, 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

void vgg16(formats::Builder& b) { vgg(b, {2, 2, 3, 3, 3}); }
void vgg19(formats::Builder& b) { vgg(b, {2, 2, 4, 4, 4}); }

}  // namespace

std::vector<Recipe> vgg_recipes() {
  return {{"vgg16", "VGG-16", "image classification", "torchvision vgg16", 138357544, 15.47,
           "torchvision model table (VGG16_Weights)", vgg16},
          {"vgg19", "VGG-19", "image classification", "torchvision vgg19", 143667240, 19.63,
           "torchvision model table (VGG19_Weights)", vgg19}};
}

}  // namespace xsp::zoo
