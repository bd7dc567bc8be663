// Shared helpers of tests that use the store.
#ifndef XSP_DESK_STORE_TESTING_H_
#define XSP_DESK_STORE_TESTING_H_

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "desk/store/database.h"

namespace xsp::store {

// Returns a value as a number; NaN for what is none.
inline double number(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

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
