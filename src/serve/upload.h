// Upload: a file of the folder, written as it comes. It is beside its place until it is known to be
// an evaluation, and never takes another's place.
#ifndef XSP_SERVE_UPLOAD_H_
#define XSP_SERVE_UPLOAD_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/database.h"

namespace xsp::serve {

class Upload {
 public:
  // `name`: letters, digits, '.', '_', '-', ending in .xsp, beginning with a letter or a digit.
  // Code::kUsage where it is not; where the folder has such a file.
  static Result<Upload> begin(const std::filesystem::path& folder, const std::string& name,
                              uint64_t max_bytes);
  Upload(Upload&& other) noexcept;
  Upload& operator=(Upload&&) = delete;
  ~Upload();  // without finish() nothing stays

  Status write(std::string_view bytes);            // Code::kOutOfMemory beyond the limit
  Status finish(const store::ReadLimits& limits);  // Code::kCorrupt if it is no evaluation

 private:
  Upload() = default;
  int file_ = -1;
  uint64_t left_ = 0;
  std::filesystem::path partial_;
  std::filesystem::path path_;
};

}  // namespace xsp::serve

#endif  // XSP_SERVE_UPLOAD_H_
