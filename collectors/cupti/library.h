// The CUPTI library that this process uses: found, loaded and asked what it can do.
//
// It is never linked. One build serves every version: functions are looked up by name, and those of
// newer versions may be absent (null). Once opened it is read by any thread.
#ifndef XSP_COLLECTORS_CUPTI_LIBRARY_H_
#define XSP_COLLECTORS_CUPTI_LIBRARY_H_

#include <cupti.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xsp::cupti {

// A defect of CUPTI that matters here. The library's own table says which versions have it.
enum class Defect {
  kNvtxBeforeCupti,   // a crash, if NVTX is called before CUPTI
  kGraphCorrelation,  // launches of graphs have wrong correlation ids from the second session on
  kProcessorTime,     // long recordings take more and more of the processor
  kLegacyRecords,     // records without the graph's nodes
};

// The functions of CUPTI that are called, by their own names.
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

// "13.0.1" of CUPTI's number 130001; "12.9" of 27, as versions were counted before CUDA 13.
std::string version_text(uint32_t version);

// Whether CUPTI of this version has the defect.
bool has_defect(uint32_t version, Defect defect);
// What the user should know of this version: one line for each defect that no code goes around.
std::vector<std::string> defect_notes(uint32_t version);

class Library {
 public:
  // The library that the process has loaded already, else $XSP_CUPTI, else the newest that is
  // found. Null and a line in *why if there is none that can be used. It stays loaded.
  static std::unique_ptr<Library> open(std::string* why);

  const Functions& call() const { return functions_; }
  // Any further function of the library; null if this version lacks it.
  void* symbol(const char* name) const;
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }
  bool has(Defect defect) const { return has_defect(version_, defect); }
  // "CUPTI_ERROR_NOT_INITIALIZED"
  std::string error_text(CUptiResult result) const;

 private:
  void* handle_ = nullptr;
  std::string path_;
  uint32_t version_ = 0;
  Functions functions_;
};

// Who else in this process may be using CUPTI, going by the libraries that it has loaded and its
// environment: "PyTorch's profiler (libtorch_cpu.so)". Empty if nobody is known.
std::string other_clients();

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_LIBRARY_H_
