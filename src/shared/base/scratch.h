// ScratchFolder is a private folder for temporary files. It is removed with all its contents.
//
// No other user may read it or predict its name. It is locked while its owner lives: the next
// process that makes such a folder removes the folders of killed owners, except those with traces
// of the last day.
#ifndef XSP_SHARED_BASE_SCRATCH_H_
#define XSP_SHARED_BASE_SCRATCH_H_

#include <filesystem>
#include <memory>

#include "shared/base/result.h"

namespace xsp {

class ScratchFolder {
 public:
  // Makes the folder in $TMPDIR, else /tmp.
  static Result<std::unique_ptr<ScratchFolder>> create();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }
  // Keeps the folder when this object ends, because its contents cannot be had again. It gets a
  // name that says so; path() returns it from then on.
  void keep();

 private:
  ScratchFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_;
  bool is_kept_ = false;
};

}  // namespace xsp

#endif  // XSP_SHARED_BASE_SCRATCH_H_
