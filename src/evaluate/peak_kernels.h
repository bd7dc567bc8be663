// The loops whose speed is a ceiling, in one version for each instruction set.
//
// An arithmetic loop keeps enough independent chains of multiply-adds in registers to fill every
// unit for the latency of the operation, and touches no memory. A memory loop streams over buffers
// and does next to nothing with what it reads.
#ifndef XSP_EVALUATE_PEAK_KERNELS_H_
#define XSP_EVALUATE_PEAK_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace xsp::evaluate {

struct ArithmeticLoop {
  const char* name;             // of the rate: "fp32_flops_per_s"
  const char* instruction_set;  // as its extensions are called: "avx2+fma"
  bool (*is_supported)();       // by this processor
  // Runs that many rounds; the value depends on all of them, so that none is optimized away.
  double (*run)(uint64_t rounds);
  double operations_per_round;  // a multiply-add counts 2
};
// Widest first among those of one name; each name has one that every processor supports, or, for
// the narrow types, that only some do.
std::span<const ArithmeticLoop> arithmetic_loops();

// The sum of the values. Reads 8 * count bytes. `count` is a multiple of 16, the pointer aligned to
// 64 bytes.
double read_stream(const double* a, size_t count);
// a = b + s * c, past the caches where the processor can. Moves 24 * count bytes.
void triad_stream(double* a, const double* b, const double* c, double s, size_t count);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_PEAK_KERNELS_H_
