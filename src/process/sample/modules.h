// The executable parts of files that are mapped into this process.
//
// Only a thread with a file table of its own may use these functions.
#ifndef XSP_PROCESS_SAMPLE_MODULES_H_
#define XSP_PROCESS_SAMPLE_MODULES_H_

#include <stddef.h>
#include <stdint.h>

namespace xsp::process {

inline constexpr size_t kModulesMax = 4096;

struct Module {
  uint64_t start;
  uint64_t end;
  uint64_t offset;  // in the file
  uint64_t head;    // address at which the beginning of the file is mapped; 0: not known
};

// An object in zeroed memory has no modules.
class Modules {
 public:
  // Returns the index of the module at an address; -1: there is none.
  int find(uint64_t address) const;
  // Reads the mappings, unless that was done a moment ago; `added` gets each new module.
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
  mutable Found found_[kFoundMax];  // results of recent lookups, by page
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_MODULES_H_
