// Writes JSON as text, piece by piece, for files that do not fit into memory.
#ifndef XSP_EXPORTERS_SHARED_JSON_TEXT_H_
#define XSP_EXPORTERS_SHARED_JSON_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace xsp::exporters {

// Appends a text in quotes. Control characters, quotes and backslashes are escaped.
void put_text(std::string* out, std::string_view text);
// Appends the shortest number that reads back as the same value. JSON has no infinity and no NaN:
// they become null.
void put_number(std::string* out, double value);
void put_number(std::string* out, int64_t value);
// Appends nanoseconds as microseconds with three decimals: 1234567 is 1234.567.
void put_microseconds(std::string* out, int64_t ns);

// Appends members of an object, or elements of a list, with commas between them.
class JsonList {
 public:
  explicit JsonList(std::string* out) : out_(out) {}
  // Begins a member; its value follows.
  std::string* member(std::string_view key) {
    element();
    put_text(out_, key);
    out_->push_back(':');
    return out_;
  }
  // Begins an element; its value follows.
  std::string* element() {
    if (!is_first_) out_->push_back(',');
    is_first_ = false;
    return out_;
  }

 private:
  std::string* out_;
  bool is_first_ = true;
};

}  // namespace xsp::exporters

#endif  // XSP_EXPORTERS_SHARED_JSON_TEXT_H_
