// CRC-32C (Castagnoli). It uses the processor's instruction if there is one.
#ifndef XSP_SHARED_BASE_CRC32C_H_
#define XSP_SHARED_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace xsp {

// Returns the checksum of `size` bytes. To continue over further bytes, pass the checksum so far.
uint32_t crc32c(const void* data, size_t size, uint32_t so_far = 0);

// Computes the same checksum with a table only.
uint32_t crc32c_by_table(const void* data, size_t size, uint32_t so_far = 0);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_CRC32C_H_
