// Output writes a file through a buffer.
#ifndef XSP_EXPORTERS_SHARED_OUTPUT_H_
#define XSP_EXPORTERS_SHARED_OUTPUT_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace xsp::exporters {

class Output {
 public:
  // Creates the file. Fails if it exists.
  static Result<Output> create(const std::filesystem::path& path);
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();

  // A format appends its text here, and calls spill() from time to time.
  std::string& text() { return text_; }
  // Writes the text to the file if there is much of it. Fails if the disk is full.
  Status spill();
  // Writes the rest, and closes the file.
  Status close();

 private:
  Output(int file, std::filesystem::path path) : file_(file), path_(std::move(path)) {}
  Status write();

  int file_ = -1;
  std::filesystem::path path_;
  std::string text_;
};

}  // namespace xsp::exporters

#endif  // XSP_EXPORTERS_SHARED_OUTPUT_H_
