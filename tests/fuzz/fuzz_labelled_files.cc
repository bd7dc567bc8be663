// Reads arbitrary bytes as a list of files and labels.
#include <cstdint>
#include <string_view>

#include "formats/list/labelled_files.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = xsp::formats::parse_labelled_files(text, "list");
  if (!files.ok()) {
    require(files.error().code == xsp::Code::kCorrupt);
    require(files.error().text.starts_with("list:"));
    return 0;
  }
  require(!files->empty());
  int line = 0;
  for (const auto& file : *files) {
    require(file.line > line);
    line = file.line;
    require(!file.file.empty() && !file.label.empty());
    require(file.file.find('\n') == std::string::npos);
    require(text.find(file.label[0]) != std::string_view::npos);
  }
  return 0;
}
