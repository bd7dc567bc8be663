#include "formats/onnx/message.h"

#include "formats/onnx/fields.h"
#include "formats/onnx/reader.h"

namespace xsp::formats {

using wire::Cursor;
using wire::Field;

void Message::charge(uint64_t bytes) {
  kept_bytes_ += bytes;
  if (kept_bytes_ > kMaxGraphBytes) {
    fail("its graph takes more than " + std::to_string(kMaxGraphBytes >> 20) + " MiB");
  }
}

bool Message::is_message(const Field& field) {
  if (field.type != 2) fail("field " + std::to_string(field.number) + " is not a message");
  return ok();
}

int64_t Message::integer(const Field& field) {
  if (field.type != 0) fail("field " + std::to_string(field.number) + " is not a number");
  return static_cast<int64_t>(field.value);
}

float Message::number(const Field& field) {
  if (field.type != 5) fail("field " + std::to_string(field.number) + " is not a float");
  return std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

int32_t Message::dtype(const Field& field) {
  const int64_t number = integer(field);
  return number >= 0 && number < INT32_MAX ? static_cast<int32_t>(number) : 0;
}

const uint8_t* Message::bytes(const Field& field) {
  const uint8_t* found = source_->view(field.begin, static_cast<size_t>(field.size()));
  if (found == nullptr) fail("the file cannot be read");
  return found;
}

std::string Message::text(const Field& field) {
  if (!is_message(field)) return "";
  if (field.size() > kMaxTextBytes) {
    fail("a name is " + std::to_string(field.size()) + " bytes long, more than " +
         std::to_string(kMaxTextBytes));
  }
  charge(field.size());
  if (!ok() || field.size() == 0) return "";
  const uint8_t* found = bytes(field);
  if (found == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(found), static_cast<size_t>(field.size()));
}

std::string Message::text_if_short(const Field& field) {
  return is_message(field) && field.size() <= kMaxTextBytes ? text(field) : "";
}

std::pair<std::string, std::string> Message::entry(const Field& field) {
  std::pair<std::string, std::string> result;
  if (!is_message(field)) return result;
  Cursor cursor = body(field);
  Field part;
  while (cursor.next(&part)) {
    if (part.number == fields::entry::kKey) result.first = text(part);
    if (part.number == fields::entry::kValue) result.second = text_if_short(part);
  }
  return result;
}

}  // namespace xsp::formats
