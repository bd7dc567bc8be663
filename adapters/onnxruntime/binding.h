// Inputs and outputs in a GPU's memory, by ONNX Runtime's IO binding. An inference then copies
// nothing between host and device, as with the other frameworks that xsp runs.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_BINDING_H_
#define XSP_ADAPTERS_ONNXRUNTIME_BINDING_H_

#include <memory>
#include <vector>

#include "adapters/onnxruntime/library.h"
#include "adapters/onnxruntime/session.h"
#include "xsp/plugin.h"

namespace xsp::ort {

class Binding {
 public:
  // Binds nothing yet. The session's provider uses the GPU `device`; the calling thread opened it.
  Problem open(OrtSession* session, int device);

  // Forgets all inputs and outputs.
  void clear();
  // Copies the tensor to the device, and binds it to the input of its name.
  Problem set_input(const xsp_tensor& tensor);
  // Binds the value, which is on the device, to the input of that name. The caller keeps it.
  Problem bind_input(const char* name, OrtValue* value);
  // Lets the first run allocate these outputs on the device, and each later one reuse their memory.
  // Those that are not tensors of numbers stay on the host.
  Problem bind_outputs(const std::vector<Signature>& outputs);
  OrtStatus* run(OrtSession* session) const;
  // Gives the outputs of the last run, in the order of bind_outputs(); the caller releases them.
  Problem outputs(std::vector<OrtValue*>* values) const;
  // Copies from the device.
  Problem download(void* to, const void* from, size_t bytes) const;

 private:
  struct Block {
    OrtAllocator* allocator;
    void operator()(void* memory) const { allocator->Free(allocator, memory); }
  };

  Handle<OrtMemoryInfo> device_{nullptr, nullptr};
  Handle<OrtAllocator> allocator_{nullptr, nullptr};
  // Memory and values of the inputs; a value is released before the memory to which it points.
  std::vector<std::unique_ptr<void, Block>> memory_;
  std::vector<Handle<OrtValue>> values_;
  Handle<OrtIoBinding> binding_{nullptr, nullptr};
};

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_BINDING_H_
