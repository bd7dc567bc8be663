// ScratchFolder: a folder of our own for temporary files, removed with all it holds.
#ifndef XSP_EVALUATE_SCRATCH_H_
#define XSP_EVALUATE_SCRATCH_H_

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

namespace xsp::evaluate {

class ScratchFolder {
 public:
  // In $TMPDIR, else /tmp.
  static Result<std::unique_ptr<ScratchFolder>> create() {
    std::error_code error;
    const std::filesystem::path base = std::filesystem::temp_directory_path(error);
    std::string pattern = ((error ? "/tmp" : base) / "xsp-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      return failed(pattern + ": cannot be made: " + std::strerror(errno) +
                    ": name a folder for temporary files with TMPDIR");
    }
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(pattern));
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!is_kept_) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  // It stays when this object has gone: what it holds cannot be had again.
  void keep() { is_kept_ = true; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  bool is_kept_ = false;
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_SCRATCH_H_
