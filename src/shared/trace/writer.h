// Writer writes the file of a trace during the recording, in the profiled process.
//
// Every function returns 0 or an errno value. A chunk is appended whole or not at all: the next
// write overwrites the rest of a failed one. The caller serialises all calls.
#ifndef XSP_SHARED_TRACE_WRITER_H_
#define XSP_SHARED_TRACE_WRITER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "shared/trace/format.h"

namespace xsp::trace {

// Returns the address space that a mapped block takes: a page of this system, which may be larger
// than kPageBytes.
size_t block_area_bytes();

class Writer {
 public:
  // Creates or replaces the file, and writes its first page. Returns EBUSY if another process is
  // recording to it. The file grows no further than `limit_bytes`; 0: no limit.
  int open(const char* path, const FileHeader& header, uint64_t limit_bytes);
  bool is_open() const { return fd_ >= 0; }
  // Moves the file to another descriptor number, because the program wants this one.
  void move_descriptor();
  int descriptor() const { return __atomic_load_n(&fd_, __ATOMIC_RELAXED); }
  // Points into the first page. It is valid while the file is open.
  SessionBlock* session() { return session_; }

  // Appends a chunk. `buffer` begins with sizeof(ChunkHeader) bytes, which this function fills. The
  // payload and up to kChunkAlignment free bytes follow.
  int append(ChunkType type, uint8_t* buffer, size_t payload_bytes);
  // Appends a lane's block, and maps it at `page`, a place of block_area_bytes() in the caller's
  // address space. *offset is its place in the file. *is_mapped is false if the file system cannot
  // map; write_page() must then write its changes to the file.
  int append_lane(void* page, const LaneBlock& block, uint64_t* offset, bool* is_mapped);
  int write_page(const void* page, uint64_t offset);
  // Returns the size of the file.
  uint64_t size_bytes() const { return __atomic_load_n(&end_, __ATOMIC_RELAXED); }
  // Limits the further growth of the file to this size; 0: no limit.
  void limit(uint64_t limit_bytes) { limit_ = limit_bytes; }
  // Writes the first page to the file if the file system cannot map.
  int write_session();

  // Hands the mapped first page over to the caller: moves it to `to`, in place of the caller's page
  // there. This object no longer owns it. Returns nullptr if that is impossible.
  SessionBlock* leave_session(void* to);
  // Unmaps the first page and closes the file, if it is open. Changes nothing in the file, so the
  // child of a fork may call it on its copy.
  void close();

 private:
  int write_at(const void* bytes, size_t size, uint64_t offset);
  // A program that closes all descriptors also closes this one, and its next file may get the
  // number. That file is neither written to nor closed here. The trace is opened again by its name.
  bool is_ours() const;
  bool is_there();  // false: it cannot be opened, and writing fails with EBADF
  void cut();       // truncates to end_ after a failed write

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

#endif  // XSP_SHARED_TRACE_WRITER_H_
