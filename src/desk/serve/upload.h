// Upload: writes a file of the folder as its bytes arrive. The file has another name until it is
// known to be an evaluation, and never replaces an existing file.
#ifndef XSP_DESK_SERVE_UPLOAD_H_
#define XSP_DESK_SERVE_UPLOAD_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::serve {

class Upload {
 public:
  // `name` consists of letters, digits, '.', '_' and '-', begins with a letter or a digit, and ends
  // in .xsp. Returns Code::kUsage if it does not, or if the folder has such a file.
  static Result<Upload> begin(const std::filesystem::path& folder, const std::string& name,
                              uint64_t max_bytes);
  Upload(Upload&& other) noexcept;
  Upload& operator=(Upload&&) = delete;
  ~Upload();  // removes the file unless finish() succeeded

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

#endif  // XSP_DESK_SERVE_UPLOAD_H_
