#include "collectors/ceilings/runner.h"

#include <algorithm>
#include <stdexcept>

namespace xsp::ceilings {
namespace {

constexpr int kTrials = 4;
constexpr double kTrialSeconds = 0.008;
constexpr double kWarmSeconds = 0.004;
constexpr size_t kThreadsChecked = 64;

}  // namespace

Runner::Runner(const Device& device, const Kernel& kernel)
    : driver_(Driver::get()),
      kernel_(kernel),
      module_(kernel.ptx),
      function_(module_.function("work")),
      operands_(std::max<size_t>(kernel.random_operands.size(), 16)) {
  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: a kernel must ask for more than 48 KiB.
  constexpr int kSharedBytes = 8;
  if (kernel.shared_bytes > 0) {
    driver_.check(driver_.function_attribute_set(function_, kSharedBytes,
                                                 static_cast<int>(kernel.shared_bytes)),
                  "cuFuncSetAttribute");
  }
  int blocks = 0;
  driver_.check(
      driver_.occupancy(&blocks, function_, static_cast<int>(kernel.threads), kernel.shared_bytes),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  blocks_ =
      static_cast<unsigned>(std::max(1, blocks) * device.attribute(Attribute::kMultiprocessors));
  result_.emplace(size_t{blocks_} * kernel.threads * kernel.result_bytes);
}

void Runner::check() {
  result_->clear();
  if (!kernel_.check_operands.empty()) operands_.write(kernel_.check_operands);
  time(kernel_.check_rounds);
  const auto data = result_->read(result_->bytes());
  const size_t threads = size_t{blocks_} * kernel_.threads;
  for (size_t i = 0; i < kThreadsChecked; ++i) {
    const size_t thread = i * (threads - 1) / (kThreadsChecked - 1);
    if (kernel_.is_right(thread, data.data() + thread * kernel_.result_bytes)) continue;
    throw std::runtime_error("ceilings: " + kernel_.what +
                             ": the device's results are wrong: not measured");
  }
}

double Runner::rate() {
  if (!kernel_.random_operands.empty()) operands_.write(kernel_.random_operands);
  uint32_t rounds = 64;
  double seconds = time(rounds);
  while (seconds < kWarmSeconds && rounds < (1u << 30)) {
    rounds *= 4;
    seconds = time(rounds);
  }
  const double wanted = rounds * kTrialSeconds / seconds;
  rounds = static_cast<uint32_t>(std::max(1.0, wanted));
  double best = 0;
  for (int i = 0; i < kTrials; ++i) {
    best = std::max(best, kernel_.operations * rounds * blocks_ / time(rounds));
  }
  return best;
}

double Runner::time(uint32_t rounds) {
  Driver::Pointer result = result_->address(), operands = operands_.address();
  void* parameters[] = {&result, &operands, &rounds};
  watch_.start();
  driver_.check(driver_.launch(function_, blocks_, 1, 1, kernel_.threads, 1, 1,
                               kernel_.shared_bytes, nullptr, parameters, nullptr),
                kernel_.what.c_str());
  return watch_.stop();
}

}  // namespace xsp::ceilings
