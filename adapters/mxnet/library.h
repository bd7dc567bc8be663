// MXNet's C interface, from a library that is loaded at run time.
//
// Looked for, first found wins: the file or the folder that $XSP_MXNET names; where `xsp doctor
// --install mxnet` puts it; where the dynamic linker looks; in the Python environment that is
// active. The functions used here are those of MXNet 1.5 and newer, and are declared here, so that
// the adapter is built where no MXNet is. The names are those of mxnet/c_api.h without "MX".
#ifndef XSP_ADAPTERS_MXNET_LIBRARY_H_
#define XSP_ADAPTERS_MXNET_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace xsp::mxnet {

using Handle = void*;  // of an NDArray, a symbol, an executor

// clang-format off
#define XSP_MXNET_FUNCTIONS(F)                                                                     \
  F(GetLastError, const char*())                                                                   \
  F(GetVersion, int(int*))                                                                         \
  F(SetNumOMPThreads, int(int))                                                                    \
  F(SymbolCreateFromJSON, int(const char*, Handle*))                                               \
  F(SymbolSaveToJSON, int(Handle, const char**))                                                   \
  F(SymbolGetInternals, int(Handle, Handle*))                                                      \
  F(SymbolListArguments, int(Handle, uint32_t*, const char***))                                    \
  F(SymbolListAuxiliaryStates, int(Handle, uint32_t*, const char***))                              \
  F(SymbolListOutputs, int(Handle, uint32_t*, const char***))                                      \
  F(SymbolInferShapeEx, int(Handle, uint32_t, const char**, const uint32_t*, const int*,           \
                            uint32_t*, const int**, const int***, uint32_t*, const int**,          \
                            const int***, uint32_t*, const int**, const int***, int*))             \
  F(SymbolFree, int(Handle))                                                                       \
  F(NDArrayLoad, int(const char*, uint32_t*, Handle**, uint32_t*, const char***))                  \
  F(NDArrayCreateEx, int(const uint32_t*, uint32_t, int, int, int, int, Handle*))                  \
  F(NDArrayGetShapeEx, int(Handle, int*, const int**))                                             \
  F(NDArrayGetDType, int(Handle, int*))                                                            \
  F(NDArraySyncCopyFromCPU, int(Handle, const void*, size_t))                                      \
  F(NDArraySyncCopyToCPU, int(Handle, void*, size_t))                                              \
  F(NDArrayWaitToRead, int(Handle))                                                                \
  F(NDArrayWaitAll, int())                                                                         \
  F(NDArrayFree, int(Handle))                                                                      \
  F(ExecutorBind, int(Handle, int, int, uint32_t, Handle*, Handle*, uint32_t*, uint32_t, Handle*,  \
                      Handle*))                                                                    \
  F(ExecutorGetOptimizedSymbol, int(Handle, Handle*))                                              \
  F(ExecutorForward, int(Handle, int))                                                             \
  F(ExecutorOutputs, int(Handle, uint32_t*, Handle**))                                             \
  F(ExecutorFree, int(Handle))                                                                     \
  F(SetProcessProfilerConfig, int(int, const char* const*, const char* const*, Handle))            \
  F(SetProcessProfilerState, int(int, int, Handle))                                                \
  F(DumpProcessProfile, int(int, int, Handle))
// clang-format on

struct Library {
  std::string absent;   // why there is none, as an error's text; empty: there is one
  std::string path;     // of the file that was loaded
  std::string version;  // "1.9.1"
#define XSP_MXNET_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  XSP_MXNET_FUNCTIONS(XSP_MXNET_MEMBER)
#undef XSP_MXNET_MEMBER
};

// Loads the library at the first call; it stays loaded.
const Library& library();

// The process ends without those of MXNet's statics being destroyed that are there already: one of
// its threads that still runs then would often end it by std::terminate (1.9.1, ten of sixteen
// exits). MXNet makes some as it opens and runs a model: to be called before and after. For
// processes that are the adapter's own.
void leave_at_exit();

// Why the last call on this thread failed, on one line, without its trace of calls.
std::string last_error();

// Throws what went wrong in a call, as std::runtime_error.
void check(int status);

// An xsp_dtype for the number of MXNet's own and back; 0 and -1: there is none.
uint32_t dtype_of(int type);
int type_of(uint32_t dtype);

// Owns a handle.
class Owned {
 public:
  using Free = int (*)(Handle);
  Owned() = default;
  Owned(Handle handle, Free release) : handle_(handle), free_(release) {}
  Owned(Owned&& other) noexcept : handle_(other.handle_), free_(other.free_) {
    other.handle_ = nullptr;
  }
  Owned& operator=(Owned&& other) noexcept {
    reset();
    handle_ = other.handle_;
    free_ = other.free_;
    other.handle_ = nullptr;
    return *this;
  }
  ~Owned() { reset(); }
  void reset() {
    if (handle_ != nullptr) free_(handle_);
    handle_ = nullptr;
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Free free_ = nullptr;
};

}  // namespace xsp::mxnet

#endif  // XSP_ADAPTERS_MXNET_LIBRARY_H_
