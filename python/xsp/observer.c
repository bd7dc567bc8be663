#include "observer.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calls.h"

/* at::RecordScope */
enum { FUNCTION = 0, BACKWARD_FUNCTION = 1, TORCHSCRIPT_FUNCTION = 2, USER_SCOPE = 7 };

/* The start of at::RecordFunction::StartCallback's result, a std::unique_ptr: returned through
 * memory of the caller, as the C++ ABI has it for classes that are not trivial. */
typedef void** (*Start)(void** context, const void* function);
typedef void (*End)(const void* function, void* context);

/* at::RecordFunctionCallback, the same from torch 1.10 to 2.15. What follows the scopes are flags
 * that ask for more; they are all false here, so that it does not matter how many scopes there
 * are. */
typedef struct Callback {
  Start start;
  End end;
  double sampling_probability;
  unsigned char scopes[16];
} Callback;

typedef struct Torch {
  uint64_t (*add)(Callback callback);
  void (*remove)(uint64_t handle);
  const char* (*name)(const void* function);
  int (*is_async)(const void* function);
  uint64_t (*next_number)(void);
} Torch;
static Torch torch;

#define CALLBACK_COUNT 3
static uint64_t handles[CALLBACK_COUNT];
/* Of what belongs to a phase, and to no module that is known. */
static uint32_t backward_owner;
static uint32_t optimizer_owner;
static int is_understood;
static int is_observing;

static inline int64_t number_of(const void* function, size_t offset) {
  int64_t number;
  memcpy(&number, (const char*)function + offset, sizeof number);
  return number;
}

/* ---- Where the sequence number lies ---- */

#define WORDS_MAX 64u /* of an at::RecordFunction, at least: it is 300 to 400 bytes */
#define CHECKS_MIN 3u
static __thread int is_checking;
static uint64_t candidates; /* words that held the number each time, as bits */
static uint32_t checks;
static size_t number_offset;

static void check_function(const void* function) {
  if (strcmp(torch.name(function), "aten::exp") != 0) return;
  const int64_t expected = (int64_t)torch.next_number();
  uint64_t found = 0;
  for (size_t i = 1; i < WORDS_MAX; ++i) {
    if (number_of(function, i * 8) == expected) found |= (uint64_t)1 << i;
  }
  candidates = checks == 0 ? found : candidates & found;
  ++checks;
}

/* ---- Which module a node of the autograd graph was made in ---- */

#define NODES_MAX \
  (1u << 17) /* a power of two: nodes that one step makes; later ones replace them */
typedef struct Node {
  int64_t number;
  uint32_t owner;
} Node;
static Node nodes[NODES_MAX];

static void note_node(int64_t number, uint32_t owner) {
  Node* node = &nodes[(uint64_t)number & (NODES_MAX - 1)];
  __atomic_store_n(&node->number, number, __ATOMIC_RELAXED);
  __atomic_store_n(&node->owner, owner, __ATOMIC_RELAXED);
}

static uint32_t owner_of_node(int64_t number) {
  if (number < 0) return 0;
  const Node* node = &nodes[(uint64_t)number & (NODES_MAX - 1)];
  const uint32_t owner = __atomic_load_n(&node->owner, __ATOMIC_RELAXED);
  return __atomic_load_n(&node->number, __ATOMIC_RELAXED) == number ? owner : 0;
}

/* ---- What torch calls ---- */

static inline uint32_t owner_here(void) {
  const Call* call = xsp_call_innermost();
  return call != NULL ? call->owner : 0;
}

