// A program with NVTX's ranges and marks, compiled with NVIDIA's own header. It also compares that
// header with the binary interface that xsp declares for itself.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xsp/nvtx_abi.hpp"

namespace abi = xsp::nvtx_abi;

#define SAME(ours, theirs) \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
SAME(abi::kCallbacksTable, NVTX_ETID_CALLBACKS);
SAME(abi::kModuleCore, NVTX_CB_MODULE_CORE);
SAME(abi::kModuleCore2, NVTX_CB_MODULE_CORE2);
SAME(abi::kMarkEx, NVTX_CBID_CORE_MarkEx);
SAME(abi::kRangeStartEx, NVTX_CBID_CORE_RangeStartEx);
SAME(abi::kRangeEnd, NVTX_CBID_CORE_RangeEnd);
SAME(abi::kRangePushEx, NVTX_CBID_CORE_RangePushEx);
SAME(abi::kRangePushW, NVTX_CBID_CORE_RangePushW);
SAME(abi::kRangePop, NVTX_CBID_CORE_RangePop);
SAME(abi::kNameCategoryW, NVTX_CBID_CORE_NameCategoryW);
SAME(abi::kDomainMarkEx, NVTX_CBID_CORE2_DomainMarkEx);
SAME(abi::kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
SAME(abi::kDomainNameCategoryA, NVTX_CBID_CORE2_DomainNameCategoryA);
SAME(abi::kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(abi::kDomainCreateW, NVTX_CBID_CORE2_DomainCreateW);
SAME(abi::kPayloadUint64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(abi::kPayloadFloat, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(abi::kMessageAscii, NVTX_MESSAGE_TYPE_ASCII);
SAME(abi::kMessageRegistered, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(abi::kNoDepth, NVTX_NO_PUSH_POP_TRACKING);
SAME(sizeof(abi::Event), sizeof(nvtxEventAttributes_t));
SAME(offsetof(abi::Event, category), offsetof(nvtxEventAttributes_t, category));
SAME(offsetof(abi::Event, payload_type), offsetof(nvtxEventAttributes_t, payloadType));
SAME(offsetof(abi::Event, payload), offsetof(nvtxEventAttributes_t, payload));
SAME(offsetof(abi::Event, message_type), offsetof(nvtxEventAttributes_t, messageType));
SAME(offsetof(abi::Event, message), offsetof(nvtxEventAttributes_t, message));
SAME(offsetof(abi::Callbacks, get_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));

namespace {

nvtxEventAttributes_t event(const char* name, uint32_t category = 0) {
  nvtxEventAttributes_t result{};
  result.version = NVTX_VERSION;
  result.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  result.category = category;
  result.messageType = NVTX_MESSAGE_TYPE_ASCII;
  result.message.ascii = name;
  return result;
}

void default_domain() {
  printf("%d ", nvtxRangePushA("outer"));
  printf("%d\n", nvtxRangePushW(L"inner \u00e9"));
  nvtxMarkA("here");
  for (int i = 0; i < 3; ++i) printf("%d ", nvtxRangePop());
  nvtxNameCategoryA(7, "loading");
  nvtxEventAttributes_t one = event("with payload", 7);
  one.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  one.payload.dValue = 2.5;
  nvtxRangePushEx(&one);
  nvtxRangePop();
  nvtxRangePushA("aten::conv2d, op_id = 4, seq = 2");
  nvtxRangePop();
}

// Ranges of two domains may overlap.
void domains() {
  const nvtxDomainHandle_t a = nvtxDomainCreateA("A");
  const nvtxDomainHandle_t b = nvtxDomainCreateA("cuBLASLt");
  nvtxEventAttributes_t in_a = event("of a");
  in_a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  in_a.message.registered = nvtxDomainRegisterStringA(a, "registered");
  const nvtxEventAttributes_t in_b = event("gemm");
  nvtxDomainRangePushEx(a, &in_a);
  nvtxDomainRangePushEx(b, &in_b);
  nvtxDomainRangePop(a);
  nvtxDomainRangePop(b);
}

// Makes three steps, as iterations of a model.
void steps() {
  const nvtxDomainHandle_t xsp = nvtxDomainCreateA("xsp");
  nvtxDomainNameCategoryA(xsp, 1, "model");
  nvtxDomainNameCategoryA(xsp, 2, "layer");
  const nvtxEventAttributes_t step = event("step", 1);
  const nvtxEventAttributes_t part = event("part", 2);
  for (int i = 0; i < 3; ++i) {
    nvtxDomainRangePushEx(xsp, &step);
    nvtxDomainRangePushEx(xsp, &part);
    nvtxDomainRangePop(xsp);
    nvtxDomainRangePop(xsp);
  }
}

// Marks report the ends of steps.
void marks() {
  const nvtxDomainHandle_t xsp = nvtxDomainCreateA("xsp");
  const nvtxEventAttributes_t step = event("step");
  for (int i = 0; i < 4; ++i) nvtxDomainMarkEx(xsp, &step);
}

void xla() {
  const nvtxDomainHandle_t tsl = nvtxDomainCreateA("TSL");
  const nvtxEventAttributes_t program =
      event("TSL:XlaModule:#prefix=jit(f),hlo_module=jit_f,program_id=3#");
  const nvtxEventAttributes_t thunk =
      event("Thunk:#name=jit(f)/add,hlo_op=fusion.1,unique_hlo_op_id=7#");
  nvtxDomainRangePushEx(tsl, &program);
  nvtxDomainRangePushEx(tsl, &thunk);
  nvtxDomainRangePop(tsl);
  nvtxDomainRangePop(tsl);
  const char* const passes[] = {"XlaPass:#name=cse,module=a,program_id=1#",
                                "XlaPass:#name=cse,module=b#"};
  for (const char* name : passes) {
    const nvtxEventAttributes_t pass = event(name);
    nvtxDomainRangePushEx(tsl, &pass);
    nvtxDomainRangePop(tsl);
  }
}

void* end_it(void* id) {
  nvtxRangeEnd(*static_cast<nvtxRangeId_t*>(id));
  return nullptr;
}

// A range that this thread starts and another thread ends.
void started() {
  nvtxRangeId_t id = nvtxRangeStartA("across threads");
  pthread_t thread;
  pthread_create(&thread, nullptr, end_it, &id);
  pthread_join(thread, nullptr);
  nvtxRangeEnd(id);  // it has ended: this has no effect
}

void in_child() {
  nvtxRangePushA("of the parent");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    nvtxRangePop();
    nvtxRangePushA("of the child");
    nvtxRangePop();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  nvtxRangePop();
}

void many() {
  for (int i = 0; i < 6000; ++i) {
    char name[32];
    snprintf(name, sizeof name, "number %d", i);
    nvtxRangePushA(name);
    nvtxRangePop();
  }
  for (int i = 0; i < 1000; ++i) nvtxRangePushA("deep");
  for (int i = 0; i < 1000; ++i) nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "default") == 0) default_domain();
    if (strcmp(argv[i], "domains") == 0) domains();
    if (strcmp(argv[i], "steps") == 0) steps();
    if (strcmp(argv[i], "marks") == 0) marks();
    if (strcmp(argv[i], "xla") == 0) xla();
    if (strcmp(argv[i], "started") == 0) started();
    if (strcmp(argv[i], "fork") == 0) in_child();
    if (strcmp(argv[i], "many") == 0) many();
  }
  return 0;
}
