// nvtx_abi.hpp: NVTX as a tool sees it. It has the part of version 3's binary interface that xsp
// uses. That part has been the same since 3.0 (2018), and cannot change, because programs have it
// compiled in.
//
// A program calls functions of a header. The first call loads the library that
// $NVTX_INJECTION64_PATH names, and hands it a table of pointers to the program's function
// pointers, which the tool sets. Every shared object that was compiled with the header has its own
// tables. The names and numbers are those of nvtx3/nvtxDetail/nvtxTypes.h and nvtx3/nvToolsExt.h.
// The header itself is not used, so that xsp builds without it. A test compares the two.
#ifndef XSP_NVTX_ABI_HPP_
#define XSP_NVTX_ABI_HPP_

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

namespace xsp::nvtx_abi {

// NvtxExportTableID, NvtxCallbackModule
inline constexpr uint32_t kCallbacksTable = 1;
inline constexpr uint32_t kModuleCore = 1;
inline constexpr uint32_t kModuleCore2 = 5;

// NvtxCallbackIdCore
enum Core : uint32_t {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kNameCategoryA,
  kNameCategoryW
};
// NvtxCallbackIdCore2
enum Core2 : uint32_t {
  kDomainMarkEx = 1,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainNameCategoryA = 8,
  kDomainNameCategoryW,
  kDomainRegisterStringA,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW
};

// nvtxPayloadType_t, nvtxMessageType_t
enum Payload : int32_t {
  kPayloadUint64 = 1,
  kPayloadInt64,
  kPayloadDouble,
  kPayloadUint32,
  kPayloadInt32,
  kPayloadFloat
};
enum Message : int32_t { kMessageAscii = 1, kMessageUnicode, kMessageRegistered };

// nvtxEventAttributes_t. The struct of a newer version is longer.
struct Event {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  union {
    uint64_t as_uint64;
    int64_t as_int64;
    double as_double;
    uint32_t as_uint32;
    int32_t as_int32;
    float as_float;
  } payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* unicode;
    const void* registered;
  } message;
};

using Function = void (*)();
using Table = Function**;  // pointers to function pointers; null: not in this version

// NvtxExportTableCallbacks
struct Callbacks {
  size_t struct_size;
  int (*get_table)(uint32_t module, Table* table, unsigned* size);
};
using GetExportTable = const void* (*)(uint32_t id);

// The result of nvtxRangePush and nvtxRangePop if there is no depth (NVTX_NO_PUSH_POP_TRACKING).
inline constexpr int kNoDepth = -2;

}  // namespace xsp::nvtx_abi

#endif  // XSP_NVTX_ABI_HPP_
