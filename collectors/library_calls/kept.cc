// A table of fixed size, which is read without a lock. Replaced or removed facts are not released,
// because a thread may be reading them. There are few plans, and their number is bounded.
#include "collectors/library_calls/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

namespace xsp::library_calls {
namespace {

constexpr size_t kSlots = 1u << 13;
constexpr size_t kHandlesMax = kSlots / 2;
constexpr size_t kFactsMax = 1u << 14;  // includes facts that are not released
constexpr size_t kTextsMax = 256;
constexpr size_t kFieldsMax = 128;

struct Facts {
  size_t count;
  const Problem::Value* values() const { return reinterpret_cast<const Problem::Value*>(this + 1); }
};

struct Slot {
  std::atomic<uint64_t> handle;  // 0: this slot and all after it are free
  std::atomic<const Facts*> facts;
};

Slot slots[kSlots];
size_t handle_count = 0;  // `changing` guards these
size_t facts_count = 0;
const char* texts[kTextsMax];
size_t text_count = 0;
Field* fields[kFieldsMax];
size_t field_count = 0;
pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

// Never waits: in a child of fork, the thread that holds the lock may not exist.
class Lock {
 public:
  Lock() : is_held_(pthread_mutex_trylock(&changing) == 0) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    if (is_held_) pthread_mutex_unlock(&changing);
  }
  bool is_held() const { return is_held_; }

 private:
  const bool is_held_;
};

// Returns the slot of the handle, or the free slot that it would take.
Slot* slot_of(uint64_t handle) {
  const uint64_t hash = handle * 0x9fb21c651e98df25u;
  for (size_t at = (hash >> 32) % kSlots;; at = (at + 1) % kSlots) {
    const uint64_t there = slots[at].handle.load(std::memory_order_acquire);
    if (there == handle || there == 0) return &slots[at];
  }
}

const Facts* copy_of(const Problem& problem) {
  const size_t bytes = problem.size() * sizeof(Problem::Value);
  auto* facts = static_cast<Facts*>(malloc(sizeof(Facts) + bytes));
  if (facts == nullptr) return nullptr;
  facts->count = problem.size();
  if (bytes != 0) memcpy(facts + 1, problem.begin(), bytes);
  return facts;
}

const char* find_or_copy(const char* text) {
  for (size_t i = 0; i < text_count; ++i) {
    if (strcmp(texts[i], text) == 0) return texts[i];
  }
  if (text_count == kTextsMax) return nullptr;
  const char* copy = strdup(text);
  if (copy != nullptr) texts[text_count++] = copy;
  return copy;
}

}  // namespace

bool add_kept(Problem* problem, uint64_t handle) {
  const Facts* facts = slot_of(handle)->facts.load(std::memory_order_acquire);
  if (facts == nullptr) return false;
  for (size_t i = 0; i < facts->count; ++i) {
    problem->add(facts->values()[i].field, facts->values()[i].value);
  }
  return true;
}

void keep(uint64_t handle, const Problem& problem) {
  const Lock lock;
  if (!lock.is_held() || facts_count == kFactsMax) return;
  Slot* slot = slot_of(handle);
  const bool is_new = slot->handle.load(std::memory_order_relaxed) == 0;
  if (is_new && handle_count == kHandlesMax) return;
  const Facts* facts = copy_of(problem);
  if (facts == nullptr) return;
  slot->facts.store(facts, std::memory_order_release);
  slot->handle.store(handle, std::memory_order_release);
  ++facts_count;
  if (is_new) ++handle_count;
}

void forget(uint64_t handle) {
  Slot* slot = slot_of(handle);
  if (slot->handle.load(std::memory_order_relaxed) == handle) {
    slot->facts.store(nullptr, std::memory_order_release);
  }
}

const char* kept_text(const char* text) {
  const Lock lock;
  return lock.is_held() ? find_or_copy(text) : nullptr;
}

const Field* kept_field(const char* key, FieldKind kind) {
  const Lock lock;
  if (!lock.is_held()) return nullptr;
  for (size_t i = 0; i < field_count; ++i) {
    if (fields[i]->kind == kind && strcmp(fields[i]->key, key) == 0) return fields[i];
  }
  const char* copy = find_or_copy(key);
  if (copy == nullptr || field_count == kFieldsMax) return nullptr;
  auto* field = static_cast<Field*>(malloc(sizeof(Field)));
  if (field == nullptr) return nullptr;
  *field = Field{copy, kind, nullptr, 0};
  fields[field_count++] = field;
  return field;
}

}  // namespace xsp::library_calls
