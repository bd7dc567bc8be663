// The CUPTI library that this process uses: finds it, loads it, and asks for its abilities.
//
// It is never linked. One build serves every version: functions are looked up by name, and those of
// newer versions may be absent (null). After opening, any thread may read it.
#ifndef XSP_COLLECTORS_CUPTI_LIBRARY_H_
#define XSP_COLLECTORS_CUPTI_LIBRARY_H_

#include <cupti.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xsp::cupti {

// Lists the defects of CUPTI that matter here. A table in library.cc lists the versions that have
// them.
enum class Defect {
  kNvtxBeforeCupti,   // a crash, if NVTX is called before CUPTI
  kGraphCorrelation,  // launches of graphs have wrong correlation ids from the second session on
  kProcessorTime,     // long recordings take more and more processor time
  kLegacyRecords,     // records lack the graph's nodes
};

// Holds the functions of CUPTI that are called, by their own names.
struct Functions {
#define XSP_CUPTI_REQUIRED(X)          \
  X(cuptiActivityDisable)              \
  X(cuptiActivityEnable)               \
  X(cuptiActivityFlushAll)             \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiEnableCallback)               \
  X(cuptiGetCallbackName)              \
  X(cuptiGetResultString)              \
  X(cuptiGetTimestamp)                 \
  X(cuptiGetVersion)                   \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)
#define XSP_CUPTI_OPTIONAL(X)      \
  X(cuptiActivityEnableDriverApi)  \
  X(cuptiActivityEnableRuntimeApi) \
  X(cuptiActivitySetAttribute)     \
  X(cuptiGetGraphNodeId)           \
  X(cuptiSetThreadIdType)
#define XSP_CUPTI_POINTER(name) decltype(&::name) name = nullptr;
  XSP_CUPTI_REQUIRED(XSP_CUPTI_POINTER)
  XSP_CUPTI_OPTIONAL(XSP_CUPTI_POINTER)
#undef XSP_CUPTI_POINTER
};

// Returns "13.0.1" for CUPTI's number 130001, and "12.9" for 27, as versions were numbered before
// CUDA 13.
std::string version_text(uint32_t version);

// Returns whether CUPTI of this version has the defect.
bool has_defect(uint32_t version, Defect defect);
// Returns notes for the user on this version: one line for each defect that the code does not
// avoid.
std::vector<std::string> defect_notes(uint32_t version);

class Library {
 public:
  // Opens the library that the process has loaded already, else $XSP_CUPTI, else the newest that it
  // finds. Returns null and a line in *why if no usable one exists. The library stays loaded.
  static std::unique_ptr<Library> open(std::string* why);

  const Functions& call() const { return functions_; }
  // Returns any other function of the library, or null if this version lacks it.
  void* symbol(const char* name) const;
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }
  bool has(Defect defect) const { return has_defect(version_, defect); }
  // Returns a name such as "CUPTI_ERROR_NOT_INITIALIZED".
  std::string error_text(CUptiResult result) const;

 private:
  void* handle_ = nullptr;
  std::string path_;
  uint32_t version_ = 0;
  Functions functions_;
};

// Returns other users of CUPTI in this process, judged by its loaded libraries and its environment:
// "PyTorch's profiler (libtorch_cpu.so)". Returns an empty string if none is known.
std::string other_clients();

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_LIBRARY_H_
