#include "processor.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace xsp::contract {
namespace {

constexpr const char* kEmulator = "XSP_TEST_EMULATOR";
#if defined(__x86_64__)
constexpr bool kIsX86 = true;
#else
constexpr bool kIsX86 = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Processor& processor) {
  return out << processor.name;
}

std::vector<Processor> older_processors() {
  // Features that the emulator lacks are removed from the model; otherwise it would warn at every
  // start.
  return {
      {"sse42", {"qemu-x86_64", "-cpu", "Nehalem"}, {}},
      {"avx2", {"qemu-x86_64", "-cpu", "Haswell-noTSX,-invpcid,-pcid,-x2apic,-tsc-deadline"}, {}}};
}

std::vector<Processor> processors() {
  std::vector<Processor> all = older_processors();
  all.insert(all.begin(), {"this", {}, {}});
  return all;
}

std::vector<Processor> onednn_limits() {
  return {{"this", {}, {}},
          {"no_onednn", {}, {"TF_ENABLE_ONEDNN_OPTS=0"}},
          {"onednn", {}, {"TF_ENABLE_ONEDNN_OPTS=1"}},
          {"onednn_sse41", {}, {"TF_ENABLE_ONEDNN_OPTS=1", "ONEDNN_MAX_CPU_ISA=SSE41"}},
          {"onednn_avx2", {}, {"TF_ENABLE_ONEDNN_OPTS=1", "ONEDNN_MAX_CPU_ISA=AVX2"}}};
}

std::string why_no_worker_on(const Processor& processor) {
  if (processor.emulator.empty()) return "";
  if (!kIsX86) return "the emulated processors are those of x86-64";
  if (kIsSanitized) return "sanitizers do not run under the emulator: the release's tests do";
  if (is_installed(processor.emulator[0])) return "";
  return processor.emulator[0] + " is not installed: tools/deps.sh installs it";
}

OnProcessor::OnProcessor(const Processor& processor) {
  std::vector<std::string> settings = processor.environment;
  if (!processor.emulator.empty()) {
    std::string words;
    for (const std::string& word : processor.emulator) words += (words.empty() ? "" : " ") + word;
    settings.push_back(std::string(kEmulator) + "=" + words);
  }
  for (const std::string& setting : settings) {
    const std::string name = setting.substr(0, setting.find('='));
    const char* before = std::getenv(name.c_str());
    if (before != nullptr) before_.emplace_back(name, before);
    if (before == nullptr) absent_.push_back(name);
    setenv(name.c_str(), setting.c_str() + name.size() + 1, 1);
  }
}

OnProcessor::~OnProcessor() {
  for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : absent_) unsetenv(name.c_str());
}

std::vector<std::string> emulator_words() {
  const char* given = std::getenv(kEmulator);
  std::istringstream text(given == nullptr ? "" : given);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

}  // namespace xsp::contract
