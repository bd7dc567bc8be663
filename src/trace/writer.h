// Writer: the file side of a trace being recorded. Lives in the profiled process.
//
// Every function returns 0 or an errno value. A chunk is appended whole or not at all: what a
// failed write left is overwritten by the next. The caller serialises all calls.
#ifndef XSP_TRACE_WRITER_H_
#define XSP_TRACE_WRITER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace xsp::trace {

// Address space that a mapped block takes: a page of this system, which may be larger than ours.
size_t block_area_bytes();

class Writer {
 public:
  // Creates or replaces the file, and writes its first page. EBUSY if another process is recording
  // to it. `limit_bytes`: the file grows no further; 0: no limit.
  int open(const char* path, const FileHeader& header, uint64_t limit_bytes);
  bool is_open() const { return fd_ >= 0; }
  // Its number is another from now on: the program wants this one.
  void move_descriptor();
  int descriptor() const { return __atomic_load_n(&fd_, __ATOMIC_RELAXED); }
  // In the first page, as long as the file is open.
  SessionBlock* session() { return session_; }

  // Appends a chunk. `buffer` begins with sizeof(ChunkHeader) bytes that are filled here, then come
  // the payload and up to kChunkAlignment free bytes.
  int append(ChunkType type, uint8_t* buffer, size_t payload_bytes);
  // Appends a lane's block, and maps it at `page`, a place of block_area_bytes() in the caller's
  // address space. *offset is where it lies; *is_mapped is false where the file system cannot map,
  // and then write_page() must bring its changes to the file.
  int append_lane(void* page, const LaneBlock& block, uint64_t* offset, bool* is_mapped);
  int write_page(const void* page, uint64_t offset);
  // How large the file is.
  uint64_t size_bytes() const { return __atomic_load_n(&end_, __ATOMIC_RELAXED); }
  // From now on the file grows no further than that; 0: no limit.
  void limit(uint64_t limit_bytes) { limit_ = limit_bytes; }
  // Brings the first page to the file, where the file system cannot map.
  int write_session();

  // The first page stays as it is, mapped at `to`, a page of the caller's in whose place it comes,
  // and is not this object's any more. nullptr: that cannot be.
  SessionBlock* leave_session(void* to);
  // Unmaps the first page and closes the file, if open. Changes nothing in the file, so the child
  // of a fork may call it on its copy.
  void close();

 private:
  int write_at(const void* bytes, size_t size, uint64_t offset);
  // A program that closes all descriptors closes ours, and its next file may get the number: that
  // file is neither written to nor closed here. Ours is opened again, by its name.
  bool is_ours() const;
  bool is_there();  // false: that cannot be, and writing fails with EBADF
  void cut();       // back to end_, after a write that failed

  int fd_ = -1;
  char path_[4096] = {};
  dev_t device_ = 0;
  ino_t inode_ = 0;
  SessionBlock* session_ = nullptr;
  uint8_t* page_ = nullptr;
  bool is_mapped_ = false;
  uint64_t end_ = 0;
  uint64_t limit_ = 0;
  uint32_t sequence_ = 0;
};

}  // namespace xsp::trace

#endif  // XSP_TRACE_WRITER_H_
