// Reads the texts that an exporter put into an ONNX file beside the graph.
#ifndef XSP_FORMATS_ONNX_METADATA_H_
#define XSP_FORMATS_ONNX_METADATA_H_

#include <map>
#include <string>

#include "shared/base/result.h"

namespace xsp::formats {

inline constexpr size_t kMetadataBytesMax = 1u << 20;  // of one text

// Returns the texts by their keys. Longer texts than kMetadataBytesMax are left out.
Result<std::map<std::string, std::string>> read_metadata(const std::string& path);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_METADATA_H_
