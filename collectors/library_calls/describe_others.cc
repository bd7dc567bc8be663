// Reads cuFFT's plans, NCCL's communicators and oneDNN's primitives.
#include <stdint.h>

#include "collectors/library_calls/describe.h"
#include "collectors/library_calls/kept.h"
#include "library_calls/headers.h"

namespace xsp::library_calls {

// ---- cuFFT --------------------------------------------------------------------------------------

namespace {
// Plans of cuFFT are small numbers, from 0 on; no pointer has the handle's highest bit.
uint64_t handle_of_fft(int32_t plan) { return (uint64_t{1} << 63) | static_cast<uint32_t>(plan); }
}  // namespace

void keep_fft(int32_t plan, const Problem& problem) { keep(handle_of_fft(plan), problem); }

void describe_fft(Problem* problem, const Function*, int32_t plan) {
  add_kept(problem, handle_of_fft(plan));
}

// ---- NCCL ---------------------------------------------------------------------------------------

namespace {
using GetNumber = int(void* communicator, int32_t* number);
Sibling<GetNumber> get_ranks{"ncclCommCount"};
Sibling<GetNumber> get_rank{"ncclCommUserRank"};
}  // namespace

void describe_communicator(Problem* problem, const Function* function, void* communicator,
                           const Field* fields) {
  if (communicator == nullptr) return;
  for (Sibling<GetNumber>* sibling : {&get_ranks, &get_rank}) {
    GetNumber* get = sibling->of(function);
    int32_t number = 0;
    if (get != nullptr && get(communicator, &number) == 0) problem->add(fields, number);
    ++fields;
  }
}

// ---- oneDNN -------------------------------------------------------------------------------------

namespace {

using GetDescriptor = int(void* primitive, void** descriptor);
using Query = int(void* descriptor, int what, int index, void* result);
using QueryMemory = void*(void* descriptor, int what, int index);
using MemoryQuery = int(void* memory, int what, void* result);
using NameOf = const char*(int kind);
Sibling<GetDescriptor> get_descriptor{"dnnl_primitive_get_primitive_desc"};
Sibling<Query> query{"dnnl_primitive_desc_query"};
Sibling<QueryMemory> query_memory{"dnnl_primitive_desc_query_md"};
Sibling<MemoryQuery> memory_query{"dnnl_memory_desc_query"};
Sibling<NameOf> name_of_kind{"dnnl_prim_kind2str"};

// Declares the fields with which dnnl_memory_desc_t of oneDNN 2 begins.
struct MemoryV2 {
  int32_t count;
  int64_t dimensions[12];
  int32_t type;
};
// oneDNN 3 hides it behind dnnl_memory_desc_query, whose query numbers follow
// dnnl_query_exec_arg_md.
constexpr int kCountV3 = 256;
constexpr int kDimensionsV3 = 257;
constexpr int kTypeV3 = 258;

void add_memory(Problem* problem, const Function* function, void* memory, const Field* fields) {
  if (memory == nullptr) return;
  int32_t count = 0;
  int32_t type = 0;
  const int64_t* dimensions = nullptr;
  MemoryQuery* ask = memory_query.of(function);
  if (ask == nullptr) {
    const auto* known = static_cast<const MemoryV2*>(memory);
    count = known->count;
    type = known->type;
    dimensions = known->dimensions;
  } else if (ask(memory, kCountV3, &count) != 0 || ask(memory, kTypeV3, &type) != 0 ||
             ask(memory, kDimensionsV3, &dimensions) != 0) {
    return;
  }
  if (count == 0) return;
  problem->add(&fields[0], type);
  add_list(problem, &fields[1], dimensions, count);
}

}  // namespace

void describe_primitive(Problem* problem, const Function* function, void* primitive,
                        const Field* fields) {
  GetDescriptor* get = get_descriptor.of(function);
  Query* ask = query.of(function);
  QueryMemory* ask_memory = query_memory.of(function);
  NameOf* name = name_of_kind.of(function);
  void* descriptor = nullptr;
  if (get == nullptr || ask == nullptr || get(primitive, &descriptor) != 0) return;
  int32_t kind = 0;
  if (name != nullptr && ask(descriptor, dnnl_query_primitive_kind, 0, &kind) == 0) {
    problem->add(&fields[0], name(kind));
  }
  const char* implementation = nullptr;
  if (ask(descriptor, dnnl_query_impl_info_str, 0, &implementation) == 0) {
    problem->add(&fields[1], implementation);
  }
  if (ask_memory == nullptr) return;
  const auto add = [&](int what, const Field* to) {
    add_memory(problem, function, ask_memory(descriptor, what, 0), to);
  };
  add(dnnl_query_src_md, fields + 2);
  add(dnnl_query_weights_md, fields + 4);
  add(dnnl_query_dst_md, fields + 6);
}

}  // namespace xsp::library_calls
