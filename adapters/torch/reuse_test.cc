#include "adapters/torch/reuse.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstring>

namespace xsp::torch_adapter {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

c10::DataPtr allocate(size_t bytes) { return c10::GetCPUAllocator()->allocate(bytes); }

TEST(HostMemoryReuse, MemoryThatWasFreedIsTakenForWhatComesNext) {
  const HostMemoryReuse reuse;
  c10::DataPtr large = allocate(kBytes);
  const void* const first = large.get();
  large.clear();
  c10::DataPtr smaller = allocate(kBytes / 2);
  EXPECT_EQ(smaller.get(), first);
  smaller.clear();
  EXPECT_EQ(allocate(kBytes).get(), first) << "the block has lost none of its size";
}

TEST(HostMemoryReuse, MemoryInUseIsNotTaken) {
  const HostMemoryReuse reuse;
  const c10::DataPtr one = allocate(kBytes);
  const c10::DataPtr other = allocate(kBytes);
  EXPECT_NE(one.get(), other.get());
}

TEST(HostMemoryReuse, TooSmallABlockIsNotTaken) {
  const HostMemoryReuse reuse;
  allocate(kBytes).clear();
  c10::DataPtr large = allocate(2 * kBytes);
  std::memset(large.get(), 1, 2 * kBytes);  // a sanitizer tells if it is too small
  large.clear();
  const c10::DataPtr again = allocate(2 * kBytes);
  std::memset(again.get(), 1, 2 * kBytes);
}

TEST(HostMemoryReuse, TorchHasItsOwnAllocatorAgainAndMemoryOutlivesTheReuse) {
  c10::Allocator* const before = c10::GetCPUAllocator();
  c10::DataPtr memory;
  {
    const HostMemoryReuse reuse;
    EXPECT_NE(c10::GetCPUAllocator(), before);
    memory = allocate(kBytes);
  }
  EXPECT_EQ(c10::GetCPUAllocator(), before);
  std::memset(memory.get(), 1, kBytes);
}

}  // namespace
}  // namespace xsp::torch_adapter
