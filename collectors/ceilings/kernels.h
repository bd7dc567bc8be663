// Kernels that reach a ceiling, as PTX, which the driver compiles: no CUDA compiler is needed.
//
// Each is `work(result, operands, rounds)`: every thread computes for that many rounds and writes
// one number to result[thread], so that nothing can be optimised away. Operands are random: a
// device computes zeros with less power, and so at a higher clock. With the operands of the check
// the numbers are known, which proves how many operations were done.
#ifndef XSP_COLLECTORS_CEILINGS_KERNELS_H_
#define XSP_COLLECTORS_CEILINGS_KERNELS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xsp::ceilings {

struct Kernel {
  std::string peak;  // the name in the table peak that it looks for
  std::string what;  // for messages: "mma.sync bf16"
  std::string ptx;
  unsigned threads = 0;  // of a block
  unsigned shared_bytes = 0;
  double operations = 0;      // of one block in one round
  size_t operand_bytes = 0;   // that every block reads
  unsigned result_bytes = 0;  // of one thread
  std::vector<uint8_t> random_operands;
  std::vector<uint8_t> check_operands;
  uint32_t check_rounds = 1;
  std::function<bool(size_t thread, const uint8_t* result)> is_right;  // after the check
};

// Fused multiply-adds on the cores, for the compute capability: fp64, fp32, fp16.
std::vector<Kernel> vector_kernels(int capability);
// Products of matrices on the tensor cores: of fp64, tf32, fp16, bf16, fp8, int8, those that there
// are.
std::vector<Kernel> tensor_kernels(int capability);

// Head of a PTX module: "sm_90", "sm_90a".
std::string ptx_head(const char* version, const std::string& target);
// {%name0,%name1,...}
std::string registers(const std::string& name, int count);
// Uniformly distributed bits, always the same for one seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t next() {
    // D. E. Knuth's MMIX generator; its upper bits are good.
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }

 private:
  uint64_t state_;
};

}  // namespace xsp::ceilings

#endif  // XSP_COLLECTORS_CEILINGS_KERNELS_H_
