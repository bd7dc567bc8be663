// The limits of the trace format and of the library are here. Both the writer and the reader check
// them.
#ifndef XSP_SHARED_BASE_LIMITS_H_
#define XSP_SHARED_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace xsp {

inline constexpr uint32_t kSiteMax = 1u << 18;         // sites of one process
inline constexpr uint32_t kKeyMax = (1u << 16) - 1;    // keys of attributes and counters
inline constexpr uint32_t kLevelMax = 31;              // a level is one of 32 bits
inline constexpr size_t kNameBytesMax = 16u << 10;     // a site's name or type; cut beyond
inline constexpr size_t kSiteTextBytesMax = 1u << 20;  // a site's attribute; cut beyond
inline constexpr size_t kSpanTextBytesMax = 4u << 10;  // a span's attribute; cut beyond
inline constexpr size_t kTableBytesMax = 256u << 20;   // all names and facts of sites together
inline constexpr uint32_t kLaneMax = 4096;             // threads that record at one time
inline constexpr size_t kLossMax = 64;                 // distinct (source, cause) of losses
inline constexpr size_t kLossTextBytesMax = 128;       // a loss's source or cause; cut beyond
inline constexpr uint32_t kRingBytesDefault = 8u << 20;
inline constexpr uint32_t kRingBytesMin = 64u << 10;
inline constexpr uint32_t kRingBytesMax = 1u << 30;
inline constexpr uint32_t kChunkSpansMax = 16384;            // spans of one chunk
inline constexpr uint32_t kChunkPayloadBytesMax = 8u << 20;  // bytes of one chunk

}  // namespace xsp

#endif  // XSP_SHARED_BASE_LIMITS_H_
