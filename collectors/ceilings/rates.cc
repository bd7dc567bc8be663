#include "collectors/ceilings/rates.h"

#include <array>

namespace xsp::ceilings {
namespace {

// Sources. Cores: NVIDIA, "CUDA C++ Programming Guide", section "Arithmetic Instructions", the
// table of results per clock cycle per multiprocessor. Tensor cores, dense, with accumulation in
// fp32 (int32, fp64): NVIDIA's white papers of the architectures Volta, Turing, A100, GA102, Ada,
// H100 and Blackwell, their peak rates divided by multiprocessors and boost clock. Boards of one
// capability may differ (some have half the rate when they accumulate in fp32): the table has the
// rates of the faster board. clang-format off
constexpr std::array kRates = {
    //   capability  fp64 fp32 fp16   tensor: fp64 tf32 fp16 bf16   fp8  int8
    Rates{70, 64, 128, 256, 0, 0, 1024, 0, 0, 0},
    Rates{75, 4, 128, 256, 0, 0, 1024, 0, 0, 2048},
    Rates{80, 64, 128, 512, 128, 1024, 2048, 2048, 0, 4096},
    Rates{86, 4, 256, 256, 0, 512, 1024, 1024, 0, 2048},
    Rates{89, 4, 256, 256, 0, 512, 1024, 1024, 2048, 2048},
    Rates{90, 128, 256, 512, 256, 2048, 4096, 4096, 8192, 8192},
    Rates{100, 128, 256, 512, 128, 4096, 8192, 8192, 16384, 16384},
};
// clang-format on

}  // namespace

const Rates* rates_of(int capability) {
  for (const Rates& rates : kRates) {
    if (rates.capability == capability) return &rates;
  }
  return nullptr;
}

std::vector<std::pair<std::string, int>> named(const Rates& rates) {
  const std::vector<std::pair<std::string, int>> all = {
      {"fp64_flops_per_s", rates.fp64},
      {"fp32_flops_per_s", rates.fp32},
      {"fp16_flops_per_s", rates.fp16},
      {"fp64_tensor_flops_per_s", rates.fp64_tensor},
      {"tf32_tensor_flops_per_s", rates.tf32_tensor},
      {"fp16_tensor_flops_per_s", rates.fp16_tensor},
      {"bf16_tensor_flops_per_s", rates.bf16_tensor},
      {"fp8_tensor_flops_per_s", rates.fp8_tensor},
      {"int8_tensor_ops_per_s", rates.int8_tensor},
  };
  std::vector<std::pair<std::string, int>> known;
  for (const auto& one : all) {
    if (one.second > 0) known.push_back(one);
  }
  return known;
}

}  // namespace xsp::ceilings
