// Host memory that is used again while a file is read.
//
// torch reads a tensor into memory of the host, copies it to the device, and frees the memory at
// once. The operating system hands out such memory page by page, and clears each page. Memory that
// was freed has its pages already. Refused: huge pages (THP_MEM_ALLOC_ENABLE), which also change
// what the model itself allocates, and which not every machine has.
#ifndef XSP_ADAPTERS_TORCH_REUSE_H_
#define XSP_ADAPTERS_TORCH_REUSE_H_

#include <c10/core/Allocator.h>

namespace xsp::torch_adapter {

// While it lives, torch takes host memory that it has freed for what it allocates next. One block
// is kept for this, the largest that was free, and freed at the end. One object lives at a time.
class HostMemoryReuse {
 public:
  HostMemoryReuse();
  ~HostMemoryReuse();
  HostMemoryReuse(const HostMemoryReuse&) = delete;
  HostMemoryReuse& operator=(const HostMemoryReuse&) = delete;

 private:
  c10::Allocator* const source_;  // torch's own
};

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_REUSE_H_
