#include "process/sample/modules.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace xsp::process {
namespace {

constexpr int64_t kReadEveryNs = 100'000'000;
constexpr int kPageShift = 12;  // for the smallest page size

uint64_t hash_of(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001b3u;
  return hash;
}

}  // namespace

int Modules::find(uint64_t address) const {
  const uint64_t page = address >> kPageShift;
  Found& found = found_[page % kFoundMax];
  if (found.page == page && page != 0) return found.index;
  // The search begins with the latest module: it may have replaced another one at the same address.
  for (size_t i = count_; i-- > 0;) {
    if (address < modules_[i].start || modules_[i].end <= address) continue;
    found = {page, static_cast<int32_t>(i)};
    return found.index;
  }
  return -1;
}

// Parses a line "start-end perms offset device inode path".
bool Modules::add_line(const char* line, const char** path) {
  char* next = nullptr;
  Module module = {};
  module.start = strtoull(line, &next, 16);
  if (*next != '-') return false;
  module.end = strtoull(next + 1, &next, 16);
  if (strlen(next) < 6) return false;
  const bool is_executed = next[3] == 'x';
  module.offset = strtoull(next + 6, &next, 16);
  *path = strpbrk(next, "/[");
  if (*path == nullptr) return false;
  const uint64_t name = hash_of(*path);
  if (module.offset == 0) {
    head_ = module.start;
    head_name_ = name;
  }
  if (!is_executed || count_ == kModulesMax) return false;
  module.head = name == head_name_ ? head_ : 0;
  const int known = find(module.start);
  if (known >= 0 && memcmp(&modules_[known], &module, sizeof module) == 0) return false;
  modules_[count_++] = module;
  memset(found_, 0, sizeof found_);
  return true;
}

void Modules::refresh(int64_t now_ns, void (*added)(void*, uint32_t, const char*), void* context) {
  if (now_ns - read_ns_ < kReadEveryNs) return;
  read_ns_ = now_ns;
  // The file of the first thread is empty once that thread has ended.
  const int file = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[8192];
  size_t kept = 0;
  for (;;) {
    const ssize_t got = read(file, text + kept, sizeof text - 1 - kept);
    if (got <= 0) break;
    const size_t bytes = kept + static_cast<size_t>(got);
    text[bytes] = '\0';
    char* line = text;
    for (char* end = strchr(line, '\n'); end != nullptr; end = strchr(line, '\n')) {
      *end = '\0';
      const char* path = nullptr;
      if (add_line(line, &path)) added(context, static_cast<uint32_t>(count_ - 1), path);
      line = end + 1;
    }
    kept = bytes - static_cast<size_t>(line - text);
    if (kept == sizeof text - 1) kept = 0;  // this line is longer than any path
    memmove(text, line, kept);
  }
  close(file);
}

}  // namespace xsp::process
