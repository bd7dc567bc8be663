// ScratchFolder: a folder of our own for temporary files, removed with all it holds.
//
// Nobody else may read it, nor foresee its name. It is locked while its owner lives: what a killed
// one left is removed by the next process that makes one, but for traces of the last day.
#ifndef XSP_BASE_SCRATCH_H_
#define XSP_BASE_SCRATCH_H_

#include <filesystem>
#include <memory>

#include "base/result.h"

namespace xsp {

class ScratchFolder {
 public:
  // In $TMPDIR, else /tmp.
  static Result<std::unique_ptr<ScratchFolder>> create();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }
  // It stays when this object has gone, under a name that says so, which path() has from then on:
  // what it holds cannot be had again.
  void keep();

 private:
  ScratchFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_;
  bool is_kept_ = false;
};

}  // namespace xsp

#endif  // XSP_BASE_SCRATCH_H_
