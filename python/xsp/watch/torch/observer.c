#include "observer.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calls.h"
#include "operators.h"
#include "thread.h"
#include "values.h"

/* at::RecordScope */
enum { FUNCTION = 0, BACKWARD_FUNCTION = 1, TORCHSCRIPT_FUNCTION = 2, USER_SCOPE = 7 };

/* StartCallback's result begins with a std::unique_ptr. The C++ ABI returns classes that are not
 * trivial through memory of the caller. */
typedef void** (*Start)(void** context, const void* function);
typedef void (*End)(const void* function, void* context);

/* at::RecordFunctionCallback, which is the same from torch 1.10 to 2.15. */
#define SCOPE_COUNT 10u
typedef struct Callback {
  Start start;
  End end;
  double sampling_probability;
  unsigned char scopes[SCOPE_COUNT];
  unsigned char needs_inputs;
  unsigned char needs_outputs;
  unsigned char others[4]; /* flags that stay false */
} Callback;

typedef struct Torch {
  uint64_t (*add)(Callback callback);
  void (*remove)(uint64_t handle);
  const char* (*name)(const void* function);
  int (*is_async)(const void* function);
  uint64_t (*next_number)(void);
  uint64_t (*this_thread)(void); /* torch's own number of a thread, from 1; NULL: not known */
  /* Each of these may be NULL: not known. Later releases replaced the second and third by the
   * fourth. */
  unsigned char (*has_gradients)(void);
  unsigned char (*is_autocast_gpu)(void);
  unsigned char (*is_autocast_cpu)(void);
  unsigned char (*is_autocast)(signed char device);
  size_t (*input_count)(const void* function); /* NULL: shapes are not known */
  size_t (*output_count)(const void* function);
} Torch;
static Torch torch;

#define CALLBACK_COUNT 3
static uint64_t handles[CALLBACK_COUNT];
/* These owners stand for calls that belong to a phase, but to no known module. */
static uint32_t backward_owner;
static uint32_t optimizer_owner;
static int is_understood;
static int is_observing;
static int is_looking; /* observes the inputs and outputs of operators */

static inline int64_t number_of(const void* function, size_t offset) {
  int64_t number;
  memcpy(&number, (const char*)function + offset, sizeof number);
  return number;
}

/* ---- The layout of an at::RecordFunction ---- */

#define WORDS_MAX 64u /* its size is at least this: it has 300 to 400 bytes */
/* The thread whose operators are checked; NULL: none. Operators of other threads are not recorded
 * meanwhile. */
static const Thread* checked_thread;
static uint64_t candidates; /* words that held the number each time, as bits */
static uint32_t checks;
static size_t number_offset;
static size_t inputs_offset; /* place of the first input's address, followed by their number; 0: not
                                known */
static size_t outputs_offset; /* place of the std::vector of outputs */
static size_t thread_offset;  /* place of the number of the thread that made a node; 0: not known */
static int has_shapes;        /* everything that is needed to report shapes is known */

#define STACK_BYTES 16384u /* the inputs lie on the stack, at most this far from here */
static Example examples[XSP_EXAMPLES] = {
    {NULL, 4, {2, 3, 4, 5}, 6}, {NULL, 2, {7, 6}, 7}, {NULL, 1, {3}, 15}};

static inline Values values_at(const void* function, size_t offset) {
  Values values;
  memcpy(&values, (const char*)function + offset, sizeof values);
  return values;
}

static void check_inputs(const void* function, const Example* example) {
  if (example->address == NULL) return;
  for (size_t offset = 8; offset < (WORDS_MAX - 1) * 8; offset += 8) {
    const Values values = values_at(function, offset);
    const uintptr_t distance = (uintptr_t)values.at - (uintptr_t)&values;
    if (values.count != 1 || distance > STACK_BYTES || distance % 8 != 0) continue;
    if (inputs_offset != 0 && offset != inputs_offset) continue;
    if (xsp_values_are(values, example)) {
      inputs_offset = offset;
      return;
    }
  }
}

