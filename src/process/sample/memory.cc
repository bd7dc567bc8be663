#include "process/sample/memory.h"

#include <sys/uio.h>
#include <unistd.h>

namespace xsp::process {

bool OwnMemory::begin() {
  process_ = gettid();  // the first thread, whose number is the process id, may have ended
  uint64_t there = 0x5a5a;
  uint64_t copy = 0;
  return read(reinterpret_cast<uint64_t>(&there), &copy) && copy == there;
}

bool OwnMemory::read(uint64_t address, void* out, size_t bytes) const {
  const Piece piece = {address, out, bytes};
  return read_pieces(&piece, 1) == 1;
}

size_t OwnMemory::read_pieces(const Piece* pieces, size_t count) const {
  if (count > kPiecesMax) count = kPiecesMax;
  iovec here[kPiecesMax];
  iovec there[kPiecesMax];
  for (size_t i = 0; i < count; ++i) {
    here[i] = {pieces[i].out, pieces[i].bytes};
    there[i] = {reinterpret_cast<void*>(pieces[i].address), pieces[i].bytes};
  }
  const ssize_t got = process_vm_readv(process_, here, count, there, count, 0);
  size_t left = got > 0 ? static_cast<size_t>(got) : 0;
  size_t whole = 0;
  while (whole < count && left >= pieces[whole].bytes) left -= pieces[whole++].bytes;
  return whole;
}

}  // namespace xsp::process
