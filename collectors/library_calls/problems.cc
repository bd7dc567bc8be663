// The sites of problems: a table of fixed size, which maps a function and the problem of a call to
// the site that describes them. It is read without a lock. Entries are added, and never changed or
// removed.
//
// Up to 8192 problems have sites. If a program has more, the facts of each further problem are
// written with its span.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/library_calls/call.h"

namespace xsp::library_calls {
namespace {

// A program whose sizes grow with every call (a decoder) has an unlimited number of problems. Calls
// of problems that do not fit into the table carry their facts themselves.
constexpr size_t kSlots = 1u << 14;
constexpr size_t kProblemsMax = kSlots / 2;
constexpr size_t kTextBytes = 512;  // longest text of a fact

struct Entry {
  uint64_t hash;
  const Function* function;
  uint32_t site;
  uint32_t count;  // number of values, which follow
  Problem::Value* values() { return reinterpret_cast<Problem::Value*>(this + 1); }
  const Problem::Value* values() const { return const_cast<Entry*>(this)->values(); }
};
static_assert(sizeof(Entry) % alignof(Problem::Value) == 0);

std::atomic<Entry*> table[kSlots];
pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
size_t entry_count = 0;  // `adding` guards these

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9fb21c651e98df25u;
  return hash ^ (hash >> 29);
}

uint64_t hash_of(const Function* function, const Problem& problem) {
  uint64_t hash = mix(0x2545f4914f6cdd1du, reinterpret_cast<uintptr_t>(function));
  for (const Problem::Value& value : problem) hash = mix(hash, static_cast<uint64_t>(value.value));
  return mix(hash, problem.size());
}

// The function determines the fields, except for the lengths of lists; so the fields are compared,
// too.
bool is_equal(const Entry& entry, uint64_t hash, const Function* function, const Problem& problem) {
  if (entry.hash != hash || entry.function != function || entry.count != problem.size()) {
    return false;
  }
  for (size_t i = 0; i < entry.count; ++i) {
    const Problem::Value& ours = entry.values()[i];
    const Problem::Value& theirs = problem.begin()[i];
    if (ours.field != theirs.field || ours.value != theirs.value) return false;
  }
  return true;
}

// Returns the entry, or NULL and the slot where it belongs.
Entry* find(uint64_t hash, const Function* function, const Problem& problem, size_t* slot) {
  for (size_t at = hash % kSlots;; at = (at + 1) % kSlots) {
    Entry* entry = table[at].load(std::memory_order_acquire);
    if (entry == nullptr) {
      *slot = at;
      return nullptr;
    }
    if (is_equal(*entry, hash, function, problem)) return entry;
  }
}

// ---- Facts as text ------------------------------------------------------------------------------

const char* name_of(const Field& field, int64_t value) {
  for (size_t i = 0; i < field.name_count; ++i) {
    if (field.names[i].value == value) return field.names[i].text;
  }
  return nullptr;
}

void write_one(const Problem::Value& value, char* text, size_t size) {
  const Field& field = *value.field;
  const char* known = nullptr;
  if (field.kind == FieldKind::kText) {
    known = reinterpret_cast<const char*>(static_cast<intptr_t>(value.value));
  } else if (field.kind == FieldKind::kEnum) {
    known = name_of(field, value.value);
  }
  if (known != nullptr) {
    snprintf(text, size, "%s", known);
  } else if (field.kind == FieldKind::kChar) {
    snprintf(text, size, "%c", static_cast<char>(value.value));
  } else {
    snprintf(text, size, "%lld", static_cast<long long>(value.value));
  }
}

// Writes the values from `at` on that have one key. Returns the first value with another key.
const Problem::Value* write_list(const Problem::Value* at, const Problem::Value* end, char* text,
                                 size_t size) {
  const Field* field = at->field;
  size_t used = 0;
  for (; at != end && at->field == field; ++at) {
    const int length = snprintf(text + used, size - used, "%s%lld", used == 0 ? "[" : ",",
                                static_cast<long long>(at->value));
    used += static_cast<size_t>(length);
    if (used + 2 > size) used = size - 2;
  }
  snprintf(text + used, size - used, "]");
  return at;
}

template <typename Visit>
void each_fact(const Problem& problem, Visit visit) {
  char text[kTextBytes];
  for (const Problem::Value* at = problem.begin(); at != problem.end();) {
    const Field& field = *at->field;
    if (field.kind == FieldKind::kList) {
      at = write_list(at, problem.end(), text, sizeof text);
    } else {
      write_one(*at, text, sizeof text);
      ++at;
    }
    visit(field.key, text);
  }
}

void say_dtype(const Function* function, uint32_t site) {
  if (*function->dtype != '\0') xsp_site_attribute(site, "dtype", function->dtype);
}

// ---- Sites --------------------------------------------------------------------------------------

uint32_t add_site(uint64_t hash, const Function* function, const Problem& problem, size_t slot) {
  const size_t bytes = problem.size() * sizeof(Problem::Value);
  auto* entry = static_cast<Entry*>(malloc(sizeof(Entry) + bytes));
  if (entry == nullptr) return 0;
  entry->hash = hash;
  entry->function = function;
  entry->count = static_cast<uint32_t>(problem.size());
  if (bytes != 0) memcpy(entry->values(), problem.begin(), bytes);
  const uint32_t site = xsp_new_site(XSP_LEVEL_LIBRARY, function->name, function->library);
  entry->site = site;
  say_dtype(function, site);
  each_fact(problem,
            [&](const char* key, const char* text) { xsp_site_attribute(site, key, text); });
  table[slot].store(entry, std::memory_order_release);
  ++entry_count;
  return site;
}

// Returns 0 if the problem has no site and gets none.
uint32_t site_of(const Function* function, const Problem& problem) {
  const uint64_t hash = hash_of(function, problem);
  size_t slot = 0;
  Entry* entry = find(hash, function, problem, &slot);
  if (entry != nullptr) return entry->site;
  // This never waits: in a child of fork, the thread that holds the lock may not exist.
  if (pthread_mutex_trylock(&adding) != 0) return 0;
  uint32_t site = 0;
  entry = find(hash, function, problem, &slot);
  if (entry != nullptr) {
    site = entry->site;
  } else if (entry_count < kProblemsMax) {
    site = add_site(hash, function, problem, slot);
  }
  pthread_mutex_unlock(&adding);
  return site;
}

xsp_span begin_with_facts(Function* function, const Problem& problem) {
  uint32_t id = function->site.load(std::memory_order_relaxed);
  if (id == 0) {
    id = xsp_new_site(XSP_LEVEL_LIBRARY, function->name, function->library);
    say_dtype(function, id);
    function->site.store(id, std::memory_order_relaxed);
  }
  xsp_site site = {function->name, function->library, XSP_LEVEL_LIBRARY, id};
  xsp_span span = xsp_begin(&site);
  each_fact(problem, [&](const char* key, const char* text) {
    xsp_span_text(&span, xsp_intern_key(key), text);
  });
  return span;
}

}  // namespace

int64_t Problem::value_of(const char* key, int64_t otherwise) const {
  for (const Value& value : *this) {
    if (strcmp(value.field->key, key) == 0) return value.value;
  }
  return otherwise;
}

xsp_span begin(Function* function, const Problem& problem) {
  const int kept_errno = errno;
  const uint32_t id = site_of(function, problem);
  xsp_site site = {function->name, function->library, XSP_LEVEL_LIBRARY, id};
  const xsp_span span = id != 0 ? xsp_begin(&site) : begin_with_facts(function, problem);
  errno = kept_errno;
  return span;
}

}  // namespace xsp::library_calls
