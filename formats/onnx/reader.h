// Reads the graph of an ONNX file of any size, without its weights.
//
// The file is not trusted: every length is checked against the rest of the file, every list against
// a limit, and the memory for kept data against kMaxGraphBytes. A file that is truncated, damaged,
// or no model at all gives one line that says so.
#ifndef XSP_FORMATS_ONNX_READER_H_
#define XSP_FORMATS_ONNX_READER_H_

#include <cstdint>
#include <span>
#include <string>

#include "formats/onnx/graph.h"
#include "shared/base/result.h"

namespace xsp::formats {

inline constexpr uint64_t kMaxFileBytes = (uint64_t{1} << 31) - 1;  // protobuf's own limit
inline constexpr uint64_t kMaxGraphBytes = uint64_t{256} << 20;     // memory of the graph
inline constexpr uint64_t kMaxTextBytes = 16 * 1024;                // bytes of a name
inline constexpr uint64_t kMaxKeptValues = 4096;                    // elements of a tensor
inline constexpr uint64_t kMaxRank = 64;
inline constexpr int kMaxGraphDepth = 8;  // graphs within nodes of graphs

// Returns kFailed if the file cannot be read, kCorrupt if it is not a valid ONNX model.
Result<Graph> read_graph(const std::string& path);

// Does the same from memory; `name` is the file's name in errors.
Result<Graph> read_graph(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_READER_H_
