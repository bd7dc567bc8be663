// Reads the graph of an ONNX file, whatever its size, without its weights.
//
// The file is foreign: every length is checked against what is left, every list against a limit,
// and what is kept in memory against kMaxGraphBytes. A file that is truncated, damaged, or no model
// at all gives one line that says so.
#ifndef XSP_MODELS_ONNX_READER_H_
#define XSP_MODELS_ONNX_READER_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "models/onnx/graph.h"

namespace xsp::models {

inline constexpr uint64_t kMaxFileBytes = (uint64_t{1} << 31) - 1;  // protobuf's own limit
inline constexpr uint64_t kMaxGraphBytes = uint64_t{256} << 20;     // of the graph in memory
inline constexpr uint64_t kMaxTextBytes = 16 * 1024;                // of a name
inline constexpr uint64_t kMaxKeptValues = 4096;                    // of a tensor's elements
inline constexpr uint64_t kMaxRank = 64;
inline constexpr int kMaxGraphDepth = 8;  // graphs within nodes of graphs

// Errors: kFailed if the file cannot be read, kCorrupt if it is not a sound ONNX model.
Result<Graph> read_graph(const std::string& path);

// The same from memory; `name` is what errors call it.
Result<Graph> read_graph(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace xsp::models

#endif  // XSP_MODELS_ONNX_READER_H_
