// Finds where running threads are in compiled code: the kernel notes the address of each some
// hundred times a second of its processor time, in a page that is read here: that of a look is up
// to 3 ms older. An extra: containers often forbid it, and then there are no such addresses.
//
// For a thread that has a table of files of its own.
#ifndef XSP_CAPTURE_SAMPLE_NATIVE_PLACE_H_
#define XSP_CAPTURE_SAMPLE_NATIVE_PLACE_H_

#include <stddef.h>
#include <stdint.h>

namespace xsp::capture {

inline constexpr size_t kModulesMax = 4096;

// The kernel's notes about one thread.
struct ThreadClock {
  void* page;  // nullptr: there is none
  int32_t file;
  bool is_tried;
};
void open_clock(ThreadClock* clock, int32_t tid);
void close_clock(ThreadClock* clock);
// The latest address since the last call; 0: none.
uint64_t latest_address(ThreadClock* clock);

// A part of a file that is mapped to be executed.
struct Module {
  uint64_t start;
  uint64_t end;
  uint64_t offset;  // in the file
};

// Memory that is zero is one without modules.
class Modules {
 public:
  // The index of an address's module; -1: there is none.
  int find(uint64_t address) const;
  // Reads the mappings, unless that was a moment ago; `added` gets those that were not known.
  void refresh(int64_t now_ns, void (*added)(void* context, uint32_t index, const char* path),
               void* context);
  const Module& operator[](size_t index) const { return modules_[index]; }

 private:
  bool add_line(const char* line, const char** path);

  Module modules_[kModulesMax];
  size_t count_;
  int64_t read_ns_;
};

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_NATIVE_PLACE_H_
