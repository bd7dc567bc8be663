// Repeated products of matrices on the tensor cores, D = A B + D, by the two instructions that
// exist. One warp executes mma.sync with operands in registers; all capabilities from 7.5 on have
// it. Four warps execute wgmma with operands in shared memory; only wgmma reaches the ceiling of
// compute capability 9.0. Source: NVIDIA, "Parallel Thread Execution ISA", "Warp Level Matrix
// Instructions" and "Asynchronous Warpgroup Level Matrix Instructions".
#include <cmath>
#include <cstring>
#include <map>

#include "collectors/ceilings/kernels.h"

namespace xsp::ceilings {
namespace {

constexpr int kTiles = 8;  // accumulators of a warp: products that do not wait for each other
constexpr unsigned kWarps = 8;
constexpr unsigned kWarpSize = 32;

enum class Format { kFp64, kTf32, kFp16, kBf16, kFp8, kInt8 };

unsigned bytes_of(Format format) {
  switch (format) {
    case Format::kFp64:
      return 8;
    case Format::kTf32:
      return 4;
    case Format::kFp16:
    case Format::kBf16:
      return 2;
    default:
      return 1;
  }
}

// Appends one number: 1, or a random number of either sign.
void append(Format format, bool is_one, Random* random, std::vector<uint8_t>* bytes) {
  const uint32_t bits = random->next();
  // The number has an exponent near 0, a random sign and as many digits as the format has.
  const uint32_t fp32 = is_one ? 0x3f800000u : (bits & 0x807fffffu) | 0x3f000000u;
  uint64_t value = 0;
  switch (format) {
    case Format::kFp64:
      value = is_one ? 0x3ff0000000000000u
                     : (uint64_t{bits & 0x800fffffu} << 32) | 0x3fe0000000000000u | random->next();
      break;
    case Format::kTf32:
      value = fp32;
      break;
    case Format::kFp16:
      value = is_one ? 0x3c00u : (bits & 0x83ffu) | 0x3800u;
      break;
    case Format::kBf16:
      value = fp32 >> 16;
      break;
    case Format::kFp8:  // e4m3
      value = is_one ? 0x38u : (bits & 0x87u) | 0x30u;
      break;
    case Format::kInt8:
      value = is_one ? 1u : bits & 0xffu;
      break;
  }
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), first, first + bytes_of(format));
}

std::vector<uint8_t> operands(Format format, size_t bytes, bool is_one) {
  Random random(7);
  std::vector<uint8_t> data;
  while (data.size() < bytes) append(format, is_one, &random, &data);
  return data;
}

// If all operands are ones, every element of D is the length of all sums together.
std::function<bool(size_t, const uint8_t*)> equals(const std::string& type, double expected) {
  return [=](size_t, const uint8_t* result) {
    if (type == "f64") {
      double value;
      std::memcpy(&value, result, sizeof value);
      return value == expected;
    }
    if (type == "f32") {
      float value;
      std::memcpy(&value, result, sizeof value);
      return static_cast<double>(value) == expected;
    }
    int32_t value;
    std::memcpy(&value, result, sizeof value);
    return static_cast<double>(value) == expected;
  };
}

// ---- mma.sync

struct Shape {
  const char* peak;
  const char* name;  // the instruction's suffix, behind mma.sync.aligned.
  Format format;
  const char* result;  // type of D's elements
  int a, b, d;         // registers of a thread
  int m, n, k;
  int capability;       // the lowest compute capability
  const char* version;  // PTX version
};

