#include "formats/onnx/expose.h"

#include <filesystem>
#include <fstream>

#include "formats/onnx/fields.h"
#include "formats/wire/wire.h"

namespace xsp::formats {

Status write_exposed(const std::string& model, const std::vector<std::string>& tensors,
                     const std::string& path) {
  std::error_code error;
  std::filesystem::copy_file(model, path, error);
  if (error) return failed(path + ": cannot be written: " + error.message());
  std::string outputs;
  for (const std::string& tensor : tensors) {
    std::string info;
    wire::put_bytes(&info, fields::value_info::kName, tensor);
    wire::put_bytes(&outputs, fields::graph::kOutput, info);
  }
  std::string graph;
  wire::put_bytes(&graph, fields::model::kGraph, outputs);
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << graph;
  file.close();
  if (file) return Ok{};
  return failed(path + ": cannot be written: make room for it");
}

}  // namespace xsp::formats
