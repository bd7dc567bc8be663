// The samples of a WAV file: PCM of 8, 16, 24 or 32 bits, or floating point of 32 or 64 bits.
//
// The format is RIFF's: chunks of a name, a size and a content that is padded to an even size
// (Microsoft, "Multimedia Programming Interface and Data Specifications 1.0", and "Multiple Channel
// Audio Data and WAVE Files"). Integers are divided by the largest magnitude of their type, as
// libsndfile does.
#include <algorithm>
#include <optional>
#include <string_view>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr uint64_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
constexpr uint64_t kChannelsMax = 64, kRateMax = 768'000;

uint64_t little(std::string_view bytes, size_t at, size_t count) {
  uint64_t number = 0;
  for (size_t i = count; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

struct Format {
  uint64_t code = 0, channels = 0, rate = 0, bits = 0;
};

Result<Format> read_format(std::string_view chunk) {
  if (chunk.size() < 16) return failed("its format chunk is cut off");
  Format format{little(chunk, 0, 2), little(chunk, 2, 2), little(chunk, 4, 4),
                little(chunk, 14, 2)};
  // The first two bytes of an extensible format's identifier are the format's code.
  if (format.code == kExtensible && chunk.size() >= 40) format.code = little(chunk, 24, 2);
  const bool is_pcm = format.code == kPcm && (format.bits == 8 || format.bits == 16 ||
                                              format.bits == 24 || format.bits == 32);
  const bool is_float = format.code == kFloat && (format.bits == 32 || format.bits == 64);
  if (!is_pcm && !is_float) {
    return failed("its format " + std::to_string(format.code) + " of " +
                  std::to_string(format.bits) + " bits cannot be read: convert it to 16-bit PCM");
  }
  if (format.channels < 1 || format.channels > kChannelsMax || format.rate < 1 ||
      format.rate > kRateMax) {
    return failed("it has " + std::to_string(format.channels) + " channels at " +
                  std::to_string(format.rate) + " Hz: 1 to 64, at 1 to 768000 Hz, can be read");
  }
  return format;
}

float sample_at(std::string_view data, size_t at, const Format& format) {
  const uint64_t raw = little(data, at, format.bits / 8);
  if (format.code == kFloat && format.bits == 32) {
    const auto word = static_cast<uint32_t>(raw);
    float number = 0;
    std::memcpy(&number, &word, sizeof number);
    return number;
  }
  if (format.code == kFloat) {
    double number = 0;
    std::memcpy(&number, &raw, sizeof number);
    return static_cast<float>(number);
  }
  const auto half = static_cast<double>(uint64_t{1} << (format.bits - 1));
  const auto number = static_cast<double>(raw);
  if (format.bits == 8) return static_cast<float>((number - half) / half);
  return static_cast<float>((number < half ? number : number - 2 * half) / half);
}

Result<Value> samples_of(std::string_view data, const Format& format) {
  const size_t size = format.bits / 8;
  const size_t frames = data.size() / (size * format.channels);
  if (frames == 0) return failed("it has no samples");
  Type type{Kind::kAudio, XSP_FLOAT32, {}, "", ""};
  type.dimensions = {static_cast<int64_t>(frames), static_cast<int64_t>(format.channels)};
  type.rate = static_cast<int64_t>(format.rate);
  if (frames * format.channels > kValueBytesMax / sizeof(float)) {
    return failed("it has more than 2 GiB of samples: cut it into parts");
  }
  Value audio = zeros(std::move(type));
  const auto samples = audio.as<float>();
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = sample_at(data, i * size, format);
  return audio;
}

class DecodeWav : public Step {
 public:
  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kBytes) return usage("bytes: make it the first step, and from: audio");
    Type type{Kind::kAudio, XSP_FLOAT32, {kUnknown, kUnknown}, "", ""};
    type.rate = kUnknown;
    return type;
  }

  Result<Value> run(Value value) override {
    const std::string_view bytes(reinterpret_cast<const char*>(value.data.data()),
                                 value.data.size());
    if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE") {
      return failed("not a WAV file: convert it to one");
    }
    std::optional<Format> format;
    for (size_t at = 12; at + 8 <= bytes.size();) {
      const std::string_view name = bytes.substr(at, 4);
      const uint64_t size = little(bytes, at + 4, 4);
      // A recorder that was interrupted leaves a size that is too large: what is there is read.
      const std::string_view content = bytes.substr(at + 8, size);
      if (name == "fmt ") {
        XSP_TRY(format, read_format(content));
      } else if (name == "data") {
        if (!format) return failed("its samples come before their format");
        return samples_of(content, *format);
      }
      at += 8 + content.size() + size % 2;
    }
    return failed("it has no samples");
  }
};

std::unique_ptr<Step> make(Parameters&) { return std::make_unique<DecodeWav>(); }

}  // namespace

StepKind decode_wav_step() {
  return {"decode_wav", "The samples of a WAV file, as float32 from -1 to 1.", "nothing", make};
}

}  // namespace xsp::pipelines
