// Reads memory of this process as another process would read it: an unreadable address gives an
// error, not a signal. The memory may change meanwhile, so every value is checked before use.
//
// It uses process_vm_readv on the own process. If the system refuses the call, nothing is read, and
// that is counted.
#ifndef XSP_PROCESS_SAMPLE_MEMORY_H_
#define XSP_PROCESS_SAMPLE_MEMORY_H_

#include <stddef.h>
#include <stdint.h>

namespace xsp::process {

struct Piece {
  uint64_t address;
  void* out;
  size_t bytes;
};
inline constexpr size_t kPiecesMax = 64;  // pieces of one read

class OwnMemory {
 public:
  // Begins to read the calling process. Returns false if the system does not allow it.
  bool begin();
  // Returns whether all bytes could be read.
  bool read(uint64_t address, void* out, size_t bytes) const;
  // Returns the number of pieces, from the first one on, that were read completely; kPiecesMax at
  // most.
  size_t read_pieces(const Piece* pieces, size_t count) const;

  template <typename T>
  bool read(uint64_t address, T* out) const {
    return read(address, out, sizeof *out);
  }

 private:
  int process_ = 0;
};

template <typename T>
T field_of(const void* bytes, size_t offset) {
  T value;
  __builtin_memcpy(&value, static_cast<const uint8_t*>(bytes) + offset, sizeof value);
  return value;
}

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_MEMORY_H_
