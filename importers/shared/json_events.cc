#include "importers/shared/json_events.h"

namespace xsp::importers {
namespace {

constexpr int kEndOfFile = -1;
constexpr size_t kBufferBytes = 1 << 18;
constexpr size_t kNumberBytesMax = 64;
constexpr size_t kNumbersMax = 100;

bool is_space(int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

Result<JsonEvents> JsonEvents::open(const std::filesystem::path& path, std::string key) {
  XSP_TRY(PackedFile file, PackedFile::open(path));
  JsonEvents events(path, std::move(key), std::move(file));
  events.buffer_.resize(kBufferBytes);
  return events;
}

int JsonEvents::get() {
  if (at_ == size_) {
    at_ = size_ = 0;
    if (!failure_.ok()) return kEndOfFile;
    const Result<size_t> read = file_.read(buffer_.data(), buffer_.size());
    if (!read.ok()) failure_ = read.error();
    size_ = read.ok() ? *read : 0;
    if (size_ == 0) return kEndOfFile;
  }
  return static_cast<unsigned char>(buffer_[at_++]);
}

void JsonEvents::skip_space(int* c) {
  while (is_space(*c)) *c = get();
}

std::string JsonEvents::text() {
  std::string text;
  for (int c = get(); c != kEndOfFile && c != '"'; c = get()) {
    if (text.size() < kEventBytesMax) text.push_back(static_cast<char>(c));
    if (c == '\\') text.push_back(static_cast<char>(get()));
  }
  return text;
}

Result<int> JsonEvents::pass_value(int c, std::string* out) {
  size_t depth = 0, bytes = 0;
  bool is_in_text = false;
  for (; c != kEndOfFile; c = get()) {
    if (!is_in_text && depth == 0 && (c == ',' || c == ']' || c == '}' || is_space(c))) break;
    if (out != nullptr) {
      if (++bytes > kEventBytesMax) {
        return corrupt(path_.string() + ": an event has more than " +
                       std::to_string(kEventBytesMax >> 20) + " MiB: is it a trace?");
      }
      out->push_back(static_cast<char>(c));
    }
    if (is_in_text && c == '\\') {
      c = get();
      if (out != nullptr && c != kEndOfFile) out->push_back(static_cast<char>(c));
    } else if (c == '"') {
      is_in_text = !is_in_text;
    } else if (!is_in_text && (c == '{' || c == '[')) {
      ++depth;
    } else if (!is_in_text && (c == '}' || c == ']')) {
      if (--depth == 0) {
        c = get();
        break;
      }
    }
  }
  return c;
}

Result<bool> JsonEvents::find_list() {
  for (;;) {
    int c = get();
    while (is_space(c) || c == ',') c = get();
    if (c != '"') return false;  // the end of the object, or of the file
    const std::string key = text();
    c = get();
    skip_space(&c);
    if (c != ':')
      return corrupt(path_.string() + ": not JSON: '" + key.substr(0, 40) + "' has no value");
    c = get();
    skip_space(&c);
    if (key == key_ && c == '[') return true;
    const bool is_number = c == '-' || (c >= '0' && c <= '9');
    std::string number;
    XSP_TRY(c, pass_value(c, is_number ? &number : nullptr));
    if (is_number && number.size() <= kNumberBytesMax && numbers_.size() < kNumbersMax) {
      numbers_[key] = number;
    }
    skip_space(&c);
    if (c != ',') return false;
  }
}

Result<bool> JsonEvents::next(std::string* event) {
  event->clear();
  Result<bool> has_one = next_in_list(event);
  // The bytes before an error of the file may look like a list that ends.
  if (!failure_.ok()) return failure_.error();
  return has_one;
}

Result<bool> JsonEvents::next_in_list(std::string* event) {
  if (where_ == Where::kStart) {
    int c = get();
    skip_space(&c);
    if (c != '[' && c != '{') return corrupt(path_.string() + ": not JSON");
    is_in_object_ = c == '{';
    where_ = is_in_object_ ? Where::kMembers : Where::kList;
  }
  for (;;) {
    if (where_ == Where::kMembers) {
      XSP_TRY(const bool has_list, find_list());
      where_ = has_list ? Where::kList : Where::kEnd;
    }
    if (where_ == Where::kEnd) return false;
    int c = get();
    while (is_space(c) || c == ',') c = get();
    if (c == ']' || c == kEndOfFile) {
      where_ = c == ']' && is_in_object_ ? Where::kMembers : Where::kEnd;
      continue;
    }
    std::string* const out = c == '{' ? event : nullptr;
    XSP_TRY(c, pass_value(c, out));
    // The byte after the value is a comma, a space, or the end of the list.
    if (c == ']') where_ = is_in_object_ ? Where::kMembers : Where::kEnd;
    if (out != nullptr && !event->empty() && event->back() == '}') return true;
  }
}

}  // namespace xsp::importers
