#include "adapters/pjrt/ranges.h"

#include <gtest/gtest.h>

#include "adapters/pjrt/layers.h"
#include "xsp/nvtx_abi.hpp"
#include "xsp/plugin.h"

extern "C" int InitializeInjectionNvtx2(xsp::nvtx_abi::GetExportTable get);

namespace xsp::pjrt {
namespace {

// NVTX as in a program's header: functions that a tool may set.
struct FakeNvtx {
  static constexpr size_t kSize = nvtx_abi::kDomainCreateW + 1;
  static inline nvtx_abi::Function functions[kSize] = {};
  static inline nvtx_abi::Function* table[kSize] = {};

  static const void* exports(uint32_t) {
    static const nvtx_abi::Callbacks callbacks{
        sizeof(nvtx_abi::Callbacks), [](uint32_t module, nvtx_abi::Table* out, unsigned* size) {
          for (size_t i = 0; i < kSize; ++i) table[i] = &functions[i];
          *out = table;
          *size = kSize;
          return module == nvtx_abi::kModuleCore2 ? 1 : 0;
        }};
    return &callbacks;
  }
  template <typename Signature>
  static auto* call(uint32_t id) {
    return reinterpret_cast<Signature*>(functions[id]);
  }
};

nvtx_abi::Event named(const char* text) {
  nvtx_abi::Event event{};
  event.message_type = nvtx_abi::kMessageAscii;
  event.message.ascii = text;
  return event;
}

TEST(PjrtRanges, RangesOfXlaOnTheRunningThreadAreOpenLayers) {
  ASSERT_EQ(InitializeInjectionNvtx2(FakeNvtx::exports), 1);
  EXPECT_TRUE(has_ranges());
  auto* create = FakeNvtx::call<const void*(const char*)>(nvtx_abi::kDomainCreateA);
  auto* push =
      FakeNvtx::call<int(const void*, const nvtx_abi::Event*)>(nvtx_abi::kDomainRangePushEx);
  auto* pop = FakeNvtx::call<int(const void*)>(nvtx_abi::kDomainRangePop);
  const void* xla = create("TSL");
  const void* other = create("NCCL");
  ASSERT_NE(xla, other);
  const auto module = named("XlaModule:#hlo_module=f#"), first = named("Thunk:#hlo_op=a#"),
             second = named("Thunk:#hlo_op=b#"), buffer = named("Thunk:#hlo_op=command_buffer_1#");
  Program program;
  program.instructions[1].name = "a";
  program.instructions[2].name = "b";
  program.by_name = {{"a", 1}, {"b", 2}};
  Layers layers(std::move(program));
  push(xla, &first);  // no model runs
  EXPECT_EQ(xsp_open_layer().site_id, 0u);
  pop(xla);
  {
    const RecordRanges record(&layers);
    push(xla, &module);
    EXPECT_EQ(xsp_open_layer().site_id, 0u);
    push(xla, &buffer);  // not of the program
    EXPECT_EQ(xsp_open_layer().site_id, 0u);
    push(xla, &first);
    const xsp_layer_mark outer = xsp_open_layer();
    EXPECT_EQ(outer.site_id, layers.site("a"));
    nvtx_abi::Event nameless{};
    nameless.message.registered = reinterpret_cast<const void*>(1);  // not set by any tool
    push(xla, &nameless);
    push(xla, nullptr);
    EXPECT_EQ(xsp_open_layer().site_id, outer.site_id);
    pop(xla);
    pop(xla);
    push(other, &second);
    EXPECT_EQ(xsp_open_layer().site_id, outer.site_id);
    pop(other);
    push(xla, &second);
    EXPECT_EQ(xsp_open_layer().site_id, layers.site("b"));
    EXPECT_NE(xsp_open_layer().instance, outer.instance);
    pop(xla);
    EXPECT_EQ(xsp_open_layer().instance, outer.instance);
    pop(xla);
    pop(xla);
    pop(xla);
    EXPECT_EQ(xsp_open_layer().site_id, 0u);
    for (int i = 0; i < 100; ++i) push(xla, &first);  // deeper than is recorded
    for (int i = 0; i < 101; ++i) pop(xla);           // and one too many
    EXPECT_EQ(xsp_open_layer().site_id, 0u);
  }
  EXPECT_EQ(xsp_open_layer().site_id, 0u);
}

TEST(PjrtRanges, AThunkNamesItsInstruction) {
  EXPECT_EQ(instruction_of("Thunk:#name=jit(f)/dot,hlo_op=gemm_fusion.3#"), "gemm_fusion.3");
  EXPECT_EQ(instruction_of("TSL:Thunk:#hlo_op=copy.1,name=a#"), "copy.1");
  EXPECT_EQ(instruction_of("Thunk:#hlo_op=cut"), "cut");
}

TEST(PjrtRanges, OthersNameNone) {
  EXPECT_EQ(instruction_of(""), "");
  EXPECT_EQ(instruction_of("Thunk:"), "");
  EXPECT_EQ(instruction_of("Thunk:#name=hlo_op=x#"), "");
  EXPECT_EQ(instruction_of("XlaModule:#hlo_module=jit_f,program_id=3#"), "");
  EXPECT_EQ(instruction_of("XlaPass:#name=dce,hlo_op=no#"), "");
}

}  // namespace
}  // namespace xsp::pjrt
