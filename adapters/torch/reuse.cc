#include "adapters/torch/reuse.h"

#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace xsp::torch_adapter {
namespace {

struct Block {
  c10::DataPtr memory;
  size_t bytes = 0;
};

// Blocks of torch's own memory, and the one that is kept.
class Blocks {
 public:
  void begin(c10::Allocator* source) {
    const std::lock_guard<std::mutex> lock(mutex_);
    source_ = source;
    keeps_ = true;
  }
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    keeps_ = false;
    kept_.reset();
  }
  std::unique_ptr<Block> take(size_t bytes) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (kept_ != nullptr && kept_->bytes >= bytes) return std::move(kept_);
    }
    return std::make_unique<Block>(Block{source_->allocate(bytes), bytes});
  }
  void give_back(std::unique_ptr<Block> block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (keeps_ && (kept_ == nullptr || kept_->bytes < block->bytes)) std::swap(kept_, block);
  }

 private:
  std::mutex mutex_;
  c10::Allocator* source_ = nullptr;
  bool keeps_ = false;
  std::unique_ptr<Block> kept_;
};

// Both live as long as the process, because tensors that stay on the host outlive the reading.
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

void give_back(void* block) {
  blocks().give_back(std::unique_ptr<Block>(static_cast<Block*>(block)));
}

class Reusing : public c10::Allocator {
 public:
  // Versions of torch differ in `const`: one of the two overrides.
  c10::DataPtr allocate(size_t bytes) { return take(bytes); }
  c10::DataPtr allocate(size_t bytes) const { return take(bytes); }
  // Newer versions have it.
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }

 private:
  static c10::DataPtr take(size_t bytes) {
    std::unique_ptr<Block> block = blocks().take(bytes);
    void* const memory = block->memory.get();
    return {memory, block.release(), give_back, c10::Device(c10::DeviceType::CPU)};
  }
};

c10::Allocator* reusing() {
  static Reusing& allocator = *new Reusing;
  return &allocator;
}

}  // namespace

HostMemoryReuse::HostMemoryReuse() : source_(c10::GetCPUAllocator()) {
  blocks().begin(source_);
  c10::SetCPUAllocator(reusing());
}

HostMemoryReuse::~HostMemoryReuse() {
  c10::SetCPUAllocator(source_);
  blocks().end();
}

}  // namespace xsp::torch_adapter
