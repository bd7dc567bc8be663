// Shared helpers of the store's tests.
#ifndef XSP_DESK_STORE_TESTING_H_
#define XSP_DESK_STORE_TESTING_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace xsp::store {

// Makes a folder for each test, and removes it afterwards.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "xsp-store-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_TESTING_H_