constexpr Shape kShapes[] = {
    {"fp16_tensor_flops_per_s", "m16n8k8.row.col.f32.f16.f16.f32", Format::kFp16, "f32", 2, 1, 4,
     16, 8, 8, 75, "7.0"},
    {"fp16_tensor_flops_per_s", "m16n8k16.row.col.f32.f16.f16.f32", Format::kFp16, "f32", 4, 2, 4,
     16, 8, 16, 80, "7.0"},
    {"bf16_tensor_flops_per_s", "m16n8k16.row.col.f32.bf16.bf16.f32", Format::kBf16, "f32", 4, 2, 4,
     16, 8, 16, 80, "7.0"},
    {"tf32_tensor_flops_per_s", "m16n8k8.row.col.f32.tf32.tf32.f32", Format::kTf32, "f32", 4, 2, 4,
     16, 8, 8, 80, "7.0"},
    {"int8_tensor_ops_per_s", "m16n8k32.row.col.s32.s8.s8.s32", Format::kInt8, "s32", 4, 2, 4, 16,
     8, 32, 80, "7.0"},
    {"fp8_tensor_flops_per_s", "m16n8k32.row.col.f32.e4m3.e4m3.f32", Format::kFp8, "f32", 4, 2, 4,
     16, 8, 32, 89, "8.4"},
    {"fp64_tensor_flops_per_s", "m8n8k4.row.col.f64.f64.f64.f64", Format::kFp64, "f64", 1, 1, 2, 8,
     8, 4, 80, "7.0"},
    {"fp64_tensor_flops_per_s", "m16n8k16.row.col.f64.f64.f64.f64", Format::kFp64, "f64", 8, 4, 4,
     16, 8, 16, 90, "7.8"},
};

// Counts a thread's registers of A and B, which lie next to each other in the operands.
int operand_registers(const Shape& shape) { return shape.a + kTiles * shape.b; }

std::string tile(const std::string& name, int number, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "%" : ",%") + name + std::to_string(number * count + i);
  }
  return text + "}";
}

// Returns the text that adds d0 ... d<count-1> into d0 and stores it.
std::string result_text(const std::string& type, int count) {
  const bool is_integer = type == "s32";
  std::string text;
  for (int i = 1; i < count; ++i) {
    text += "add." + std::string(is_integer ? "s32" : "rn." + type) + " %d0, %d0, %d" +
            std::to_string(i) + ";\n";
  }
  text += "ld.param.u64 %at, [result];\nmov.u32 %block, %ctaid.x;\nmov.u32 %size, %ntid.x;\n";
  text += "mad.lo.u32 %thread, %block, %size, %thread;\n";
  text += "mul.wide.u32 %offset, %thread, " + std::string(type == "f64" ? "8" : "4") + ";\n";
  text += "add.u64 %at, %at, %offset;\nst.global." + type + " [%at], %d0;\nret;\n}\n";
  return text;
}

std::string zeros(const std::string& type, int count) {
  const std::string zero = type == "f64"   ? "0d0000000000000000"
                           : type == "f32" ? "0f00000000"
                                           : "0";
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "mov." + type + " %d" + std::to_string(i) + ", " + zero + ";\n";
  }
  return text;
}

constexpr const char* kEntry =
    ".visible .entry work(.param .u64 result, .param .u64 operands, .param .u32 rounds)\n{\n"
    ".reg .u32 %thread, %block, %size, %left;\n.reg .u64 %at, %offset;\n.reg .pred %more;\n";
constexpr const char* kAgain =
    "sub.u32 %left, %left, 1;\nsetp.ne.u32 %more, %left, 0;\n@%more bra again;\n";

constexpr int kProducts = 4;  // products of each tile in one round

std::string mma_ptx(const Shape& shape) {
  const std::string result = shape.result;
  const std::string type = shape.format == Format::kFp64 ? "f64" : "b32";
  const int b_total = kTiles * shape.b, d_total = kTiles * shape.d;
  const int stride = operand_registers(shape) * (type == "f64" ? 8 : 4);
  std::string text = ptx_head(shape.version, "sm_" + std::to_string(shape.capability)) + kEntry;
  text += ".reg ." + type + " %a<" + std::to_string(shape.a) + ">, %b<" + std::to_string(b_total) +
          ">;\n.reg ." + result + " %d<" + std::to_string(d_total) + ">;\n";
  text += "mov.u32 %thread, %tid.x;\nld.param.u64 %at, [operands];\n";
  text += "mul.wide.u32 %offset, %thread, " + std::to_string(stride) + ";\n";
  text += "add.u64 %at, %at, %offset;\n";
  for (int i = 0; i < operand_registers(shape); ++i) {
    const bool is_a = i < shape.a;
    text += "ld.global." + type + (is_a ? " %a" : " %b") + std::to_string(is_a ? i : i - shape.a) +
            ", [%at+" + std::to_string(i * (type == "f64" ? 8 : 4)) + "];\n";
  }
  text += zeros(result, d_total) + "ld.param.u32 %left, [rounds];\nagain:\n";
  for (int product = 0; product < kProducts; ++product) {
    for (int i = 0; i < kTiles; ++i) {
      const std::string d = tile("d", i, shape.d);
      text += std::string("mma.sync.aligned.") + shape.name + " " + d + ", " +
              registers("a", shape.a) + ", " + tile("b", i, shape.b) + ", " + d + ";\n";
    }
  }
  return text + kAgain + result_text(result, d_total);
}

