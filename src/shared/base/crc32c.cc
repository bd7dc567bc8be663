#include "shared/base/crc32c.h"

#include <cstring>

namespace xsp {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

struct Table {
  uint32_t of[256];
  constexpr Table() : of() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t remainder = byte;
      for (int bit = 0; bit < 8; ++bit) {
        remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? kPolynomial : 0);
      }
      of[byte] = remainder;
    }
  }
};
constexpr Table kTable;

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(const unsigned char* bytes,
                                                                 size_t size, uint32_t so_far) {
  uint64_t crc = ~so_far;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  uint32_t tail = static_cast<uint32_t>(crc);
  for (; size > 0; --size, ++bytes) tail = __builtin_ia32_crc32qi(tail, *bytes);
  return ~tail;
}
#endif

}  // namespace

uint32_t crc32c_by_table(const void* data, size_t size, uint32_t so_far) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  uint32_t crc = ~so_far;
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ kTable.of[(crc ^ *bytes) & 0xff];
  return ~crc;
}

uint32_t crc32c(const void* data, size_t size, uint32_t so_far) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    return crc32c_by_instruction(static_cast<const unsigned char*>(data), size, so_far);
  }
#endif
  return crc32c_by_table(data, size, so_far);
}

}  // namespace xsp
