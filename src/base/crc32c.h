// CRC-32C (Castagnoli), by the processor's instruction where it has one.
#ifndef XSP_BASE_CRC32C_H_
#define XSP_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace xsp {

// The checksum of `size` bytes; to continue over further bytes, hand in the checksum so far.
uint32_t crc32c(const void* data, size_t size, uint32_t so_far = 0);

// The same, by table alone.
uint32_t crc32c_by_table(const void* data, size_t size, uint32_t so_far = 0);

}  // namespace xsp

#endif  // XSP_BASE_CRC32C_H_
