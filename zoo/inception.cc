// Inception v3 (Szegedy et al. 2015), without the auxiliary classifier, which inference does not
// run.
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr double kEpsilon = 1e-3;

// Adds convolution, batch normalisation and ReLU, of which all of Inception is made.
formats::Value basic(formats::Builder& b, const std::string& name, const formats::Value& x,
                     int64_t channels, const formats::Window& window = {}) {
  const formats::Value y = b.conv(name + "/conv", x, channels, window);
  return b.relu(name + "/relu", b.batch_norm(name + "/bn", y, kEpsilon));
}

formats::Window square(int64_t kernel, int64_t stride, int64_t pad) {
  return {kernel, stride, pad};
}
formats::Window row(int64_t width) { return {1, 1, 0, 1, false, width, width / 2}; }
formats::Window column(int64_t height) { return {height, 1, height / 2, 1, false, 1, 0}; }

formats::Value pool_branch(formats::Builder& b, const std::string& name, const formats::Value& x,
                           int64_t channels) {
  const formats::Value pooled = b.average_pool(name + "/avg_pool", x, {3, 1, 1});
  return basic(b, name + "/branch_pool", pooled, channels);
}

formats::Value inception_a(formats::Builder& b, const std::string& name, const formats::Value& x,
                           int64_t pool_channels) {
  const formats::Value one = basic(b, name + "/branch1x1", x, 64);
  formats::Value five = basic(b, name + "/branch5x5_1", x, 48);
  five = basic(b, name + "/branch5x5_2", five, 64, square(5, 1, 2));
  formats::Value three = basic(b, name + "/branch3x3dbl_1", x, 64);
  three = basic(b, name + "/branch3x3dbl_2", three, 96, square(3, 1, 1));
  three = basic(b, name + "/branch3x3dbl_3", three, 96, square(3, 1, 1));
  return b.concat(name + "/concat", {one, five, three, pool_branch(b, name, x, pool_channels)});
}

formats::Value inception_b(formats::Builder& b, const std::string& name, const formats::Value& x) {
  const formats::Value three = basic(b, name + "/branch3x3", x, 384, square(3, 2, 0));
  formats::Value twice = basic(b, name + "/branch3x3dbl_1", x, 64);
  twice = basic(b, name + "/branch3x3dbl_2", twice, 96, square(3, 1, 1));
  twice = basic(b, name + "/branch3x3dbl_3", twice, 96, square(3, 2, 0));
  return b.concat(name + "/concat", {three, twice, b.max_pool(name + "/max_pool", x, {3, 2})});
}

formats::Value inception_c(formats::Builder& b, const std::string& name, const formats::Value& x,
                           int64_t width) {
  const formats::Value one = basic(b, name + "/branch1x1", x, 192);
  formats::Value seven = basic(b, name + "/branch7x7_1", x, width);
  seven = basic(b, name + "/branch7x7_2", seven, width, row(7));
  seven = basic(b, name + "/branch7x7_3", seven, 192, column(7));
  formats::Value twice = basic(b, name + "/branch7x7dbl_1", x, width);
  twice = basic(b, name + "/branch7x7dbl_2", twice, width, column(7));
  twice = basic(b, name + "/branch7x7dbl_3", twice, width, row(7));
  twice = basic(b, name + "/branch7x7dbl_4", twice, width, column(7));
  twice = basic(b, name + "/branch7x7dbl_5", twice, 192, row(7));
  return b.concat(name + "/concat", {one, seven, twice, pool_branch(b, name, x, 192)});
}

formats::Value inception_d(formats::Builder& b, const std::string& name, const formats::Value& x) {
  formats::Value three = basic(b, name + "/branch3x3_1", x, 192);
  three = basic(b, name + "/branch3x3_2", three, 320, square(3, 2, 0));
  formats::Value seven = basic(b, name + "/branch7x7x3_1", x, 192);
  seven = basic(b, name + "/branch7x7x3_2", seven, 192, row(7));
  seven = basic(b, name + "/branch7x7x3_3", seven, 192, column(7));
  seven = basic(b, name + "/branch7x7x3_4", seven, 192, square(3, 2, 0));
  return b.concat(name + "/concat", {three, seven, b.max_pool(name + "/max_pool", x, {3, 2})});
}

formats::Value inception_e(formats::Builder& b, const std::string& name, const formats::Value& x) {
  const formats::Value one = basic(b, name + "/branch1x1", x, 320);
  const formats::Value three = basic(b, name + "/branch3x3_1", x, 384);
  const formats::Value three_both = b.concat(
      name + "/branch3x3_concat", {basic(b, name + "/branch3x3_2a", three, 384, row(3)),
                                   basic(b, name + "/branch3x3_2b", three, 384, column(3))});
  formats::Value twice = basic(b, name + "/branch3x3dbl_1", x, 448);
  twice = basic(b, name + "/branch3x3dbl_2", twice, 384, square(3, 1, 1));
  const formats::Value twice_both = b.concat(
      name + "/branch3x3dbl_concat", {basic(b, name + "/branch3x3dbl_3a", twice, 384, row(3)),
                                      basic(b, name + "/branch3x3dbl_3b", twice, 384, column(3))});
  return b.concat(name + "/concat", {one, three_both, twice_both, pool_branch(b, name, x, 192)});
}

void inception_v3(formats::Builder& b) {
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(299), formats::fixed(299)});
  x = basic(b, "Conv2d_1a_3x3", x, 32, square(3, 2, 0));
  x = basic(b, "Conv2d_2a_3x3", x, 32, square(3, 1, 0));
  x = basic(b, "Conv2d_2b_3x3", x, 64, square(3, 1, 1));
  x = b.max_pool("maxpool1", x, {3, 2});
  x = basic(b, "Conv2d_3b_1x1", x, 80);
  x = basic(b, "Conv2d_4a_3x3", x, 192, square(3, 1, 0));
  x = b.max_pool("maxpool2", x, {3, 2});
  x = inception_a(b, "Mixed_5b", x, 32);
  x = inception_a(b, "Mixed_5c", x, 64);
  x = inception_a(b, "Mixed_5d", x, 64);
  x = inception_b(b, "Mixed_6a", x);
  x = inception_c(b, "Mixed_6b", x, 128);
  x = inception_c(b, "Mixed_6c", x, 160);
  x = inception_c(b, "Mixed_6d", x, 160);
  x = inception_c(b, "Mixed_6e", x, 192);
  x = inception_d(b, "Mixed_7a", x);
  x = inception_e(b, "Mixed_7b", x);
  x = inception_e(b, "Mixed_7c", x);
  x = b.gemm("fc", b.flatten("flatten", b.global_average_pool("avgpool", x)), 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

}  // namespace

std::vector<Recipe> inception_recipes() {
  return {
      {"inception_v3", "Inception v3", "image classification",
       "torchvision inception_v3 in inference: no auxiliary classifier", 23834568, 5.71,
       "torchvision model table (27,161,264 parameters, less the auxiliary classifier's 3,326,696)",
       inception_v3}};
}

}  // namespace xsp::zoo
