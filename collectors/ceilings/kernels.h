// Kernels that reach a ceiling, as PTX. The driver compiles them, so no CUDA compiler is needed.
//
// Each kernel is `work(result, operands, rounds)`: every thread computes for that many rounds and
// writes one number to result[thread], so that the compiler can remove nothing. The operands are
// random, because a device needs less power to compute zeros, and so runs at a higher clock. The
// check uses operands for which the results are known, which proves how many operations were done.
#ifndef XSP_COLLECTORS_CEILINGS_KERNELS_H_
#define XSP_COLLECTORS_CEILINGS_KERNELS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xsp::ceilings {

struct Kernel {
  std::string peak;  // the entry of the table peak that it measures
  std::string what;  // its name in messages: "mma.sync bf16"
  std::string ptx;
  unsigned threads = 0;  // threads of a block
  unsigned shared_bytes = 0;
  double operations = 0;      // operations of one block in one round
  size_t operand_bytes = 0;   // bytes of operands, which every block reads
  unsigned result_bytes = 0;  // bytes of one thread's result
  std::vector<uint8_t> random_operands;
  std::vector<uint8_t> check_operands;
  uint32_t check_rounds = 1;
  std::function<bool(size_t thread, const uint8_t* result)> is_right;  // checks one result
};

// Returns kernels of fused multiply-adds on the cores of this compute capability: fp64, fp32, fp16.
std::vector<Kernel> vector_kernels(int capability);
// Returns kernels of matrix products on the tensor cores, for those of fp64, tf32, fp16, bf16, fp8
// and int8 that this compute capability has.
std::vector<Kernel> tensor_kernels(int capability);

// Returns the head of a PTX module for a target such as "sm_90" or "sm_90a".
std::string ptx_head(const char* version, const std::string& target);
// Returns {%name0,%name1,...}.
std::string registers(const std::string& name, int count);
// Generates uniformly distributed bits. One seed always gives the same bits.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t next() {
    // The constants are those of D. E. Knuth's MMIX generator, whose upper bits are good.
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }

 private:
  uint64_t state_;
};

}  // namespace xsp::ceilings

#endif  // XSP_COLLECTORS_CEILINGS_KERNELS_H_
