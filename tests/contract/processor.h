// What a worker runs on: this machine's processor; an older one under an emulator; or this one as
// far as a library's own limits let it. What layers are called, and how they are laid out, depends
// on the instructions that a library finds.
#ifndef XSP_TESTS_CONTRACT_PROCESSOR_H_
#define XSP_TESTS_CONTRACT_PROCESSOR_H_

#include <ostream>
#include <string>
#include <vector>

namespace xsp::contract {

struct Processor {
  std::string name;                      // in the names of tests
  std::vector<std::string> emulator;     // that a worker is started with; empty: none
  std::vector<std::string> environment;  // "NAME=value"
};
std::ostream& operator<<(std::ostream& out, const Processor& processor);

// One with SSE 4.2, and one with AVX2; both and, before them, this machine's.
std::vector<Processor> older_processors();
std::vector<Processor> processors();
// The same machine with TensorFlow's own kernels, and with oneDNN's for several sets of
// instructions.
std::vector<Processor> onednn_limits();

// Why no worker can be run on it here; empty: one can.
std::string why_no_worker_on(const Processor& processor);

// As long as it lives, workers are started on that processor.
class OnProcessor {
 public:
  explicit OnProcessor(const Processor& processor);
  ~OnProcessor();
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> before_;  // of the environment's variables
  std::vector<std::string> absent_;                          // those that there were not
};

// Of XSP_TEST_EMULATOR, which any test may be run with: "qemu-x86_64 -cpu Nehalem".
std::vector<std::string> emulator_words();

}  // namespace xsp::contract

#endif  // XSP_TESTS_CONTRACT_PROCESSOR_H_
