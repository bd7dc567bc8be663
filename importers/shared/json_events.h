// JsonEvents finds the objects of a long list in a JSON file, one after another, without reading
// the whole file into memory: [{...}, {...}], or {"KEY": [{...}, {...}], ...}.
//
// The file may end in the middle of the list, as traces of killed programs do. It may be compressed
// by gzip, as PyTorch writes its traces.
#ifndef XSP_IMPORTERS_SHARED_JSON_EVENTS_H_
#define XSP_IMPORTERS_SHARED_JSON_EVENTS_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "importers/shared/packed_file.h"
#include "shared/base/result.h"

namespace xsp::importers {

inline constexpr size_t kEventBytesMax = 4 << 20;

class JsonEvents {
 public:
  // `key` is the member of the outermost object that has the list.
  static Result<JsonEvents> open(const std::filesystem::path& path, std::string key);

  // Copies the text of the next object. Returns false at the end. Fails if an object is too long.
  Result<bool> next(std::string* event);
  // Returns the numbers among the members of the outermost object that have been passed, as they
  // are written.
  const std::map<std::string, std::string>& numbers() const { return numbers_; }

 private:
  JsonEvents(std::filesystem::path path, std::string key, PackedFile file)
      : path_(std::move(path)), key_(std::move(key)), file_(std::move(file)) {}

  // Returns the next byte, or -1 at the end. An error of the file is also an end; see failure_.
  int get();
  void skip_space(int* c);
  // Reads a string whose opening quote has been read, as it is written.
  std::string text();
  // Passes a value that begins with `c`. Copies it if `out` is not null. Returns the byte after it.
  Result<int> pass_value(int c, std::string* out);
  // Passes members of the outermost object up to the list. Returns false if there is none.
  Result<bool> find_list();
  Result<bool> next_in_list(std::string* event);

  std::filesystem::path path_;
  std::string key_;
  PackedFile file_;
  Status failure_ = Ok{};
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t size_ = 0;
  enum class Where { kStart, kList, kMembers, kEnd } where_ = Where::kStart;
  bool is_in_object_ = false;
  std::map<std::string, std::string> numbers_;
};

}  // namespace xsp::importers

#endif  // XSP_IMPORTERS_SHARED_JSON_EVENTS_H_
