// The pixels of a JPEG or PNG file, as uint8 in the layout HWC, in red, green and blue.
//
// It gives what Pillow's `Image.open(file).convert("RGB")` gives: no orientation is applied, no
// gamma, no colour profile; alpha is left out; 16 bits become the upper 8. Both libraries report
// errors by a jump, so the functions that jump hold nothing that must be destroyed.
// jpeglib.h needs the names of stdio.h, and jerror.h those of jpeglib.h.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr size_t kPixelsMax = 1ull << 26;  // a small file may claim any number
constexpr int kChannels = 3;

struct Bytes {
  const unsigned char* data = nullptr;
  size_t size = 0;
  size_t read = 0;
};

struct Pixels {
  Value* image = nullptr;
  char error[JMSG_LENGTH_MAX] = {};

  // Is asked before a library makes its own room.
  bool accepts(size_t height, size_t width) {
    if (height > 0 && width > 0 && height <= kPixelsMax / width) return true;
    std::snprintf(error, sizeof error, "it has %zu x %zu pixels, of %zu at most", width, height,
                  kPixelsMax);
    return false;
  }

  unsigned char* make(size_t height, size_t width) {
    *image = zeros({Kind::kImage,
                    XSP_UINT8,
                    {static_cast<int64_t>(height), static_cast<int64_t>(width), kChannels},
                    "HWC",
                    "rgb"});
    return reinterpret_cast<unsigned char*>(image->data.data());
  }
};

// ---- JPEG ---------------------------------------------------------------------------------------

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char* text;
};

[[noreturn]] void leave_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->text);
  std::longjmp(errors->back, 1);
}

void hear_jpeg(j_common_ptr info, int level) {
  // The library would fill what is missing with grey.
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) leave_jpeg(info);
}

bool read_jpeg(const Bytes& bytes, Pixels* pixels) {
  jpeg_decompress_struct info = {};
  JpegErrors errors = {};
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave_jpeg;
  errors.manager.emit_message = hear_jpeg;
  errors.text = pixels->error;
  if (setjmp(errors.back) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes.data, bytes.size);
  jpeg_read_header(&info, TRUE);
  const bool is_accepted = pixels->accepts(info.image_height, info.image_width);
  if (is_accepted) {
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    unsigned char* row = pixels->make(info.output_height, info.output_width);
    while (info.output_scanline < info.output_height) {
      jpeg_read_scanlines(&info, &row, 1);
      row += size_t{kChannels} * info.output_width;
    }
    jpeg_finish_decompress(&info);
  }
  jpeg_destroy_decompress(&info);
  return is_accepted;
}

// ---- PNG ----------------------------------------------------------------------------------------

[[noreturn]] void leave_png(png_structp png, png_const_charp why) {
  auto* pixels = static_cast<Pixels*>(png_get_error_ptr(png));
  std::snprintf(pixels->error, sizeof pixels->error, "%s", why);
  png_longjmp(png, 1);
}

void hear_png(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto* bytes = static_cast<Bytes*>(png_get_io_ptr(png));
  if (bytes->size - bytes->read < count) png_error(png, "the file ends too early");
  std::memcpy(to, bytes->data + bytes->read, count);
  bytes->read += count;
}

bool read_png(Bytes bytes, Pixels* pixels) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, pixels, leave_png, hear_png);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_read_struct(&png, &info, nullptr);
    return false;
  }
  png_set_read_fn(png, &bytes, read_bytes);
  png_read_info(png, info);
  const size_t height = png_get_image_height(png, info), width = png_get_image_width(png, info);
  if (!pixels->accepts(height, width)) {
    png_destroy_read_struct(&png, &info, nullptr);
    return false;
  }
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_channels(png, info) != kChannels)
    png_error(png, "its colours are of an unknown kind");
  unsigned char* const first = pixels->make(height, width);
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t y = 0; y < height; ++y) png_read_row(png, first + y * width * kChannels, nullptr);
  }
  png_read_end(png, nullptr);
  png_destroy_read_struct(&png, &info, nullptr);
  return true;
}

// ---- The step -----------------------------------------------------------------------------------

class Decode : public Step {
 public:
  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kBytes) return usage("bytes: make it the first step, and from: image");
    return Type{Kind::kImage, XSP_UINT8, {kUnknown, kUnknown, kChannels}, "HWC", "rgb"};
  }

  Result<Value> run(Value value) override {
    const Bytes bytes{reinterpret_cast<const unsigned char*>(value.data.data()), value.data.size(),
                      0};
    Value image;
    Pixels pixels;
    pixels.image = &image;
    const auto starts = [&bytes](const char* magic, size_t size) {
      return bytes.size >= size && std::memcmp(bytes.data, magic, size) == 0;
    };
    if (starts("\xff\xd8\xff", 3)) {
      if (read_jpeg(bytes, &pixels)) return image;
      return failed("not a JPEG image that can be read: " + std::string(pixels.error));
    }
    if (starts("\x89PNG", 4)) {
      if (read_png(bytes, &pixels)) return image;
      return failed("not a PNG image that can be read: " + std::string(pixels.error));
    }
    return failed("neither a JPEG nor a PNG image");
  }
};

std::unique_ptr<Step> make(Parameters&) { return std::make_unique<Decode>(); }

}  // namespace

StepKind decode_step() {
  return {"decode", "The pixels of a JPEG or PNG file, as Pillow decodes them.", "nothing", make};
}

}  // namespace xsp::pipelines
