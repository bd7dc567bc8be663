#include "process/watch/nvtx_names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/base/levels.h"
#include "shared/base/no_cancel.h"
#include "xsp/xsp.h"

namespace xsp::process::nvtx {
namespace {

constexpr size_t kDomainsMax = 256;
constexpr size_t kCategoriesMax = 1024;
// A program with a different name in each iteration would fill the trace's table of sites.
constexpr size_t kPlacesMax = 4096;
constexpr size_t kPlaceSlots = 2 * kPlacesMax;  // a power of two

enum class Rule : uint32_t { kApplication, kXsp, kXla, kLibrary };

struct Prefix {
  const char* begins;  // case is ignored
  Rule rule;
};
constexpr Prefix kLibraries[] = {
    {"nccl", Rule::kLibrary},     {"cublas", Rule::kLibrary},   {"cudnn", Rule::kLibrary},
    {"cufft", Rule::kLibrary},    {"cusparse", Rule::kLibrary}, {"cusolver", Rule::kLibrary},
    {"cutensor", Rule::kLibrary},
};

}  // namespace

struct Domain {
  char name[kNameBytesMax];
  Rule rule;
};

namespace {

struct Category {
  const Domain* domain;
  uint32_t id;
  char name[64];
};

// A slot whose key is set never changes. A 64-bit hash stands for the name: with 4096 names the
// probability that two names share a hash is 1 in 10^12.
struct Slot {
  uint64_t key;
  Place place;
};

struct State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  Domain domains[kDomainsMax] = {};
  size_t domain_count = 0;
  Category categories[kCategoriesMax] = {};
  size_t category_count = 0;
  Slot places[kPlaceSlots] = {};
  size_t place_count = 0;
};
constinit State state;

class Lock {
 public:
  Lock() { pthread_mutex_lock(&state.mutex); }
  ~Lock() { pthread_mutex_unlock(&state.mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  NoCancel no_cancel_;
};

Rule rule_of(const char* name) {
  if (strcmp(name, "xsp") == 0) return Rule::kXsp;
  if (strcmp(name, "TSL") == 0) return Rule::kXla;
  for (const Prefix& one : kLibraries) {
    if (strncasecmp(name, one.begins, strlen(one.begins)) == 0) return one.rule;
  }
  return Rule::kApplication;
}

void copy(char* target, size_t size, const char* text, size_t length) {
  if (length > size - 1) length = size - 1;
  // Does not cut within a character.
  while (length > 0 && text[length] != '\0' && (text[length] & 0xc0) == 0x80) --length;
  memcpy(target, text, length);
  target[length] = '\0';
}

const Category* category_of(const Domain* domain, uint32_t id) {
  for (size_t i = 0; i < state.category_count; ++i) {
    if (state.categories[i].domain == domain && state.categories[i].id == id) {
      return &state.categories[i];
    }
  }
  return nullptr;
}

// Returns an FNV-1a hash with the finish of splitmix64. It is never 0.
uint64_t hash_of(const Domain* domain, uint32_t category, const char* name, const char* type) {
  uint64_t hash = 0xcbf29ce484222325u ^ reinterpret_cast<uintptr_t>(domain) ^
                  (static_cast<uint64_t>(category) << 40);
  const char* const texts[] = {type, name};
  for (const char* text : texts) {
    for (const char* at = text; *at != '\0'; ++at) {
      hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3u;
    }
    hash *= 0x100000001b3u;
  }
  hash ^= hash >> 30;
  hash *= 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 27;
  return hash | 1u;
}

// Returns the slot that holds the key, or the free slot for it.
Slot* slot_of(uint64_t key) {
  size_t at = (key >> 1) & (kPlaceSlots - 1);
  for (;;) {
    const uint64_t there = __atomic_load_n(&state.places[at].key, __ATOMIC_ACQUIRE);
    if (there == key || there == 0) return &state.places[at];
    at = (at + 1) & (kPlaceSlots - 1);
  }
}

struct Named {
  char name[kNameBytesMax];
  char type[64];
  char operation[kNameBytesMax];  // operation of the framework from which XLA made the instruction
  uint32_t level;
};

// The types of XLA's ranges.
constexpr const char* kInstruction = "hlo_op";
constexpr const char* kProgram = "hlo_module";

// Makes "PROGRAM/NAME", cut to the size of the buffer.
void put_before(const char* program, char* name) {
  char whole[2 * kNameBytesMax];
  snprintf(whole, sizeof whole, "%s/%s", program, name);
  copy(name, kNameBytesMax, whole, strlen(whole));
}

bool begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

// Reads the value of "KEY=" in XLA's "TITLE:#key=value,key=value#". Returns false if there is none.
bool value_of(const char* text, const char* key, char* value) {
  for (const char* at = text; (at = strstr(at, key)) != nullptr; ++at) {
    if (at == text || (at[-1] != '#' && at[-1] != ',')) continue;
    at += strlen(key);
    copy(value, kNameBytesMax, at, strcspn(at, ",#"));
    return value[0] != '\0';
  }
  return false;
}

uint32_t level_of(const Category* category) {
  const uint32_t level = category == nullptr ? 0 : level_named(category->name);
  return level > 0 && level <= XSP_LEVEL_LIBRARY ? level : uint32_t{XSP_LEVEL_APPLICATION};
}

void name_of_xla(const char* text, Named* result) {
  const char* title = begins(text, "TSL:") ? text + 4 : text;
  const bool is_thunk = begins(title, "Thunk:");
  const bool is_program = begins(title, "XlaModule:");
  if (is_thunk && value_of(title, "hlo_op=", result->name)) {
    (void)value_of(title, "name=", result->operation);
    copy(result->type, sizeof result->type, kInstruction, strlen(kInstruction));
  } else if (is_program && value_of(title, "hlo_module=", result->name)) {
    copy(result->type, sizeof result->type, kProgram, strlen(kProgram));
  } else if (value_of(title, "name=", result->name) || value_of(title, "module=", result->name)) {
    copy(result->type, sizeof result->type, title, strcspn(title, ":#"));
    return;
  } else {
    return;
  }
  result->level = XSP_LEVEL_LAYER;
}

bool is_operator(const Domain* domain, const char* text) {
  return domain == nullptr && (begins(text, "aten::") || begins(text, "autograd::"));
}

// Returns whether names in this domain hold numbers that are cut off: such names are parsed each
// time.
bool has_details(const Domain* domain, const char* text) {
  return domain == nullptr ? is_operator(domain, text) : domain->rule == Rule::kXla;
}

void name_range(const Domain* domain, const Category* category, const char* text, const char* type,
                Named* result) {
  const Rule rule = domain == nullptr ? Rule::kApplication : domain->rule;
  result->level = XSP_LEVEL_APPLICATION;
  result->operation[0] = '\0';
  copy(result->type, sizeof result->type, type, strlen(type));
  copy(result->name, sizeof result->name, text, strlen(text));
  if (is_operator(domain, text)) {
    copy(result->name, sizeof result->name, text, strcspn(text, ","));
    copy(result->type, sizeof result->type, "operator", 8);
    result->level = XSP_LEVEL_LAYER;
  } else if (rule == Rule::kXsp) {
    result->level = level_of(category);
  } else if (rule == Rule::kLibrary) {
    result->level = XSP_LEVEL_LIBRARY;
  } else if (rule == Rule::kXla) {
    name_of_xla(text, result);
  }
}

uint32_t make_site(const Named& what, const Domain* domain, const Category* category,
                   uint32_t category_id) {
  // The same name in two domains or categories makes two sites. But XLA's instructions share one
  // site per name, because the Python code that observes JAX adds facts to the site with that name.
  const bool is_shared = domain != nullptr && domain->rule == Rule::kXla;
  const uint32_t site = is_shared ? xsp_intern_site(what.level, what.name, what.type)
                                  : xsp_new_site(what.level, what.name, what.type);
  if (domain != nullptr) xsp_site_attribute(site, "domain", domain->name);
  if (what.operation[0] != '\0') xsp_site_attribute(site, "operation", what.operation);
  char number[16];
  snprintf(number, sizeof number, "%u", category_id);
  if (category_id != 0) {
    xsp_site_attribute(site, "category", category == nullptr ? number : category->name);
  }
  return site;
}

}  // namespace

void forget_names() { state.mutex = PTHREAD_MUTEX_INITIALIZER; }

Domain* domain_of(const char* name) {
  const Lock lock;
  for (size_t i = 0; i < state.domain_count; ++i) {
    if (strncmp(state.domains[i].name, name, kNameBytesMax - 1) == 0) return &state.domains[i];
  }
  if (state.domain_count == kDomainsMax) return nullptr;
  Domain* domain = &state.domains[state.domain_count++];
  copy(domain->name, sizeof domain->name, name, strlen(name));
  domain->rule = rule_of(name);
  return domain;
}

bool is_xsp(const Domain* domain) { return domain != nullptr && domain->rule == Rule::kXsp; }

void name_category(Domain* domain, uint32_t category, const char* name) {
  const Lock lock;
  if (category_of(domain, category) != nullptr || state.category_count == kCategoriesMax) return;
  Category* made = &state.categories[state.category_count++];
  made->domain = domain;
  made->id = category;
  copy(made->name, sizeof made->name, name, strlen(name));
}

const void* register_string(const char* text) { return strdup(text); }

const char* registered_text(const void* handle) { return static_cast<const char*>(handle); }

const char* narrow(const wchar_t* text, char* buffer) {
  size_t used = 0;
  for (; *text != L'\0' && used + 4 < kNameBytesMax; ++text) {
    const auto code = static_cast<uint32_t>(*text);
    const auto put = [&](uint32_t byte) { buffer[used++] = static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6);
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | (code >> 18 & 0x07));
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }
  buffer[used] = '\0';
  return buffer;
}

Place place_of(Domain* domain, uint32_t category_id, const char* name, const char* type,
               const char* program) {
  Named what;
  const bool is_cut = has_details(domain, name);
  if (is_cut) name_range(domain, nullptr, name, type, &what);
  if (is_cut && program != nullptr && strcmp(what.type, kInstruction) == 0) {
    put_before(program, what.name);
  }
  const uint64_t key = is_cut ? hash_of(domain, category_id, what.name, what.type)
                              : hash_of(domain, category_id, name, type);
  const Slot* known = slot_of(key);
  if (__atomic_load_n(&known->key, __ATOMIC_ACQUIRE) == key) return known->place;
  const Lock lock;
  Slot* slot = slot_of(key);
  if (slot->key == key) return slot->place;
  const Category* category = category_of(domain, category_id);
  if (!is_cut) name_range(domain, category, name, type, &what);
  Place place;
  place.level = what.level;
  place.is_iteration = what.level == XSP_LEVEL_MODEL;
  if (state.place_count == kPlacesMax) {
    place.is_other = true;
    place.site = xsp_intern_site(what.level, "(other ranges)", what.type);
    return place;
  }
  place.site = make_site(what, domain, category, category_id);
  if (strcmp(what.type, kProgram) == 0) place.program = strdup(what.name);
  slot->place = place;
  ++state.place_count;
  __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
  return place;
}

}  // namespace xsp::process::nvtx
