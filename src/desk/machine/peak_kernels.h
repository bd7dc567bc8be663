// The loops whose speed is a ceiling, in one version for each instruction set.
//
// An arithmetic loop keeps independent chains of multiply-adds in registers and touches no memory.
// There are enough chains to keep every unit busy for the latency of the operation. A memory loop
// streams over buffers and does almost no arithmetic.
#ifndef XSP_DESK_MACHINE_PEAK_KERNELS_H_
#define XSP_DESK_MACHINE_PEAK_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace xsp::machine {

struct ArithmeticLoop {
  const char* name;             // name of the rate: "fp32_flops_per_s"
  const char* instruction_set;  // names of its extensions: "avx2+fma"
  bool (*is_supported)();       // whether this processor supports it
  // Runs that many rounds. The result depends on all of them, so that the compiler removes none.
  double (*run)(uint64_t rounds);
  double operations_per_round;  // a multiply-add counts 2
};
// Returns the loops; those of one name are sorted from the widest. Each name has a loop that every
// processor supports, except for the narrow types, which only some processors support.
std::span<const ArithmeticLoop> arithmetic_loops();

// Returns the sum of the values. Reads 8 * count bytes. `count` is a multiple of 16, the pointer
// aligned to 64 bytes.
double read_stream(const double* a, size_t count);
// Computes a = b + s * c, with stores that bypass the caches where the processor can. Moves 24 *
// count bytes.
void triad_stream(double* a, const double* b, const double* c, double s, size_t count);

}  // namespace xsp::machine

#endif  // XSP_DESK_MACHINE_PEAK_KERNELS_H_
