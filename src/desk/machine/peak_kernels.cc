#include "desk/machine/peak_kernels.h"

#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace xsp::machine {
namespace {

// Twelve chains: enough for two units with a latency of up to six cycles, and they fit into sixteen
// registers.
constexpr double kChains = 12;
#define XSP_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

// Each chain is x = x * 0.5 + 1, which settles at 2, so no value overflows or is denormal. The
// compiler must not know that all chains begin alike: it would compute only one of them.
#define XSP_CHAIN_BEGIN(i)           \
  auto begin##i = begin_value;       \
  asm volatile("" : "+m"(begin##i)); \
  auto x##i = begin##i;
#define XSP_CHAIN_STEP(i) x##i = XSP_STEP(x##i);
#define XSP_CHAIN_SUM(i) total += first_lane(x##i);

// Defines one loop. TARGET names instruction sets, BEGIN starts a chain, XSP_STEP must be defined
// around it.
#define XSP_LOOP(FUNCTION, TARGET, CONSTANTS, BEGIN)                 \
  __attribute__((target(TARGET))) double FUNCTION(uint64_t rounds) { \
    CONSTANTS                                                        \
    const auto begin_value = BEGIN;                                  \
    XSP_CHAINS(XSP_CHAIN_BEGIN)                                      \
    for (uint64_t round = 0; round < rounds; ++round) {              \
      XSP_CHAINS(XSP_CHAIN_STEP)                                     \
    }                                                                \
    double total = 0;                                                \
    XSP_CHAINS(XSP_CHAIN_SUM)                                        \
    return total;                                                    \
  }

using Float4 = float __attribute__((vector_size(16)));
using Double2 = double __attribute__((vector_size(16)));

template <typename Vector>
double first_lane(const Vector& x) {
  return static_cast<double>(x[0]);
}

bool always() { return true; }

// Every processor that this is built for has 16-byte vectors.
double fp32_baseline(uint64_t rounds) {
  const Float4 half = {0.5f, 0.5f, 0.5f, 0.5f};
  const Float4 one = {1, 1, 1, 1};
  const Float4 begin_value = one;
#define XSP_STEP(x) (x) * half + one
  XSP_CHAINS(XSP_CHAIN_BEGIN)
  for (uint64_t round = 0; round < rounds; ++round) {
    XSP_CHAINS(XSP_CHAIN_STEP)
  }
  double total = 0;
  XSP_CHAINS(XSP_CHAIN_SUM)
  return total;
}

double fp64_baseline(uint64_t rounds) {
  const Double2 half = {0.5, 0.5};
  const Double2 one = {1, 1};
  const Double2 begin_value = one;
  XSP_CHAINS(XSP_CHAIN_BEGIN)
  for (uint64_t round = 0; round < rounds; ++round) {
    XSP_CHAINS(XSP_CHAIN_STEP)
  }
  double total = 0;
  XSP_CHAINS(XSP_CHAIN_SUM)
  return total;
}
#undef XSP_STEP

#if defined(__x86_64__)

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

// Returns whether the processor also multiplies narrow types by tiles (AMX). Then vectors are not
// its fastest way, and their rate is not a ceiling.
bool has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & (1u << 24)) != 0;
}
bool has_avx512_vnni() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni") && !has_tiles();
}
bool has_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") && !has_tiles();
}

#define XSP_STEP(x) _mm256_fmadd_ps(x, half, one)
XSP_LOOP(fp32_avx2, "avx2,fma", const __m256 half = _mm256_set1_ps(0.5f);
         const __m256 one = _mm256_set1_ps(1.0f);, one)
#undef XSP_STEP
#define XSP_STEP(x) _mm256_fmadd_pd(x, half, one)
XSP_LOOP(fp64_avx2, "avx2,fma", const __m256d half = _mm256_set1_pd(0.5);
         const __m256d one = _mm256_set1_pd(1.0);, one)
#undef XSP_STEP
#define XSP_STEP(x) _mm512_fmadd_ps(x, half, one)
XSP_LOOP(fp32_avx512, "avx512f", const __m512 half = _mm512_set1_ps(0.5f);
         const __m512 one = _mm512_set1_ps(1.0f);, one)
