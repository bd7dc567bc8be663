#include "process/worker/values.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

constexpr uint64_t kUsualIntegers = 100, kBytes = 256;  // integers are drawn below these
constexpr uint64_t kSampleRate = 16000;                 // of speech

// SplitMix64: every seed gives a good stream.
class Random {
 public:
  Random(const std::string& name, uint64_t seed) : state_(seed) {
    for (const char c : name) state_ = (state_ ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Returns a number of [2^-10, 1) with either sign; 21 bits of it are random.
  float real() {
    const uint64_t bits = next();
    const float magnitude =
        0x1p-10f + static_cast<float>(bits >> 43) * (0x1p-21f * (1.0f - 0x1p-10f));
    return (bits & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  uint64_t state_;
};

// Converts a normal float of magnitude 2^-10 to 1 to a 16-bit float, rounded towards zero.
uint16_t float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = ((bits >> 23) & 0xff) - 127 + 15;
  return static_cast<uint16_t>(((bits >> 16) & 0x8000) | (exponent << 10) | ((bits >> 13) & 0x3ff));
}
uint16_t bfloat16(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

template <typename Element, typename Make>
void fill(std::vector<std::byte>* data, Make&& make) {
  for (size_t at = 0; at + sizeof(Element) <= data->size(); at += sizeof(Element)) {
    const Element value = static_cast<Element>(make(at / sizeof(Element)));
    std::memcpy(data->data() + at, &value, sizeof value);
  }
}

enum class Role { kMask, kPosition, kSegment, kRate, kIds };

Role role_of(std::string name, uint32_t dtype) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("mask")) return Role::kMask;
  if (has("position")) return Role::kPosition;
  if (has("token_type") || has("segment")) return Role::kSegment;
  if (name == "sr" || has("sample_rate") || has("sampling_rate")) {
    return dtype_bytes(dtype) > 1 ? Role::kRate : Role::kIds;
  }
  return Role::kIds;
}

template <typename Element>
void fill_integers(Role role, uint64_t last_dimension, Random* random, uint64_t count,
                   std::vector<std::byte>* data) {
  fill<Element>(data, [&](size_t i) -> uint64_t {
    switch (role) {
      case Role::kMask:
        return 1;
      case Role::kPosition:
        return i % last_dimension;
      case Role::kSegment:
        return 0;
      case Role::kRate:
        return kSampleRate;
      default:
        return random->next() % count;
    }
  });
}

void fill_by_role(Role role, uint32_t dtype, const std::vector<int64_t>& dimensions, uint64_t count,
                  Random random, std::vector<std::byte>* data) {
  const bool is_mask = role == Role::kMask;
  const auto real = [&](size_t) { return is_mask ? 1.0f : random.real(); };
  const uint64_t last =
      dimensions.empty() || dimensions.back() < 1 ? 1 : static_cast<uint64_t>(dimensions.back());
  switch (dtype) {
    case XSP_FLOAT32:
      return fill<float>(data, real);
    case XSP_FLOAT64:
      return fill<double>(data, real);
    case XSP_FLOAT16:
      return fill<uint16_t>(data, [&](size_t i) { return float16(real(i)); });
    case XSP_BFLOAT16:
      return fill<uint16_t>(data, [&](size_t i) { return bfloat16(real(i)); });
    case XSP_BOOL:
      return fill<uint8_t>(data, [&](size_t) { return is_mask ? 1u : random.next() & 1; });
    case XSP_UINT8:
      return fill_integers<uint8_t>(role, last, &random, count, data);
    case XSP_INT8:
      return fill_integers<int8_t>(role, last, &random, count, data);
    case XSP_UINT16:
    case XSP_INT16:
      return fill_integers<uint16_t>(role, last, &random, count, data);
    case XSP_UINT32:
    case XSP_INT32:
      return fill_integers<uint32_t>(role, last, &random, count, data);
    case XSP_UINT64:
    case XSP_INT64:
      return fill_integers<uint64_t>(role, last, &random, count, data);
    default:
      return;
  }
}

bool is_real(uint32_t dtype) {
  return dtype == XSP_FLOAT16 || dtype == XSP_BFLOAT16 || dtype == XSP_FLOAT32 ||
         dtype == XSP_FLOAT64;
}

// Returns the text of a single integer's value; empty: it is not an integer.
std::string integer_text(uint32_t dtype, const std::vector<std::byte>& data) {
  const auto read = [&data](auto value) {
    std::memcpy(&value, data.data(), sizeof value);
    return std::to_string(value);
  };
  switch (dtype) {
    case XSP_INT8:
      return read(int8_t{});
    case XSP_UINT8:
      return read(uint8_t{});
    case XSP_INT16:
      return read(int16_t{});
    case XSP_UINT16:
      return read(uint16_t{});
    case XSP_INT32:
      return read(int32_t{});
    case XSP_UINT32:
      return read(uint32_t{});
    case XSP_INT64:
      return read(int64_t{});
    case XSP_UINT64:
      return read(uint64_t{});
    default:
      return {};
  }
}

template <typename Number>
bool parse(const std::string& text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename Element>
std::string fill_integer(const std::string& text, std::vector<std::byte>* data,
                         Element most = std::numeric_limits<Element>::max()) {
  Element number = 0;
  if (!parse(text, &number) || number > most) return "not an integer that its type can hold";
  fill<Element>(data, [&](size_t) { return number; });
  return {};
}

// Returns the nearest 16-bit float, and the even one of two that are equally near. `magnitude` is
// below 65520.
uint16_t nearest_half(double magnitude) {
  const int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : -14, -14);
  // The significand has the implied bit, which carries into the exponent, as rounding up does.
  const auto significand =
      static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<uint16_t>(significand + (static_cast<uint32_t>(exponent + 14) << 10));
}

uint16_t half_of(double number) {
  constexpr double kTooLarge = 65520;
  constexpr uint16_t kInfinity = 0x7c00, kNan = 0x7e00, kSign = 0x8000;
  const double magnitude = std::fabs(number);
  const uint16_t bits = std::isnan(number)      ? kNan
                        : magnitude < kTooLarge ? nearest_half(magnitude)
                                                : kInfinity;
  return bits | (std::signbit(number) ? kSign : uint16_t{0});
}

uint16_t nearest_bfloat16(double number) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
  if (std::isnan(number)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <typename Element>
void put(double number, std::byte* at) {
  Element element{};
  if constexpr (std::is_integral_v<Element>) {
    using Limits = std::numeric_limits<Element>;
    if (number >= static_cast<double>(Limits::max())) {
      element = Limits::max();
    } else if (number > static_cast<double>(Limits::min())) {
      element = static_cast<Element>(number);
    } else if (!std::isnan(number)) {
      element = Limits::min();
    }
  } else {
    element = static_cast<Element>(number);
  }
  std::memcpy(at, &element, sizeof element);
}

std::string fill_real(const std::string& text, uint32_t dtype, std::vector<std::byte>* data) {
  double number = 0;
  if (!parse(text, &number) || !std::isfinite(number)) return "not a number";
  const double most = dtype == XSP_FLOAT16   ? 65504
                      : dtype == XSP_FLOAT64 ? std::numeric_limits<double>::max()
                                             : 3.38e38;
  if (std::fabs(number) > most) return "more than its type can hold";
  for (size_t at = 0; at < data->size(); at += dtype_bytes(dtype)) {
    put_number(number, dtype, data->data() + at);
  }
  return {};
}

}  // namespace

void put_number(double number, uint32_t dtype, std::byte* at) {
  switch (dtype) {
    case XSP_FLOAT32:
      return put<float>(number, at);
    case XSP_FLOAT64:
      return put<double>(number, at);
    case XSP_FLOAT16: {
      const uint16_t bits = half_of(number);
      std::memcpy(at, &bits, sizeof bits);
      return;
    }
    case XSP_BFLOAT16: {
      const uint16_t bits = nearest_bfloat16(number);
      std::memcpy(at, &bits, sizeof bits);
      return;
    }
    case XSP_INT8:
      return put<int8_t>(number, at);
    case XSP_UINT8:
    case XSP_BOOL:
      return put<uint8_t>(number, at);
    case XSP_INT16:
      return put<int16_t>(number, at);
    case XSP_UINT16:
      return put<uint16_t>(number, at);
    case XSP_INT32:
      return put<int32_t>(number, at);
    case XSP_UINT32:
      return put<uint32_t>(number, at);
    case XSP_INT64:
      return put<int64_t>(number, at);
    case XSP_UINT64:
      return put<uint64_t>(number, at);
    default:
      return;
  }
}

bool is_lone_integer(uint32_t dtype, const std::vector<int64_t>& dimensions) {
  const bool is_alone = dimensions.empty() || (dimensions.size() == 1 && dimensions[0] == 1);
  return is_alone && dtype != XSP_BOOL && !is_real(dtype);
}

std::string fill_values(const std::string& name, uint32_t dtype,
                        const std::vector<int64_t>& dimensions, uint64_t below, uint64_t seed,
                        std::vector<std::byte>* data) {
  const Role role = role_of(name, dtype);
  const uint64_t usual = dtype == XSP_UINT8 ? kBytes : kUsualIntegers;
  const uint64_t count = below == 0 ? usual : std::min(below, usual);
  fill_by_role(role, dtype, dimensions, count, Random(name, seed), data);
  const std::string by_chance = ", seed " + std::to_string(seed);
  if (role == Role::kMask) return "1, as in a mask";
  if (is_real(dtype)) return "random in (-1, 1)" + by_chance;
  if (dtype == XSP_BOOL) return "random, true or false" + by_chance;
  if (role == Role::kPosition) return "0, 1, 2, ... as positions";
  if (role == Role::kSegment) return "0, as of one segment";
  if (role == Role::kRate) return std::to_string(kSampleRate) + ", as a sample rate";
  const std::string range = "random, 0 to " + std::to_string(count - 1);
  const bool is_alone = is_lone_integer(dtype, dimensions);
  return (is_alone ? integer_text(dtype, *data) + ", " : "") + range + by_chance;
}

std::string fill_constant(const std::string& text, uint32_t dtype, std::vector<std::byte>* data) {
  switch (dtype) {
    case XSP_BOOL:
      return fill_integer<uint8_t>(text, data, 1);
    case XSP_UINT8:
      return fill_integer<uint8_t>(text, data);
    case XSP_INT8:
      return fill_integer<int8_t>(text, data);
    case XSP_UINT16:
      return fill_integer<uint16_t>(text, data);
    case XSP_INT16:
      return fill_integer<int16_t>(text, data);
    case XSP_UINT32:
      return fill_integer<uint32_t>(text, data);
    case XSP_INT32:
      return fill_integer<int32_t>(text, data);
    case XSP_UINT64:
      return fill_integer<uint64_t>(text, data);
    case XSP_INT64:
      return fill_integer<int64_t>(text, data);
    default:
      return fill_real(text, dtype, data);
  }
}

}  // namespace xsp::process