Kernel mma_kernel(const Shape& shape) {
  Kernel kernel;
  kernel.peak = shape.peak;
  kernel.what = std::string("mma.sync ") + shape.name;
  kernel.ptx = mma_ptx(shape);
  kernel.threads = kWarps * kWarpSize;
  kernel.operations = 2.0 * shape.m * shape.n * shape.k * kTiles * kProducts * kWarps;
  const unsigned register_bytes = shape.format == Format::kFp64 ? 8 : 4;
  const size_t bytes =
      size_t{kernel.threads} * static_cast<size_t>(operand_registers(shape)) * register_bytes;
  kernel.random_operands = operands(shape.format, bytes, false);
  kernel.check_operands = operands(shape.format, bytes, true);
  kernel.result_bytes = shape.format == Format::kFp64 ? 8 : 4;
  kernel.check_rounds = 2;
  kernel.is_right =
      equals(shape.result, 1.0 * kernel.check_rounds * kProducts * shape.k * kTiles * shape.d);
  return kernel;
}

// ---- wgmma: a group of four warps computes 64 x 256 results from tiles with 128 bytes of k

struct Wide {
  const char* peak;
  const char* name;  // the suffix behind wgmma.mma_async.sync.aligned.m64n256
  Format format;
  const char* result;
  const char* scales;  // operands behind the descriptors and the predicate
};

constexpr Wide kWide[] = {
    {"fp16_tensor_flops_per_s", "k16.f32.f16.f16", Format::kFp16, "f32", ", 1, 1, 0, 0"},
    {"bf16_tensor_flops_per_s", "k16.f32.bf16.bf16", Format::kBf16, "f32", ", 1, 1, 0, 0"},
    {"tf32_tensor_flops_per_s", "k8.f32.tf32.tf32", Format::kTf32, "f32", ", 1, 1"},
    {"fp8_tensor_flops_per_s", "k32.f32.e4m3.e4m3", Format::kFp8, "f32", ", 1, 1"},
    {"int8_tensor_ops_per_s", "k32.s32.s8.s8", Format::kInt8, "s32", ""},
};

constexpr unsigned kGroups = 2;  // groups of warps in a block: one computes while the other waits
constexpr unsigned kGroupThreads = 128;
constexpr unsigned kRows = 64, kColumns = 256;
constexpr unsigned kRowBytes = 128;  // bytes of k in a row of A or a column of B
constexpr unsigned kStepBytes = 32;  // bytes of k that one instruction handles
constexpr unsigned kSteps = kRowBytes / kStepBytes;
constexpr int kWideProducts = 4;  // products of the whole tile in one round
constexpr int kAccumulators = kRows * kColumns / kGroupThreads;
constexpr unsigned kTileBytes = (kRows + kColumns) * kRowBytes;

// A matrix descriptor: the address in units of 16 bytes, the distance from eight rows of 128 bytes
// to the next eight, and a swizzle of the rows by 128 bytes, so that no two threads want the same
// bank.
constexpr uint64_t kDescriptor =
    (uint64_t{1} << 62) | (uint64_t{8 * kRowBytes / 16} << 32) | (uint64_t{1} << 16);