#undef XSP_STEP
#define XSP_STEP(x) _mm512_fmadd_pd(x, half, one)
XSP_LOOP(fp64_avx512, "avx512f", const __m512d half = _mm512_set1_pd(0.5);
         const __m512d one = _mm512_set1_pd(1.0);, one)
#undef XSP_STEP
// Adds products of four bytes each. The sums wrap around, which costs no time.
#define XSP_STEP(x) _mm512_dpbusd_epi32(x, bytes, bytes)
XSP_LOOP(int8_avx512_vnni, "avx512f,avx512vnni", const __m512i bytes = _mm512_set1_epi8(1);
         , _mm512_setzero_si512())
#undef XSP_STEP
// Adds products of two values each.
#define XSP_STEP(x) _mm512_dpbf16_ps(x, halves, halves)
XSP_LOOP(bf16_avx512, "avx512f,avx512bf16",
         const __m512bh halves = _mm512_cvtne2ps_pbh(_mm512_setzero_ps(), _mm512_setzero_ps());
         , _mm512_setzero_ps())
#undef XSP_STEP

constexpr std::array kLoops = {
    ArithmeticLoop{"fp32_flops_per_s", "avx512f", has_avx512, fp32_avx512, kChains * 16 * 2},
    ArithmeticLoop{"fp32_flops_per_s", "avx2+fma", has_avx2, fp32_avx2, kChains * 8 * 2},
    ArithmeticLoop{"fp32_flops_per_s", "sse2", always, fp32_baseline, kChains * 4 * 2},
    ArithmeticLoop{"fp64_flops_per_s", "avx512f", has_avx512, fp64_avx512, kChains * 8 * 2},
    ArithmeticLoop{"fp64_flops_per_s", "avx2+fma", has_avx2, fp64_avx2, kChains * 4 * 2},
    ArithmeticLoop{"fp64_flops_per_s", "sse2", always, fp64_baseline, kChains * 2 * 2},
    ArithmeticLoop{"bf16_flops_per_s", "avx512bf16", has_avx512_bf16, bf16_avx512,
                   kChains * 32 * 2},
    ArithmeticLoop{"int8_operations_per_s", "avx512vnni", has_avx512_vnni, int8_avx512_vnni,
                   kChains * 64 * 2},
};

#else

constexpr std::array kLoops = {
    ArithmeticLoop{"fp32_flops_per_s", "baseline", always, fp32_baseline, kChains * 4 * 2},
    ArithmeticLoop{"fp64_flops_per_s", "baseline", always, fp64_baseline, kChains * 2 * 2},
};

#endif

// Stores without first reading the cache line that it fills.
inline void store_past_caches(Double2* target, Double2 value) {
#if defined(__x86_64__)
  _mm_stream_pd(reinterpret_cast<double*>(target), reinterpret_cast<__m128d>(value));
#else
  *target = value;
#endif
}

}  // namespace

std::span<const ArithmeticLoop> arithmetic_loops() { return kLoops; }

double read_stream(const double* a, size_t count) {
  const Double2* at = reinterpret_cast<const Double2*>(a);
  Double2 s0 = {0, 0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (size_t i = 0; i < count / 2; i += 8) {
    s0 += at[i];
    s1 += at[i + 1];
    s2 += at[i + 2];
    s3 += at[i + 3];
    s4 += at[i + 4];
    s5 += at[i + 5];
    s6 += at[i + 6];
    s7 += at[i + 7];
  }
  const Double2 sum = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
  return sum[0] + sum[1];
}

void triad_stream(double* a, const double* b, const double* c, double s, size_t count) {
  Double2* to = reinterpret_cast<Double2*>(a);
  const Double2* left = reinterpret_cast<const Double2*>(b);
  const Double2* right = reinterpret_cast<const Double2*>(c);
  const Double2 factor = {s, s};
  for (size_t i = 0; i < count / 2; i += 4) {
    store_past_caches(to + i, left[i] + factor * right[i]);
    store_past_caches(to + i + 1, left[i + 1] + factor * right[i + 1]);
    store_past_caches(to + i + 2, left[i + 2] + factor * right[i + 2]);
    store_past_caches(to + i + 3, left[i + 3] + factor * right[i + 3]);
  }
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace xsp::machine
