#include "process/record/tables.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>

#include "shared/base/keep_errno.h"
#include "shared/base/limits.h"
#include "shared/base/no_cancel.h"
#include "shared/trace/format.h"
#include "shared/trace/varint.h"

namespace xsp::process {
namespace {

using trace::put_varint;
using trace::TableEntry;

struct Text {
  const char* at;
  size_t size;
};

Text text_of(const char* string, size_t size_max) {
  if (string == nullptr) string = "";
  return {string, strnlen(string, size_max)};
}

// Holds the places in the log of the texts of one name.
struct Name {
  uint32_t offset;
  uint32_t size;
  uint32_t type_offset;
  uint16_t type_size;
  uint16_t level;
};
static_assert(kNameBytesMax <= UINT16_MAX);

// Maps ids to names and, through a hash table with open addressing, names to ids. Memory is touched
// only as it fills.
template <uint32_t kMax>
struct Index {
  static constexpr uint32_t kBuckets = kMax * 2;
  static_assert((kBuckets & (kBuckets - 1)) == 0);
  Name names[kMax];
  uint32_t buckets[kBuckets];
  std::atomic<uint32_t> count;  // ids given out are 1 ... count; names[id - 1]
};

Index<kSiteMax> sites;
Index<kKeyMax + 1> keys;

pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
uint8_t* log_bytes = nullptr;
size_t log_capacity = 0;
std::atomic<size_t> log_size{0};
std::atomic<uint64_t> dropped{0};

class Locked {
 public:
  Locked() { lock_tables(); }
  ~Locked() { unlock_tables(); }

 private:
  KeepErrno keep_errno_;
  NoCancel no_cancel_;
};

// An entry that is being appended. Readers see it once it is committed.
class Entry {
 public:
  // `body_max`: the maximum number of bytes that will be put.
  Entry(TableEntry kind, size_t body_max) {
    if (log_bytes == nullptr) reserve();
    begin_ = log_size.load(std::memory_order_relaxed);
    if (log_bytes == nullptr || log_capacity - begin_ < body_max + kLengthBytes + 1) return;
    at_ = log_bytes + begin_ + kLengthBytes;
    *at_++ = static_cast<uint8_t>(kind);
    fits_ = true;
  }
  bool fits() const { return fits_; }
  void put(uint64_t value) { at_ = put_varint(at_, value); }
  // Returns the position of the text in the log.
  uint32_t put(Text text) {
    put(text.size);
    std::memcpy(at_, text.at, text.size);
    at_ += text.size;
    return static_cast<uint32_t>(at_ - text.size - log_bytes);
  }
  void put_bytes(const void* bytes, size_t size) {
    std::memcpy(at_, bytes, size);
    at_ += size;
  }
  void commit() {
    // The length is a varint of fixed width, so that it can be filled in last.
    const size_t body = static_cast<size_t>(at_ - log_bytes) - begin_ - kLengthBytes;
    uint8_t* length = log_bytes + begin_;
    for (size_t i = 0; i < kLengthBytes; ++i) {
      const uint8_t more = i + 1 < kLengthBytes ? 0x80 : 0;
      length[i] = static_cast<uint8_t>(((body >> (7 * i)) & 0x7f) | more);
    }
    log_size.store(begin_ + kLengthBytes + body, std::memory_order_release);
  }

 private:
  static constexpr size_t kLengthBytes = 4;

  static void reserve() {
    // Reserves address space only: pages come as they are written. If the address space is limited,
    // most of it is left to the program.
    rlimit limit = {};
    const bool is_known = getrlimit(RLIMIT_AS, &limit) == 0;
    constexpr size_t kLeast = 1u << 20;
    constexpr size_t kShare = 64;
    for (size_t bytes = kTableBytesMax; bytes >= kLeast; bytes /= 2) {
      if (is_known && bytes > kLeast && bytes > limit.rlim_cur / kShare) continue;
      void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      log_bytes = static_cast<uint8_t*>(at);
      log_capacity = bytes;
      return;
    }
  }

