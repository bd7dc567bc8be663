// Multiply-adds on the cores. A thread rotates eight points (x, y) around the origin, a little in
// each step:
//
//     x = x + e y;  y = y - e x
//
// A step is two multiply-adds. The points stay bounded for ever, and their coordinates keep
// changing.
#include <cmath>
#include <cstring>

#include "collectors/ceilings/kernels.h"

namespace xsp::ceilings {
namespace {

constexpr int kPoints = 8;
constexpr int kSteps = 8;  // steps of each point in one round
constexpr unsigned kThreads = 256;
constexpr float kStep = 0.0625f;

struct Type {
  const char* peak;
  const char* name;      // the register's type, "f32"
  const char* multiply;  // "fma.rn.f32"
  const char* add;
  const char* step;  // the constant e and -e
  const char* minus_step;
  unsigned bytes;  // bytes of a register
  int lanes;       // numbers in a register
};

constexpr Type kTypes[] = {
    {"fp32_flops_per_s", "f32", "fma.rn.f32", "add.rn.f32", "0f3D800000", "0fBD800000", 4, 1},
    {"fp64_flops_per_s", "f64", "fma.rn.f64", "add.rn.f64", "0d3FB0000000000000",
     "0dBFB0000000000000", 8, 1},
    {"fp16_flops_per_s", "b32", "fma.rn.f16x2", "add.rn.f16x2", "0x2C002C00", "0xAC00AC00", 4, 2},
};

// Returns where the thread's point starts: the thread's number times an odd constant, in 24 bits.
float start_of(uint32_t thread, int coordinate) {
  const uint32_t bits = (thread * 1664525u + static_cast<uint32_t>(coordinate) * 1013904223u) >> 8;
  return static_cast<float>(bits) * 0x1p-24f + 0.25f;
}

std::string start_text(const Type& type) {
  const std::string t = type.name;
  std::string text;
  for (int i = 0; i < 2 * kPoints; ++i) {
    const std::string target =
        (i < kPoints ? "%x" : "%y") + std::to_string(i < kPoints ? i : i - kPoints);
    text += "mad.lo.u32 %h, %thread, 1664525, " +
            std::to_string(static_cast<uint32_t>(i) * 1013904223u) + ";\n";
    text += "shr.u32 %h, %h, 8;\ncvt.rn.f32.u32 %f, %h;\n";
    text += "fma.rn.f32 %f, %f, 0f33800000, 0f3E800000;\n";
    if (t == "f32") text += "mov.f32 " + target + ", %f;\n";
    if (t == "f64") text += "cvt.f64.f32 " + target + ", %f;\n";
    if (t == "b32") {
      text += "cvt.rn.f16.f32 %half, %f;\nmov.b32 " + target + ", {%half, %half};\n";
    }
  }
  return text;
}

std::string round_text(const Type& type) {
  const std::string multiply = type.multiply;
  std::string text;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kPoints; ++i) {
      const std::string n = std::to_string(i);
      text += multiply + " %x" + n + ", %e, %y" + n + ", %x" + n + ";\n";
    }
    for (int i = 0; i < kPoints; ++i) {
      const std::string n = std::to_string(i);
      text += multiply + " %y" + n + ", %m, %x" + n + ", %y" + n + ";\n";
    }
  }
  return text;
}

