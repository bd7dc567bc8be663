// Writes a model's file in any format: texts, and between them weights, which are generated while
// they are written.
#ifndef XSP_FORMATS_FILE_OUTPUT_H_
#define XSP_FORMATS_FILE_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::formats {

// Fills `out` with the values of weight `index` of the model, from its byte `offset` on. `offset`
// and the size are multiples of 16.
using WeightSource = std::function<void(size_t index, uint64_t offset, std::span<uint8_t> out)>;

struct WriteOptions {
  bool replace = false;  // replace an existing file at `path`; otherwise it is an error
  int64_t batch = 1;     // of a format whose shapes are fixed
  // Receives the progress of the writing; returning false stops it (kInterrupted).
  std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

struct Piece {
  std::string text;
  int64_t weight = -1;  // its values follow the text; -1: none
  uint64_t weight_bytes = 0;
};

// Writes to a temporary file beside `path`, and renames it at the end. So other processes see no
// file, or a complete one, and a failure leaves nothing behind.
Status write_pieces(const std::vector<Piece>& pieces, const WeightSource& weights,
                    const std::string& path, const WriteOptions& options);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_FILE_OUTPUT_H_
