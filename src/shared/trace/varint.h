// Integers of variable length: each byte has seven bits, low bits first; the high bit is set on all
// bytes but the last.
#ifndef XSP_SHARED_TRACE_VARINT_H_
#define XSP_SHARED_TRACE_VARINT_H_

#include <cstddef>
#include <cstdint>

namespace xsp::trace {

inline constexpr size_t kVarintBytesMax = 10;

// Writes at `out`, where kVarintBytesMax bytes must be free; returns the byte after.
inline uint8_t* put_varint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Reads from [in, end) into *value. Returns the byte after, or nullptr if the bytes end first or
// are no varint of 64 bits.
inline const uint8_t* get_varint(const uint8_t* in, const uint8_t* end, uint64_t* value) {
  if (in != end && *in < 0x80) {
    *value = *in;
    return in + 1;
  }
  uint64_t result = 0;
  for (int shift = 0; shift < 64 && in != end; shift += 7) {
    const uint64_t bits = *in & 0x7f;
    if (shift == 63 && bits > 1) return nullptr;
    result |= bits << shift;
    if (*in++ < 0x80) {
      *value = result;
      return in;
    }
  }
  return nullptr;
}

// Reads the same, but kVarintBytesMax bytes must be readable, whatever they are: it does not check
// the end at every byte.
inline const uint8_t* get_varint_unbounded(const uint8_t* in, uint64_t* value) {
  uint64_t result = *in & 0x7f;
  if (*in++ < 0x80) {
    *value = result;
    return in;
  }
  for (int shift = 7; shift < 64; shift += 7) {
    const uint64_t byte = *in++;
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return shift == 63 && byte > 1 ? nullptr : in;
    }
  }
  return nullptr;
}

// Maps signed numbers of small magnitude to small unsigned ones.
constexpr uint64_t zigzag(uint64_t difference) {
  return (difference << 1) ^ (uint64_t{0} - (difference >> 63));
}
constexpr uint64_t unzigzag(uint64_t coded) { return (coded >> 1) ^ (uint64_t{0} - (coded & 1)); }

// Reverses the bytes of a double, so that the zeros of a short mantissa become leading ones.
constexpr uint64_t reverse_bytes(uint64_t bits) { return __builtin_bswap64(bits); }

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_VARINT_H_