static void check_function(const void* function) {
  if (strcmp(torch.name(function), "aten::cat") == 0 && inputs_offset != 0) {
    xsp_values_have_list(values_at(function, inputs_offset), &examples[0]);
  }
  if (strcmp(torch.name(function), "aten::exp") != 0) return;
  const int64_t expected = (int64_t)torch.next_number();
  uint64_t found = 0;
  for (size_t i = 1; i < WORDS_MAX; ++i) {
    if (number_of(function, i * 8) == expected) found |= (uint64_t)1 << i;
  }
  candidates = checks == 0 ? found : candidates & found;
  if (checks < XSP_EXAMPLES) check_inputs(function, &examples[checks]);
  ++checks;
}

#define VECTOR_BYTES 24u

/* The outputs follow the inputs; in later releases a table of at most 64 bytes lies between them.
 */
static void check_outputs(const void* function) {
  if (inputs_offset == 0 || checks == 0 || checks > XSP_EXAMPLES) return;
  if (strcmp(torch.name(function), "aten::exp") != 0) return;
  Example result = examples[checks - 1];
  result.address = NULL;
  for (size_t offset = inputs_offset + 16; offset <= inputs_offset + 80; offset += 8) {
    if (outputs_offset != 0 && offset != outputs_offset) continue;
    const Values values = xsp_values_of_vector((const char*)function + offset);
    if (values.count == 1 && xsp_values_are(values, &result)) outputs_offset = offset;
  }
  /* The thread's number lies behind them in all releases. It is 0 for operators. */
  if (outputs_offset != 0 && number_of(function, outputs_offset + VECTOR_BYTES) != 0) {
    torch.this_thread = NULL;
  }
}

/* ---- Finds the module in which a node of the autograd graph was made ---- */

#define NODES_MAX \
  (1u << 17) /* a power of two: nodes that one step makes; later ones replace them */
typedef struct Node {
  int64_t number;    /* each thread counts its own nodes */
  uint64_t thread;   /* 0 if that is not known */
  uint64_t position; /* position of the operator that made it */
  uint32_t owner;
} Node;
static Node nodes[NODES_MAX];

static inline Node* node_at(int64_t number, uint64_t thread) {
  return &nodes[((uint64_t)number + thread * (NODES_MAX / 8 + 1)) & (NODES_MAX - 1)];
}

static void note_node(Thread* thread, int64_t number, uint32_t owner) {
  if (thread->now.torch_number == 0 && thread_offset != 0) {
    thread->now.torch_number = torch.this_thread();
  }
  const uint64_t this_thread = thread->now.torch_number;
  Node* node = node_at(number, this_thread);
  __atomic_store_n(&node->position, xsp_next_position_of(thread), __ATOMIC_RELAXED);
  __atomic_store_n(&node->thread, this_thread, __ATOMIC_RELAXED);
  __atomic_store_n(&node->number, number, __ATOMIC_RELAXED);
  __atomic_store_n(&node->owner, owner, __ATOMIC_RELAXED);
}

/* Returns the owner of the node that is being called, or 0. */
static uint32_t find_node(const void* function, uint64_t* position) {
  *position = 0;
  const int64_t number = number_of(function, number_offset);
  if (number < 0) return 0;
  const uint64_t thread = thread_offset != 0 ? (uint64_t)number_of(function, thread_offset) : 0;
  const Node* node = node_at(number, thread);
  const uint32_t owner = __atomic_load_n(&node->owner, __ATOMIC_RELAXED);
  const uint64_t there = __atomic_load_n(&node->position, __ATOMIC_RELAXED);
  if (__atomic_load_n(&node->thread, __ATOMIC_RELAXED) != thread) return 0;
  if (__atomic_load_n(&node->number, __ATOMIC_RELAXED) != number) return 0;
  *position = there;
  return owner;
}

/* ---- Callbacks of torch ---- */

static inline uint32_t owner_on(Thread* thread) {
  const Call* call = xsp_innermost_of(thread);
  return call != NULL ? call->owner : 0;
}

static const Thread* checked_now(void) {
  return __atomic_load_n(&checked_thread, __ATOMIC_RELAXED);
}

/* Returns the thread, if its current work is to be recorded. */
static inline Thread* recorded_thread(void) {
  if (!xsp_is_recorded(XSP_LEVEL_LAYER) || checked_now() != NULL) return NULL;
  return xsp_this_thread();
}

