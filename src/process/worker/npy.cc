#include "process/worker/npy.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct TypeCode {
  uint32_t dtype;
  const char* code;
};
constexpr TypeCode kTypes[] = {
    {XSP_FLOAT32, "<f4"},  {XSP_UINT8, "|u1"},   {XSP_INT8, "|i1"},   {XSP_UINT16, "<u2"},
    {XSP_INT16, "<i2"},    {XSP_INT32, "<i4"},   {XSP_INT64, "<i8"},  {XSP_BOOL, "|b1"},
    {XSP_FLOAT16, "<f2"},  {XSP_FLOAT64, "<f8"}, {XSP_UINT32, "<u4"}, {XSP_UINT64, "<u8"},
    {XSP_BFLOAT16, "|V2"},
};

// Parses the header's Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4),
// }
class Dictionary {
 public:
  explicit Dictionary(std::string_view text) : text_(text) {}

  Status parse(NpyHeader* header) {
    if (!take('{')) return corrupt("not a dictionary");
    while (!take('}')) {
      std::string_view key;
      if (!quoted(&key) || !take(':')) return corrupt("a key is malformed");
      if (key == "descr") {
        XSP_CHECK_OK(type(header));
      } else if (key == "fortran_order") {
        if (word("True")) return corrupt("Fortran order: save it with numpy.ascontiguousarray");
        if (!word("False")) return corrupt("fortran_order is malformed");
      } else if (key == "shape") {
        XSP_CHECK_OK(shape(header));
      } else {
        return corrupt("an unknown key");
      }
      if (!take(',') && !peek('}')) return corrupt("a comma is missing");
    }
    return has_shape_ && header->dtype != 0 ? Status(Ok{}) : corrupt("descr or shape is missing");
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool peek(char c) {
    skip_space();
    return !text_.empty() && text_[0] == c;
  }
  bool take(char c) {
    const bool found = peek(c);
    if (found) text_.remove_prefix(1);
    return found;
  }
  bool word(std::string_view expected) {
    skip_space();
    const bool found = text_.substr(0, expected.size()) == expected;
    if (found) text_.remove_prefix(expected.size());
    return found;
  }
  bool quoted(std::string_view* value) {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return false;
    const size_t end = text_.find(quote);
    if (end == std::string_view::npos) return false;
    *value = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return true;
  }
  Status type(NpyHeader* header) {
    std::string_view code;
    if (!quoted(&code) || code.size() < 3) return corrupt("its element type is not a simple one");
    if (code[0] == '>') return corrupt("big-endian: save it in the machine's own order");
    for (const TypeCode& known : kTypes) {
      if (code.substr(1) == std::string_view(known.code).substr(1)) header->dtype = known.dtype;
    }
    if (header->dtype == 0) {
      return corrupt("element type '" + std::string(code) + "' is not supported");
    }
    return Ok{};
  }
  Status shape(NpyHeader* header) {
    if (!take('(')) return corrupt("shape is malformed");
    has_shape_ = true;
    header->dimensions.clear();
    while (!take(')')) {
      int64_t dimension = 0;
      skip_space();
      const auto [end, error] =
          std::from_chars(text_.data(), text_.data() + text_.size(), dimension);
      if (error != std::errc() || dimension < 0) return corrupt("shape is malformed");
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      if (header->dimensions.size() == XSP_RANK_MAX) return corrupt("too many dimensions");
      header->dimensions.push_back(dimension);
      if (!take(',') && !peek(')')) return corrupt("shape is malformed");
    }
    return Ok{};
  }

  std::string_view text_;
  bool has_shape_ = false;
};

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 10) {
    return corrupt("not an .npy file");
  }
  const int version = bytes[6];
  if (version < 1 || version > 3) return corrupt("an .npy file of an unknown version");
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) return corrupt("cut short in its header");
  const size_t length = little_endian(bytes.substr(8, length_bytes));
  if (length > kNpyHeaderMax) return corrupt("its header is too long");
  if (bytes.size() - begin < length) return corrupt("cut short in its header");
  NpyHeader header;
  XSP_CHECK_OK(Dictionary(bytes.substr(begin, length)).parse(&header));
  header.data_offset = begin + length;
  header.data_bytes = dtype_bytes(header.dtype);
  for (const int64_t dimension : header.dimensions) {
    if (__builtin_mul_overflow(header.data_bytes, static_cast<size_t>(dimension),
                               &header.data_bytes)) {
      return corrupt("its shape is impossible");
    }
  }
  return header;
}

Result<NpyArray> read_npy(const std::filesystem::path& path) {
  const auto wrong = [&](const std::string& why) { return corrupt(path.string() + ": " + why); };
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return failed(path.string() + ": there is no such file: check its name");
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (!file || error) return failed(path.string() + ": cannot be read: check its permissions");
  std::string head(std::min<uintmax_t>(size, kNpyHeaderMax + 12), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  const Result<NpyHeader> header = parse_npy_header(head);
  if (!header.ok()) return wrong(header.error().text);
  if (size < header->data_offset || size - header->data_offset != header->data_bytes) {
    return wrong("its shape " + std::string(size < header->data_offset + header->data_bytes
                                                ? "needs more bytes than the file has: cut short?"
                                                : "needs fewer bytes than the file has: damaged?"));
  }
  NpyArray array{header->dtype, header->dimensions, std::vector<std::byte>(header->data_bytes)};
  file.clear();
  file.seekg(static_cast<std::streamoff>(header->data_offset));
  file.read(reinterpret_cast<char*>(array.data.data()),
            static_cast<std::streamsize>(array.data.size()));
  if (!file) return wrong("cannot be read to its end: check the disk");
  return array;
}

Status write_npy(const std::filesystem::path& path, const xsp_tensor& tensor) {
  const char* code = nullptr;
  for (const TypeCode& known : kTypes) {
    if (known.dtype == tensor.dtype) code = known.code;
  }
  if (code == nullptr) return failed(path.string() + ": cannot hold elements of this type");
  std::string header = "{'descr': '" + std::string(code) + "', 'fortran_order': False, 'shape': (";
  for (uint32_t i = 0; i < tensor.rank; ++i) header += std::to_string(tensor.dimensions[i]) + ",";
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // data begins at a multiple of 64
  header += '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << kMagic << '\1' << '\0' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(static_cast<const char*>(tensor.data),
             static_cast<std::streamsize>(tensor.data_bytes));
  file.close();
  if (!file) return failed(path.string() + ": cannot be written: check the folder and its space");
  return Ok{};
}

}  // namespace xsp::process
