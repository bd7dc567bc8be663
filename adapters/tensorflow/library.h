// TensorFlow's C interface, from a library that is loaded at run time.
//
// The functions used here have kept their form since TensorFlow 1.4. They are declared here, so
// that the adapter can be built without TensorFlow. The names are those of tensorflow/c/c_api.h
// without "TF_".
#ifndef XSP_ADAPTERS_TENSORFLOW_LIBRARY_H_
#define XSP_ADAPTERS_TENSORFLOW_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace xsp::tf {

// The interface's own structs, which are used only by their addresses.
struct Status;
struct Graph;
struct Session;
struct SessionOptions;
struct ImportGraphDefOptions;
struct Operation;
struct Tensor;

struct Buffer {
  const void* data;
  size_t length;
  void (*release)(void* data, size_t length);
};
struct Output {
  Operation* operation;
  int index;
};

// clang-format off
#define XSP_TF_FUNCTIONS(F)                                                                        \
  F(Version, const char*())                                                                        \
  F(NewStatus, Status*())                                                                          \
  F(DeleteStatus, void(Status*))                                                                   \
  F(GetCode, int(const Status*))                                                                   \
  F(Message, const char*(const Status*))                                                           \
  F(NewBuffer, Buffer*())                                                                          \
  F(DeleteBuffer, void(Buffer*))                                                                   \
  F(NewGraph, Graph*())                                                                            \
  F(DeleteGraph, void(Graph*))                                                                     \
  F(NewImportGraphDefOptions, ImportGraphDefOptions*())                                            \
  F(DeleteImportGraphDefOptions, void(ImportGraphDefOptions*))                                     \
  F(GraphImportGraphDef, void(Graph*, const Buffer*, const ImportGraphDefOptions*, Status*))       \
  F(NewSessionOptions, SessionOptions*())                                                          \
  F(DeleteSessionOptions, void(SessionOptions*))                                                   \
  F(SetConfig, void(SessionOptions*, const void*, size_t, Status*))                                \
  F(NewSession, Session*(Graph*, const SessionOptions*, Status*))                                  \
  F(LoadSessionFromSavedModel, Session*(const SessionOptions*, const Buffer*, const char*,         \
                                        const char* const*, int, Graph*, Buffer*, Status*))        \
  F(CloseSession, void(Session*, Status*))                                                         \
  F(DeleteSession, void(Session*, Status*))                                                        \
  F(SessionRun, void(Session*, const Buffer*, const Output*, Tensor* const*, int, const Output*,   \
                     Tensor**, int, const Operation* const*, int, Buffer*, Status*))               \
  F(AllocateTensor, Tensor*(int, const int64_t*, int, size_t))                                     \
  F(DeleteTensor, void(Tensor*))                                                                   \
  F(TensorType, int(const Tensor*))                                                                \
  F(NumDims, int(const Tensor*))                                                                   \
  F(Dim, int64_t(const Tensor*, int))                                                              \
  F(TensorByteSize, size_t(const Tensor*))                                                         \
  F(TensorData, void*(const Tensor*))                                                              \
  F(GraphOperationByName, Operation*(Graph*, const char*))                                         \
  F(GraphNextOperation, Operation*(Graph*, size_t*))                                               \
  F(OperationName, const char*(Operation*))                                                        \
  F(OperationOpType, const char*(Operation*))                                                      \
  F(OperationNumOutputs, int(Operation*))                                                          \
  F(OperationOutputType, int(Output))                                                              \
  F(OperationOutputNumConsumers, int(Output))                                                      \
  F(GraphGetTensorNumDims, int(Graph*, Output, Status*))                                           \
  F(GraphGetTensorShape, void(Graph*, Output, int64_t*, int, Status*))
// clang-format on

struct Library {
  std::string absent;   // why there is none, as an error's text; empty if there is one
  std::string path;     // path of the loaded file
  std::string version;  // "2.21.0"
#define XSP_TF_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  XSP_TF_FUNCTIONS(XSP_TF_MEMBER)
#undef XSP_TF_MEMBER
};

// Returns the TensorFlow of this process, loaded at the first call; any thread.
const Library& library();

// Converts an element type of TensorFlow (DataType of types.proto) to an xsp_dtype, and back; 0:
// none.
uint32_t dtype_of(int type);
int type_of(uint32_t dtype);

// Holds the status of a call. It is reused from call to call.
class Outcome {
 public:
  Outcome() : status_(library().NewStatus()) {}
  ~Outcome() { library().DeleteStatus(status_); }
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;

  Status* get() { return status_; }
  int code() const { return library().GetCode(status_); }  // 0 means success
  std::string text() const;                                // one line

 private:
  Status* status_;
};

// Codes of Outcome (error_codes.proto).
inline constexpr int kInvalidArgument = 3;
inline constexpr int kResourceExhausted = 8;

template <auto Library::*Release>
struct Releases {
  template <typename T>
  void operator()(T* object) const {
    (library().*Release)(object);
  }
};
using OwnGraph = std::unique_ptr<Graph, Releases<&Library::DeleteGraph>>;
using OwnBuffer = std::unique_ptr<Buffer, Releases<&Library::DeleteBuffer>>;
using OwnTensor = std::unique_ptr<Tensor, Releases<&Library::DeleteTensor>>;

}  // namespace xsp::tf

#endif  // XSP_ADAPTERS_TENSORFLOW_LIBRARY_H_
