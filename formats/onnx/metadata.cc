#include "formats/onnx/metadata.h"

#include <algorithm>

#include "formats/wire/wire.h"

namespace xsp::formats {
namespace {

using wire::Cursor;
using wire::Field;

constexpr uint32_t kMetadataProps = 14;  // of ModelProto: StringStringEntryProto
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;
constexpr uint32_t kBytesType = 2;

std::string text_of(wire::Source* source, const Field& field) {
  std::string text;
  for (uint64_t at = field.begin; at < field.end;) {
    const size_t count =
        static_cast<size_t>(std::min<uint64_t>(field.end - at, wire::kWindowBytes));
    const uint8_t* bytes = source->view(at, count);
    if (bytes == nullptr) return text;
    text.append(reinterpret_cast<const char*>(bytes), count);
    at += count;
  }
  return text;
}

}  // namespace

Result<std::map<std::string, std::string>> read_metadata(const std::string& path) {
  XSP_TRY(wire::Source source, wire::Source::open(path));
  std::map<std::string, std::string> texts;
  std::string problem;
  Cursor model(&source, &problem, 0, source.size());
  for (Field field; model.next(&field);) {
    if (field.number != kMetadataProps || field.type != kBytesType) continue;
    std::string key, value;
    bool is_kept = true;
    Cursor entry(&source, &problem, field.begin, field.end);
    for (Field part; entry.next(&part);) {
      if (part.type != kBytesType) continue;
      is_kept &= part.size() <= kMetadataBytesMax;
      if (is_kept && part.number == kKey) key = text_of(&source, part);
      if (is_kept && part.number == kValue) value = text_of(&source, part);
    }
    if (is_kept) texts[key] = std::move(value);
  }
  if (!problem.empty())
    return corrupt(path + ": not an ONNX file: " + problem + ": export it again");
  return texts;
}

}  // namespace xsp::formats