std::string copy_tile_text() {
  std::string text = ".extern .shared .align 1024 .b8 tile[];\n";
  text += kEntry;
  text += ".reg .u32 %base, %to, %count;\n.reg .u64 %a, %b, %here;\n.reg .b32 %v<4>;\n";
  text += ".reg .pred %yes, %rest;\n";
  text += "mov.u32 %base, tile;\nmov.u32 %thread, %tid.x;\nld.param.u64 %at, [operands];\n";
  text += "shl.b32 %count, %thread, 4;\ncopy:\ncvt.u64.u32 %offset, %count;\n";
  text += "add.u64 %here, %at, %offset;\nld.global.v4.b32 {%v0,%v1,%v2,%v3}, [%here];\n";
  text += "add.u32 %to, %base, %count;\nst.shared.v4.b32 [%to], {%v0,%v1,%v2,%v3};\n";
  text += "add.u32 %count, %count, " + std::to_string(kGroups * kGroupThreads * 16) + ";\n";
  text += "setp.lt.u32 %rest, %count, " + std::to_string(kTileBytes) + ";\n@%rest bra copy;\n";
  // Only after this fence do the asynchronous reads see data that was written in the usual way.
  text += "fence.proxy.async.shared::cta;\nbar.sync 0;\n";
  text += "shr.u32 %to, %base, 4;\ncvt.u64.u32 %a, %to;\n";
  text += "or.b64 %a, %a, " + std::to_string(kDescriptor) + ";\n";
  text += "add.u64 %b, %a, " + std::to_string(kRows * kRowBytes / 16) + ";\n";
  text += "setp.eq.u32 %yes, %thread, %thread;\n";
  return text;
}

std::string wgmma_ptx(const Wide& wide) {
  const std::string result = wide.result;
  std::string text = ptx_head("8.0", "sm_90a") + copy_tile_text();
  for (unsigned step = 0; step < kSteps; ++step) {
    const std::string n = std::to_string(step);
    const std::string units = std::to_string(step * kStepBytes / 16);
    text += ".reg .u64 %a" + n + ", %b" + n + ";\nadd.u64 %a" + n + ", %a, " + units +
            ";\nadd.u64 %b" + n + ", %b, " + units + ";\n";
  }
  text += ".reg ." + result + " %d<" + std::to_string(kAccumulators) + ">;\n";
  text += zeros(result, kAccumulators) + "ld.param.u32 %left, [rounds];\nagain:\n";
  text += "wgmma.fence.sync.aligned;\n";
  const std::string d = registers("d", kAccumulators);
  for (int product = 0; product < kWideProducts; ++product) {
    for (unsigned step = 0; step < kSteps; ++step) {
      const std::string n = std::to_string(step);
      text += std::string("wgmma.mma_async.sync.aligned.m64n256") + wide.name + " " + d + ", %a" +
              n + ", %b" + n + ", %yes" + wide.scales + ";\n";
    }
  }
  text += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  return text + kAgain + result_text(result, kAccumulators);
}

Kernel wgmma_kernel(const Wide& wide) {
  Kernel kernel;
  kernel.peak = wide.peak;
  kernel.what = std::string("wgmma m64n256") + wide.name;
  kernel.ptx = wgmma_ptx(wide);
  kernel.threads = kGroups * kGroupThreads;
  kernel.shared_bytes = kTileBytes;
  const double k = kRowBytes / bytes_of(wide.format);  // k of a whole tile
  kernel.operations = 2.0 * kRows * kColumns * k * kWideProducts * kGroups;
  kernel.random_operands = operands(wide.format, kTileBytes, false);
  kernel.check_operands = operands(wide.format, kTileBytes, true);
  kernel.result_bytes = 4;
  kernel.check_rounds = 1;
  kernel.is_right = equals(wide.result, k * kWideProducts * kernel.check_rounds * kAccumulators);
  return kernel;
}

}  // namespace

std::vector<Kernel> tensor_kernels(int capability) {
  // The last shape of a peak is the largest and the fastest. The wide instructions, which exist on
  // this compute capability only, are faster still: on an H200, mma.sync reached 60 % of the rate
  // by attributes (45 % with fp8), and the wide ones reached 82 to 90 %, where power limits the
  // clock.
  std::map<std::string, Kernel> best;
  for (const Shape& shape : kShapes) {
    if (capability >= shape.capability) best[shape.peak] = mma_kernel(shape);
  }
  if (capability == 90) {
    for (const Wide& wide : kWide) best[wide.peak] = wgmma_kernel(wide);
  }
  std::vector<Kernel> kernels;
  for (auto& [peak, kernel] : best) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace xsp::ceilings
