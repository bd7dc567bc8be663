// MXNet's C interface, from a library that is loaded at run time.
//
// The library is searched for in this order: the file or the folder that $XSP_MXNET names; the
// place where `xsp doctor --install mxnet` puts it; the paths of the dynamic linker; the active
// Python environment. The functions used here are those of MXNet 1.5 and newer. They are declared
// here, so that the adapter can be built without MXNet. The names are those of mxnet/c_api.h
// without "MX".
#ifndef XSP_ADAPTERS_MXNET_LIBRARY_H_
#define XSP_ADAPTERS_MXNET_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace xsp::mxnet {

using Handle = void*;  // an NDArray, a symbol, or an executor

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
  std::string absent;   // why there is none, as an error's text; empty if there is one
  std::string path;     // path of the loaded file
  std::string version;  // "1.9.1"
#define XSP_MXNET_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  XSP_MXNET_FUNCTIONS(XSP_MXNET_MEMBER)
#undef XSP_MXNET_MEMBER
};

// Loads the library at the first call; it stays loaded.
const Library& library();

// Makes the process end without destroying those statics of MXNet that exist already. Otherwise one
// of its threads that still runs would often end the process by std::terminate (1.9.1, ten of
// sixteen exits). MXNet creates some of them when it opens and runs a model, so this must be called
// before and after. For processes that belong to the adapter.
void leave_at_exit();

// Returns why the last call on this thread failed, on one line, without its trace of calls.
std::string last_error();

// Throws the error of a call, as std::runtime_error.
void check(int status);

// Converts MXNet's number of a type to an xsp_dtype and back; 0 and -1 mean that there is none.
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
