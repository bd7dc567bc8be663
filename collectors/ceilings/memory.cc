#include "collectors/ceilings/memory.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "collectors/ceilings/kernels.h"

namespace xsp::ceilings {
namespace {

constexpr unsigned kThreads = 512;
// For arrays in the cache: an H200 reads 8.5 TB/s with this many threads in a block, and 7.5 TB/s
// with twice as many. Others may be the other way round, so both are tried.
constexpr unsigned kFewThreads = 256;
constexpr unsigned kBlocks = 4;  // blocks per multiprocessor
constexpr unsigned kAtOnce = 4;  // accesses that a thread starts before it waits
constexpr size_t kAccessBytes = 16;
constexpr int kTrials = 8;
constexpr size_t kArrayBytesMax = size_t{2} << 30;
// Three arrays take up at most this part of the free memory.
constexpr size_t kFreeShare = 4;
// An array that is this many times as large as the cache does not fit into it. An array of this
// part of the cache's size stays in it, even where each half of the chip keeps a copy.
constexpr size_t kArrayCaches = 8;
constexpr size_t kCachePart = 3;
constexpr int kCacheRounds = 64;
// Element i of the array is i times this, modulo 2^32: noise to the device, with a known sum.
constexpr uint32_t kNoise = 2654435761u;

// Returns a loop of element-wise accesses: thread t of n handles the vectors t, t + n, t + 2 n, ...
std::string loop_text(const std::string& body) {
  std::string text =
      "mov.u32 %thread, %tid.x;\nmov.u32 %block, %ctaid.x;\nmov.u32 %size, %ntid.x;\n";
  text += "mad.lo.u32 %thread, %block, %size, %thread;\nmov.u32 %block, %nctaid.x;\n";
  text += "mul.lo.u32 %size, %size, %block;\nmul.wide.u32 %first, %thread, 16;\n";
  text += "mul.wide.u32 %stride, %size, 16;\nld.param.u64 %bytes, [bytes];\n";
  text += "ld.param.u64 %to, [to];\nld.param.u64 %a, [a];\nld.param.u64 %b, [b];\n";
  text += "ld.param.u32 %left, [rounds];\nmov.u32 %sum, 0;\n";
  text += "again:\nmov.u64 %at, %first;\nnext:\n" + body;
  text += "setp.lt.u64 %more, %at, %bytes;\n@%more bra next;\n";
  text += "sub.u32 %left, %left, 1;\nsetp.ne.u32 %more, %left, 0;\n@%more bra again;\n";
  return text;
}

std::string entry_text(const char* name) {
  return std::string(".visible .entry ") + name +
         "(.param .u64 to, .param .u64 a, .param .u64 b, .param .u64 bytes, .param .u32 "
         "rounds)\n{\n"
         ".reg .u32 %thread, %block, %size, %left, %sum, %i;\n"
         ".reg .u64 %first, %stride, %bytes, %to, %a, %b, %at, %here, %index;\n"
         ".reg .u32 %v<16>, %w<16>;\n.reg .pred %more;\n";
}

std::string four(const std::string& name, unsigned group) {
  std::string text = "{";
  for (unsigned i = 0; i < 4; ++i) {
    text += (i == 0 ? "%" : ",%") + name + std::to_string(group * 4 + i);
  }
  return text + "}";
}

// Returns the text that loads kAtOnce vectors of an array into its registers.
std::string load_text(const char* array, const char* into, const char* cache) {
  std::string text = "mov.u64 %index, %at;\n";
  for (unsigned i = 0; i < kAtOnce; ++i) {
    text += std::string("add.u64 %here, %") + array + ", %index;\n";
    text += std::string("ld.global.") + cache + ".v4.u32 " + four(into, i) + ", [%here];\n";
    text += "add.u64 %index, %index, %stride;\n";
  }
  return text;
}

std::string store_text() {
  std::string text = "mov.u64 %index, %at;\n";
  for (unsigned i = 0; i < kAtOnce; ++i) {
    text += "add.u64 %here, %to, %index;\nst.global.v4.u32 [%here], " + four("v", i) + ";\n";
    text += "add.u64 %index, %index, %stride;\n";
  }
  return text;
}

std::string each(const std::string& instruction) {
  std::string text;
  for (unsigned i = 0; i < 4 * kAtOnce; ++i) {
    const std::string n = std::to_string(i);
    std::string line = instruction;
    for (size_t at = line.find('#'); at != std::string::npos; at = line.find('#')) {
      line.replace(at, 1, n);
    }
    text += line + "\n";
  }
  return text;
}

std::string fill_text() {
  std::string text = "mov.u64 %index, %at;\n";
  for (unsigned i = 0; i < kAtOnce; ++i) {
    text += "shr.u64 %here, %index, 2;\ncvt.u32.u64 %i, %here;\n";
    for (unsigned k = 0; k < 4; ++k) {
      const std::string v = "%v" + std::to_string(4 * i + k);
      text += "mul.lo.u32 " + v + ", %i, " + std::to_string(kNoise) + ";\nadd.u32 %i, %i, 1;\n";
    }
    text += "add.u64 %index, %index, %stride;\n";
  }
  return text + store_text();
}

constexpr const char* kNext = "mov.u64 %at, %index;\n";
constexpr const char* kAddUp = "red.global.add.u32 [%to], %sum;\nret;\n}\n";
constexpr const char* kReturn = "ret;\n}\n";

uint32_t sum_of(size_t bytes) {
  const uint64_t n = bytes / sizeof(uint32_t);
  const uint64_t pairs = n % 2 == 0 ? (n / 2) * (n - 1) : n * ((n - 1) / 2);
  return static_cast<uint32_t>(pairs) * kNoise;
}

class Bench {
 public:
  explicit Bench(const Device& device)
      : driver_(Driver::get()),
        module_(memory_ptx()),
        result_(sizeof(uint32_t)),
        blocks_(kBlocks * static_cast<unsigned>(device.attribute(Attribute::kMultiprocessors))) {}