  size_t begin_ = 0;
  uint8_t* at_ = nullptr;
  bool fits_ = false;
};

uint64_t hash(uint32_t level, Text name, Text type) {
  uint64_t result = 14695981039346656037u ^ level;
  const auto mix = [&result](Text text) {
    for (size_t i = 0; i < text.size; ++i) {
      result = (result ^ static_cast<unsigned char>(text.at[i])) * 1099511628211u;
    }
    result = (result ^ 0xff) * 1099511628211u;
  };
  mix(name);
  mix(type);
  return result ^ (result >> 32);
}

bool is_same(const Name& known, uint32_t level, Text name, Text type) {
  return known.level == level && known.size == name.size && known.type_size == type.size &&
         std::memcmp(log_bytes + known.offset, name.at, name.size) == 0 &&
         std::memcmp(log_bytes + known.type_offset, type.at, type.size) == 0;
}

// Appends a name with a new id, even if another entry has the same name. The caller holds the lock.
template <uint32_t kMax>
uint32_t append(Index<kMax>* index, TableEntry kind, uint32_t level, Text name, Text type) {
  const uint32_t count = index->count.load(std::memory_order_relaxed);
  Entry entry(kind, name.size + type.size + 4 * trace::kVarintBytesMax);
  if (count + 1 >= kMax || !entry.fits()) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  const uint32_t id = count + 1;
  Name& added = index->names[count];
  entry.put(id);
  if (kind == TableEntry::kSite) entry.put(level);
  added.offset = entry.put(name);
  added.type_offset = kind == TableEntry::kSite ? entry.put(type) : added.offset;
  entry.commit();
  added.size = static_cast<uint32_t>(name.size);
  added.type_size = static_cast<uint16_t>(type.size);
  added.level = static_cast<uint16_t>(level);
  index->count.store(id, std::memory_order_release);
  return id;
}

// Returns the id of a name, and appends it if it is new. The caller holds the lock.
template <uint32_t kMax>
uint32_t intern(Index<kMax>* index, TableEntry kind, uint32_t level, Text name, Text type) {
  constexpr uint32_t kMask = Index<kMax>::kBuckets - 1;
  uint32_t bucket = static_cast<uint32_t>(hash(level, name, type)) & kMask;
  for (; index->buckets[bucket] != 0; bucket = (bucket + 1) & kMask) {
    const uint32_t id = index->buckets[bucket];
    if (is_same(index->names[id - 1], level, name, type)) return id;
  }
  const uint32_t id = append(index, kind, level, name, type);
  if (id != 0) index->buckets[bucket] = id;
  return id;
}

bool is_level(uint32_t level) {
  if (level != 0 && level <= kLevelMax) return true;
  dropped.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace

uint32_t intern_site(uint32_t level, const char* name, const char* type) {
  if (!is_level(level)) return 0;
  const Text name_text = text_of(name, kNameBytesMax);
  const Text type_text = text_of(type, kNameBytesMax);
  Locked locked;
  return intern(&sites, TableEntry::kSite, level, name_text, type_text);
}

uint32_t new_site(uint32_t level, const char* name, const char* type) {
  if (!is_level(level)) return 0;
  const Text name_text = text_of(name, kNameBytesMax);
  const Text type_text = text_of(type, kNameBytesMax);
  Locked locked;
  return append(&sites, TableEntry::kSite, level, name_text, type_text);
}

uint32_t intern_key(const char* key) {
  const Text text = text_of(key, kNameBytesMax);
  Locked locked;
  return intern(&keys, TableEntry::kKey, 0, text, {"", 0});
}

void add_site_attribute(uint32_t site_id, const char* key, const char* value) {
  const Text key_text = text_of(key, kNameBytesMax);
  const Text value_text = text_of(value, kSiteTextBytesMax);
  Locked locked;
  Entry entry(TableEntry::kSiteAttribute,
              key_text.size + value_text.size + 3 * trace::kVarintBytesMax);
  if (!entry.fits() || site_level(site_id) == 0) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  entry.put(site_id);
  entry.put(key_text);
  entry.put(value_text);
  entry.commit();
}

void add_site_counter(uint32_t site_id, const char* key, double value) {
  const Text key_text = text_of(key, kNameBytesMax);
  Locked locked;
  Entry entry(TableEntry::kSiteCounter, key_text.size + sizeof value + 2 * trace::kVarintBytesMax);
  if (!entry.fits() || site_level(site_id) == 0) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  entry.put(site_id);
  entry.put(key_text);
  entry.put_bytes(&value, sizeof value);
  entry.commit();
}

uint32_t site_level(uint32_t site_id) {
  if (site_id == 0 || site_id > sites.count.load(std::memory_order_acquire)) return 0;
  return sites.names[site_id - 1].level;
}

bool is_key(uint32_t key) { return key != 0 && key <= keys.count.load(std::memory_order_acquire); }

const uint8_t* tables_log() { return log_bytes; }
size_t tables_size() { return log_size.load(std::memory_order_acquire); }
uint64_t tables_dropped() { return dropped.load(std::memory_order_relaxed); }

void lock_tables() { pthread_mutex_lock(&tables_lock); }
void unlock_tables() { pthread_mutex_unlock(&tables_lock); }
void reset_tables_lock() { pthread_mutex_init(&tables_lock, nullptr); }

}  // namespace xsp::process
