// The parts of files that are mapped into this process to be executed.
//
// For a thread that has a table of files of its own.
#ifndef XSP_CAPTURE_SAMPLE_MODULES_H_
#define XSP_CAPTURE_SAMPLE_MODULES_H_

#include <stddef.h>
#include <stdint.h>

namespace xsp::capture {

inline constexpr size_t kModulesMax = 4096;

struct Module {
  uint64_t start;
  uint64_t end;
  uint64_t offset;  // in the file
  uint64_t head;    // where the file's beginning is mapped; 0: not known
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
  size_t count() const { return count_; }

 private:
  static constexpr size_t kFoundMax = 1024;
  struct Found {
    uint64_t page;
    int32_t index;
  };
  bool add_line(const char* line, const char** path);

  Module modules_[kModulesMax];
  size_t count_;
  int64_t read_ns_;
  // The file whose beginning was read last.
  uint64_t head_;
  uint64_t head_name_;
  mutable Found found_[kFoundMax];  // pages that were asked for
};

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_MODULES_H_