  // Returns the bytes that all threads handle in one step of their loops.
  size_t step_bytes() const { return size_t{blocks_} * kThreads * kAtOnce * kAccessBytes; }

  void run(const char* name, Driver::Pointer to, Driver::Pointer a, Driver::Pointer b, size_t bytes,
           uint32_t rounds, unsigned threads = kThreads) const {
    void* parameters[] = {&to, &a, &b, &bytes, &rounds};
    driver_.check(driver_.launch(module_.function(name), blocks_, 1, 1, threads, 1, 1, 0, nullptr,
                                 parameters, nullptr),
                  name);
  }

  // Throws unless the array holds the values of `fill`, times `factor`.
  void check(const Buffer& array, size_t bytes, uint32_t factor, const char* what) {
    result_.clear();
    run("read", result_.address(), array.address(), 0, bytes, 1);
    uint32_t sum = 0;
    const auto data = result_.read(sizeof sum);
    std::memcpy(&sum, data.data(), sizeof sum);
    if (sum == sum_of(bytes) * factor) return;
    throw std::runtime_error(std::string("ceilings: ") + what +
                             ": what the device read is not what was written: not measured");
  }

  // Returns the best of several trials, in bytes per second.
  double rate(const char* name, const Buffer& to, const Buffer& a, const Buffer& b, size_t bytes,
              size_t arrays, int rounds, unsigned threads = kThreads) const {
    Stopwatch watch;
    double best = 0;
    const bool sums = std::strcmp(name, "read") == 0;
    const Driver::Pointer target = sums ? result_.address() : to.address();
    for (int i = 0; i <= kTrials; ++i) {
      watch.start();
      run(name, target, a.address(), b.address(), bytes, static_cast<uint32_t>(rounds), threads);
      const double seconds = watch.stop();
      const double moved = static_cast<double>(bytes * arrays) * rounds;
      if (i > 0 && seconds > 0) best = std::max(best, moved / seconds);  // the first trial warms up
    }
    return best;
  }

 private:
  const Driver& driver_;
  Module module_;
  Buffer result_;
  unsigned blocks_;
};

}  // namespace

std::string memory_ptx() {
  std::string text = ptx_head("7.0", "sm_70");
  text += entry_text("fill") + loop_text(fill_text() + kNext) + kReturn;
  text += entry_text("read") +
          loop_text(load_text("a", "v", "cg") + each("add.u32 %sum, %sum, %v#;") + kNext) + kAddUp;
  text +=
      entry_text("copy") + loop_text(load_text("a", "v", "cg") + store_text() + kNext) + kReturn;
  text += entry_text("triad") +
          loop_text(load_text("a", "v", "cg") + load_text("b", "w", "cg") +
                    each("mad.lo.u32 %v#, %w#, 3, %v#;") + store_text() + kNext) +
          kReturn;
  return text;
}

void measure_memory(const Device& device, const Found& found) {
  const Driver& driver = Driver::get();
  Bench bench(device);
  size_t free_bytes = 0, total_bytes = 0;
  driver.check(driver.memory_info(&free_bytes, &total_bytes), "cuMemGetInfo");
  const auto cache = static_cast<size_t>(device.attribute(Attribute::kL2Bytes));
  const size_t step = bench.step_bytes();
  const auto whole_steps = [step](size_t bytes) { return bytes / step * step; };
  const size_t bytes = whole_steps(std::min(kArrayBytesMax, free_bytes / kFreeShare));
  if (bytes == 0 || bytes < kArrayCaches * cache) {
    throw std::runtime_error(
        "ceilings: memory: too little of the device's memory is free: stop "
        "the other programs that use it");
  }
  Buffer a(bytes), b(bytes), c(bytes);
  bench.run("fill", a.address(), 0, 0, bytes, 1);
  bench.run("fill", b.address(), 0, 0, bytes, 1);
  bench.check(a, bytes, 1, "read");
  const double read = bench.rate("read", c, a, b, bytes, 1, 1);
  const double copy = bench.rate("copy", c, a, b, bytes, 2, 1);
  bench.check(c, bytes, 1, "copy");
  const double triad = bench.rate("triad", c, a, b, bytes, 3, 1);
  bench.check(c, bytes, 4, "triad");
  found("memory_read_bytes_per_s", read);
  found("memory_copy_bytes_per_s", copy);
  found("memory_triad_bytes_per_s", triad);
  found("memory_bytes_per_s", std::max({read, copy, triad}));
  const size_t part = whole_steps(cache / kCachePart);
  if (part == 0) return;
  found("l2_bytes_per_s",
        std::max(bench.rate("read", c, a, b, part, 1, kCacheRounds),
                 bench.rate("read", c, a, b, part, 1, kCacheRounds, kFewThreads)));
}

}  // namespace xsp::ceilings