std::string ptx_of(const Type& type) {
  const std::string t = type.name;
  std::string text = ptx_head("7.0", "sm_70");
  text += ".visible .entry work(.param .u64 result, .param .u64 operands, .param .u32 rounds)\n{\n";
  text += ".reg ." + t + " %x<" + std::to_string(kPoints) + ">, %y<" + std::to_string(kPoints) +
          ">, %e, %m;\n";
  text += ".reg .f32 %f;\n.reg .b16 %half;\n.reg .u32 %h, %thread, %block, %size, %left;\n";
  text += ".reg .u64 %at, %offset;\n.reg .pred %more;\n";
  text += "ld.param.u64 %at, [result];\nld.param.u32 %left, [rounds];\n";
  text += "mov.u32 %thread, %tid.x;\nmov.u32 %block, %ctaid.x;\nmov.u32 %size, %ntid.x;\n";
  text += "mad.lo.u32 %thread, %block, %size, %thread;\n" + start_text(type);
  text += "mov." + t + " %e, " + type.step + ";\nmov." + t + " %m, " + type.minus_step + ";\n";
  text += "again:\n" + round_text(type);
  text += "sub.u32 %left, %left, 1;\nsetp.ne.u32 %more, %left, 0;\n@%more bra again;\n";
  for (int i = 0; i < kPoints; ++i) {
    const std::string n = std::to_string(i);
    text += std::string(type.add) + " %x" + n + ", %x" + n + ", %y" + n + ";\n";
    if (i > 0) text += std::string(type.add) + " %x0, %x0, %x" + n + ";\n";
  }
  text += "mul.wide.u32 %offset, %thread, " + std::to_string(type.bytes) + ";\n";
  text += "add.u64 %at, %at, %offset;\nst.global." + t + " [%at], %x0;\nret;\n}\n";
  return text;
}

// Computes the thread's result after so many rounds on the host, in the same order, so that all
// bits are equal.
template <typename T>
T emulate(uint32_t thread, uint32_t rounds) {
  T x[kPoints], y[kPoints];
  for (int i = 0; i < kPoints; ++i) {
    x[i] = static_cast<T>(start_of(thread, i));
    y[i] = static_cast<T>(start_of(thread, i + kPoints));
  }
  const auto e = static_cast<T>(kStep);
  for (uint32_t step = 0; step < rounds * kSteps; ++step) {
    for (int i = 0; i < kPoints; ++i) x[i] = std::fma(e, y[i], x[i]);
    for (int i = 0; i < kPoints; ++i) y[i] = std::fma(-e, x[i], y[i]);
  }
  T sum = x[0] + y[0];
  for (int i = 1; i < kPoints; ++i) sum += x[i] + y[i];
  return sum;
}

template <typename T>
bool is_exact(uint32_t thread, uint32_t rounds, const uint8_t* result) {
  T value;
  std::memcpy(&value, result, sizeof value);
  return value == emulate<T>(thread, rounds);
}

// Half precision rounds differently from this emulation, by 2^-11 in each step.
bool is_near(uint32_t thread, uint32_t rounds, const uint8_t* result) {
  uint16_t bits;
  std::memcpy(&bits, result, sizeof bits);
  const int exponent = bits >> 10 & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  const double value = (bits & 0x8000) != 0 ? -size : size;
  constexpr double kTolerance = 0.25;  // tolerance of a sum of 16 numbers up to 1.8
  return exponent != 31 && std::fabs(value - emulate<double>(thread, rounds)) < kTolerance;
}

}  // namespace

std::vector<Kernel> vector_kernels(int capability) {
  std::vector<Kernel> kernels;
  if (capability < 70) return kernels;
  for (const Type& type : kTypes) {
    Kernel kernel;
    kernel.peak = type.peak;
    kernel.what = type.multiply;
    kernel.ptx = ptx_of(type);
    kernel.threads = kThreads;
    kernel.operations = 2.0 * 2 * kPoints * kSteps * type.lanes * kThreads;
    kernel.result_bytes = type.bytes;
    kernel.check_rounds = 4;
    const uint32_t rounds = kernel.check_rounds;
    const bool is_double = type.bytes == 8, is_half = type.lanes == 2;
    kernel.is_right = [=](size_t thread, const uint8_t* result) {
      const auto id = static_cast<uint32_t>(thread);
      return is_double ? is_exact<double>(id, rounds, result)
             : is_half ? is_near(id, rounds, result)
                       : is_exact<float>(id, rounds, result);
    };
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace xsp::ceilings
