// Reads input arrays from NumPy's .npy files (format versions 1 to 3) and writes results to them.
//
// It supports little-endian data, C order, and the element types of xsp_dtype. The bytes are
// untrusted: the header has at most kNpyHeaderMax bytes, and no more memory is allocated than the
// file fills.
#ifndef XSP_PROCESS_WORKER_NPY_H_
#define XSP_PROCESS_WORKER_NPY_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "shared/base/result.h"
#include "xsp/plugin.h"

namespace xsp::process {

inline constexpr size_t kNpyHeaderMax = 64 * 1024;

struct NpyHeader {
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;
  size_t data_offset = 0;
  size_t data_bytes = 0;
};

struct NpyArray {
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;
  std::vector<std::byte> data;
};

// Parses the header at the beginning of a file. The error's text lacks the file's name.
Result<NpyHeader> parse_npy_header(std::string_view bytes);
Result<NpyArray> read_npy(const std::filesystem::path& path);
// NumPy does not know bfloat16: it is written as 2-byte void.
Status write_npy(const std::filesystem::path& path, const xsp_tensor& tensor);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_NPY_H_
