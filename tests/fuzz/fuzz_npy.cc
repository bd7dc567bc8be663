// Reads arbitrary bytes as the header of an .npy file.
#include <cstdint>
#include <string>
#include <string_view>

#include "process/worker/npy.h"
#include "tests/fuzz/require.h"
#include "xsp/plugin.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = xsp::process::parse_npy_header(bytes);
  if (!header.ok()) {
    require(header.error().code == xsp::Code::kCorrupt);
    require(!header.error().text.empty());
    return 0;
  }
  require(header->dimensions.size() <= XSP_RANK_MAX);
  require(header->data_offset <= size);
  size_t expected = xsp::dtype_bytes(header->dtype);
  require(expected > 0);
  for (const int64_t dimension : header->dimensions) {
    require(dimension >= 0);
    expected *= static_cast<size_t>(dimension);
  }
  require(header->data_bytes == expected);
  return 0;
}
