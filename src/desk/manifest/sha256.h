// SHA-256, by which a file is known to be the one that a manifest means.
#ifndef XSP_DESK_MANIFEST_SHA256_H_
#define XSP_DESK_MANIFEST_SHA256_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace xsp::manifest {

class Sha256 {
 public:
  void add(const void* data, size_t bytes);
  // Returns 64 small hexadecimal digits. Call it once, after the last add.
  std::string finish();

 private:
  void block(const uint8_t* bytes);

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t pending_[64] = {};
  uint64_t bytes_ = 0;
};

std::string sha256_of(std::string_view text);
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_SHA256_H_
