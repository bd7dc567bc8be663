// The processor on which a worker runs: this machine's; an older one under an emulator; or this
// one, as far as a library's own limits allow. Names and layouts of layers depend on the
// instructions that a library finds.
#ifndef XSP_TESTS_CONTRACT_PROCESSOR_H_
#define XSP_TESTS_CONTRACT_PROCESSOR_H_

#include <ostream>
#include <string>
#include <vector>

namespace xsp::contract {

struct Processor {
  std::string name;                      // in the names of tests
  std::vector<std::string> emulator;     // command before a worker; empty if there is none
  std::vector<std::string> environment;  // "NAME=value"
};
std::ostream& operator<<(std::ostream& out, const Processor& processor);

// Return one with SSE 4.2 and one with AVX2; both and, before them, this machine's.
std::vector<Processor> older_processors();
std::vector<Processor> processors();
// Returns this machine with TensorFlow's own kernels, and with oneDNN's for several sets of
// instructions.
std::vector<Processor> onednn_limits();

// Returns why no worker can run on it here; empty if one can.
std::string why_no_worker_on(const Processor& processor);

// During its lifetime, workers are started on that processor.
class OnProcessor {
 public:
  explicit OnProcessor(const Processor& processor);
  ~OnProcessor();
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> before_;  // previous values of environment
                                                             // variables
  std::vector<std::string> absent_;                          // variables that did not exist
};

// Returns the words of XSP_TEST_EMULATOR, with which any test may be run: "qemu-x86_64 -cpu
// Nehalem".
std::vector<std::string> emulator_words();

}  // namespace xsp::contract

#endif  // XSP_TESTS_CONTRACT_PROCESSOR_H_