static int begins(const char* name, const char* prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void** start_operator(void** context, const void* function) {
  *context = NULL;
  if (is_checking) {
    check_function(function);
    return context;
  }
  if (!xsp_is_recorded(XSP_LEVEL_LAYER)) return context;
  const char* name = torch.name(function);
  uint32_t owner = owner_here();
  /* What the engine of backward passes does around each node: which node, it does not tell. */
  if (name[1] == 'u' && begins(name, "autograd::engine::")) {
    owner = backward_owner;
    xsp_thread_is_busy();
  }
  const int64_t number = number_of(function, number_offset);
  if (number >= 0) note_node(number, owner);
  const uint32_t site = xsp_operator_site(owner, XSP_LEVEL_LAYER, name);
  *context = xsp_call_open(XSP_LEVEL_LAYER, site, owner);
  return context;
}

static void** start_node(void** context, const void* function) {
  *context = NULL;
  if (is_checking || !xsp_is_recorded(XSP_LEVEL_LAYER)) return context;
  uint32_t site = 0;
  uint32_t owner = xsp_owner_backward(owner_of_node(number_of(function, number_offset)), &site);
  if (owner == 0) owner = backward_owner;
  Call* engine = xsp_call_innermost();
  if (engine != NULL && engine->level == XSP_LEVEL_LAYER && engine->owner == backward_owner) {
    engine->owner = owner; /* also of what it does when the node has ended */
  }
  Call* module = site == 0 ? NULL : xsp_call_open(XSP_LEVEL_LAYER, site, owner);
  site = xsp_operator_site(owner, XSP_LEVEL_LAYER, torch.name(function));
  Call* node = xsp_call_open(XSP_LEVEL_LAYER, site, owner);
  if (node != NULL) {
    node->is_pair = module != NULL;
    node->is_inner = 1; /* modules that are called again, for what was not kept of them */
  }
  *context = node != NULL ? node : module;
  return context;
}

/* Ranges of the program and of torch itself. Those that end elsewhere are left out. */
static void** start_range(void** context, const void* function) {
  *context = NULL;
  if (is_checking || torch.is_async(function)) return context;
  if (!xsp_is_recorded(XSP_LEVEL_LAYER)) return context;
  const char* name = torch.name(function);
  uint32_t owner = owner_here();
  if (owner == 0 && begins(name, "Optimizer.")) owner = optimizer_owner;
  const uint32_t site = xsp_operator_site(owner, XSP_LEVEL_LAYER, name);
  *context = xsp_call_open(XSP_LEVEL_LAYER, site, owner);
  return context;
}

static void end_any(const void* function, void* context) {
  (void)function;
  xsp_call_close(context);
}

/* ---- Starting and stopping ---- */

static void observe(int is_on) {
  if (is_on == is_observing) return;
  is_observing = is_on;
  if (!is_on) {
    for (int i = 0; i < CALLBACK_COUNT; ++i) torch.remove(handles[i]);
    return;
  }
  Callback callback = {start_operator, end_any, 1.0, {0}};
  callback.scopes[FUNCTION] = callback.scopes[TORCHSCRIPT_FUNCTION] = 1;
  handles[0] = torch.add(callback);
  callback = (Callback){start_node, end_any, 1.0, {0}};
  callback.scopes[BACKWARD_FUNCTION] = 1;
  handles[1] = torch.add(callback);
  callback = (Callback){start_range, end_any, 1.0, {0}};
  callback.scopes[USER_SCOPE] = 1;
  handles[2] = torch.add(callback);
}

static int look_up(void* library, const char* symbol, void* function) {
  void* const found = dlsym(library, symbol);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

const char* xsp_observer_prepare(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return "its library is not loaded";
  const int has_all =
      look_up(handle, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &torch.add) &&
      look_up(handle, "_ZN2at14removeCallbackEm", &torch.remove) &&
      look_up(handle, "_ZNK2at14RecordFunction4nameEv", &torch.name) &&
      look_up(handle, "_ZNK2at14RecordFunction7isAsyncEv", &torch.is_async) &&
      look_up(handle, "_ZN2at15sequence_number4peekEv", &torch.next_number);
  if (!has_all) return "its library lacks functions that tell of operators";
  is_checking = 1;
  checks = 0;
  observe(1);
  return NULL;
}

const char* xsp_observer_check(void) {
  is_checking = 0;
  observe(0);
  if (checks < CHECKS_MIN || candidates == 0) return "what it tells of operators is not understood";
  backward_owner = xsp_owner_new("", "", XSP_PHASE_BACKWARD);
  optimizer_owner = xsp_owner_new("", "", XSP_PHASE_OPTIMIZER);
  number_offset = (size_t)__builtin_ctzll(candidates) * 8;
  is_understood = 1;
  xsp_observer_follow();
  return NULL;
}

void xsp_observer_follow(void) {
  if (is_understood) observe(xsp_is_recorded(XSP_LEVEL_LAYER));
}