static int begins(const char* name, const char* prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Returns the values of an operator. A script's interpreter shows its whole stack: the operator's
 * values lie on top. */
static Values top_of(Values values, size_t count) {
  if (count >= values.count) return values;
  values.at += (values.count - count) * XSP_VALUE_BYTES;
  values.count = count;
  return values;
}

static void** start_operator(void** context, const void* function) {
  *context = NULL;
  Thread* thread = recorded_thread();
  if (thread == NULL) {
    if (checked_now() != NULL && checked_now() == xsp_thread_here) check_function(function);
    return context;
  }
  const char* name = torch.name(function);
  uint32_t owner = owner_on(thread);
  Values values = {NULL, 0};
  const Values* inputs = NULL;
  if (has_shapes && is_looking) {
    values = values_at(function, inputs_offset);
    if (values.count != 0) inputs = &values;
  } else if (has_shapes) {
    inputs = &xsp_values_unseen;
  }
  /* The engine of backward passes does this around each node, but does not tell which node it is.
   */
  if (name[1] == 'u' && begins(name, "autograd::engine::")) {
    owner = backward_owner;
    inputs = NULL;
    xsp_thread_is_busy();
  }
  if (inputs == &values) values = top_of(values, torch.input_count(function));
  const int64_t number = number_of(function, number_offset);
  if (number >= 0) note_node(thread, number, owner);
  *context = (void*)xsp_operator_open(owner, name, inputs);
  return context;
}

static void end_operator(const void* function, void* context) {
  if (checked_now() != NULL && checked_now() == xsp_thread_here) check_outputs(function);
  Call* call = context;
  if (call != NULL && call->hash != 0) {
    const Values outputs = xsp_values_of_vector((const char*)function + outputs_offset);
    xsp_operator_returns(call, torch.name(function), top_of(outputs, torch.output_count(function)));
  }
  xsp_call_close(call);
}

static void** start_node(void** context, const void* function) {
  *context = NULL;
  Thread* thread = recorded_thread();
  if (thread == NULL) return context;
  uint32_t site = 0;
  uint64_t position = 0;
  const uint32_t forward = find_node(function, &position);
  uint32_t owner = xsp_owner_backward(forward, &site);
  if (owner == 0) owner = backward_owner;
  Call* engine = xsp_innermost_of(thread);
  if (engine != NULL && engine->level == XSP_LEVEL_LAYER && engine->owner == backward_owner) {
    engine->owner = owner; /* also for its work after the end of the node */
    engine->position = position != 0 ? position + 2 : 0;
  }
  Call* module = site == 0 ? NULL : xsp_call_open(XSP_LEVEL_LAYER, site, owner);
  Call* node = xsp_operator_open(owner, torch.name(function), NULL);
  if (node != NULL) {
    node->is_pair = module != NULL;
    node->position = position != 0 ? position + 4 : 0;
    node->is_inner = 1; /* modules that are called again, because their results were not kept */
  }
  *context = node != NULL ? node : module;
  return context;
}

/* Records ranges of the program and of torch itself. Ranges that end on another thread are left
 * out. */
static void** start_range(void** context, const void* function) {
  *context = NULL;
  Thread* thread = recorded_thread();
  if (thread == NULL || torch.is_async(function)) return context;
  const char* name = torch.name(function);
  uint32_t owner = owner_on(thread);
  if (owner == 0 && begins(name, "Optimizer.")) owner = optimizer_owner;
  *context = (void*)xsp_operator_open(owner, name, NULL);
  return context;
}

static void end_any(const void* function, void* context) {
  (void)function;
  xsp_call_close(context);
}

/* ---- Starting and stopping ---- */

static void observe_operators(void) {
  Callback callback = {start_operator, end_operator, 1.0, {0}, 0, 0, {0}};
  callback.scopes[FUNCTION] = callback.scopes[TORCHSCRIPT_FUNCTION] = 1;
  callback.needs_inputs = callback.needs_outputs = (unsigned char)is_looking;
  handles[0] = torch.add(callback);
}

static void observe(int is_on) {
  if (is_on == is_observing) return;
  is_observing = is_on;
  if (!is_on) {
    for (int i = 0; i < CALLBACK_COUNT; ++i) torch.remove(handles[i]);
    return;
  }
  observe_operators();
  Callback callback = {start_node, end_any, 1.0, {0}, 0, 0, {0}};
  callback.scopes[BACKWARD_FUNCTION] = 1;
  handles[1] = torch.add(callback);
  callback = (Callback){start_range, end_any, 1.0, {0}, 0, 0, {0}};
  callback.scopes[USER_SCOPE] = 1;
  handles[2] = torch.add(callback);
}

static int look_up(void* library, const char* symbol, void* function) {
  void* const found = dlsym(library, symbol);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

const char* xsp_observer_prepare(const char* library, const void* const* tensors) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return "its library is not loaded";
  const int has_all =
      look_up(handle, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &torch.add) &&
      look_up(handle, "_ZN2at14removeCallbackEm", &torch.remove) &&
      look_up(handle, "_ZNK2at14RecordFunction4nameEv", &torch.name) &&
      look_up(handle, "_ZNK2at14RecordFunction7isAsyncEv", &torch.is_async) &&
      look_up(handle, "_ZN2at15sequence_number4peekEv", &torch.next_number);
  if (!has_all) return "its library lacks functions that tell of operators";
  if (!look_up(handle, "_ZNK2at14RecordFunction10num_inputsEv", &torch.input_count) ||
      !look_up(handle, "_ZNK2at14RecordFunction11num_outputsEv", &torch.output_count)) {
    tensors = NULL;
  }
  for (size_t i = 0; i < XSP_EXAMPLES; ++i) examples[i].address = tensors ? tensors[i] : NULL;
  xsp_values_forget();
  look_up(handle, "_ZN2at14RecordFunction15currentThreadIdEv", &torch.this_thread);
  look_up(handle, "_ZN3c108GradMode10is_enabledEv", &torch.has_gradients);
  look_up(handle, "_ZN2at8autocast10is_enabledEv", &torch.is_autocast_gpu);
  look_up(handle, "_ZN2at8autocast14is_cpu_enabledEv", &torch.is_autocast_cpu);
  look_up(handle, "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE", &torch.is_autocast);
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return "there is no memory";
  __atomic_store_n(&checked_thread, thread, __ATOMIC_RELAXED);
  is_looking = 1;
  checks = 0;
  observe(1);
  return NULL;
}

const char* xsp_observer_check(void) {
  __atomic_store_n(&checked_thread, NULL, __ATOMIC_RELAXED);
  observe(0);
  if (checks < XSP_EXAMPLES || candidates == 0)
    return "what it tells of operators is not understood";
  backward_owner = xsp_owner_new("", "", XSP_PHASE_BACKWARD);
  optimizer_owner = xsp_owner_new("", "", XSP_PHASE_OPTIMIZER);
  number_offset = (size_t)__builtin_ctzll(candidates) * 8;
  is_looking = has_shapes = outputs_offset != 0 && xsp_values_are_understood();
  if (has_shapes && torch.this_thread != NULL) thread_offset = outputs_offset + VECTOR_BYTES;
  is_understood = 1;
  xsp_observer_follow();
  return NULL;
}

void xsp_observer_follow(void) {
  if (is_understood) observe(xsp_is_recorded(XSP_LEVEL_LAYER));
}

void xsp_observer_look(int is_wanted) {
  if (!has_shapes || is_wanted == is_looking) return;
  is_looking = is_wanted;
  if (!is_observing) return;
  torch.remove(handles[0]);
  observe_operators();
}

int xsp_observer_has_shapes(void) { return has_shapes; }

unsigned xsp_observer_modes(void) {
  unsigned modes = 0;
  if (torch.has_gradients != NULL) modes |= torch.has_gradients() & 1u;
  if (torch.is_autocast != NULL) {
    for (signed char device = 0; device < 2; ++device) { /* c10::DeviceType: CPU, CUDA */
      modes |= (torch.is_autocast(device) & 1u) << (1 + device);
    }
  } else {
    if (torch.is_autocast_cpu != NULL) modes |= (torch.is_autocast_cpu() & 1u) << 1;
    if (torch.is_autocast_gpu != NULL) modes |= (torch.is_autocast_gpu() & 1u) << 2;
  }
  return modes;
}
