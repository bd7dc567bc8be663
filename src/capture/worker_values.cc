#include "capture/worker_values.h"

#include <bit>
#include <cctype>
#include <cstring>

#include "xsp/plugin.h"

namespace xsp::capture {
namespace {

constexpr uint64_t kIdsMax = 100;

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
  // In [2^-10, 1) with either sign, with 21 bits of it random.
  float real() {
    const uint64_t bits = next();
    const float magnitude =
        0x1p-10f + static_cast<float>(bits >> 43) * (0x1p-21f * (1.0f - 0x1p-10f));
    return (bits & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  uint64_t state_;
};

// Of a normal float of magnitude 2^-10 to 1, towards zero: the half of it that fits.
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

enum class Role { kMask, kPosition, kSegment, kIds };

Role role_of(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("mask")) return Role::kMask;
  if (has("position")) return Role::kPosition;
  if (has("token_type") || has("segment")) return Role::kSegment;
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
      default:
        return random->next() % count;
    }
  });
}

}  // namespace

void fill_values(const std::string& name, uint32_t dtype, const std::vector<int64_t>& dimensions,
                 uint64_t seed, std::vector<std::byte>* data) {
  Random random(name, seed);
  const Role role = role_of(name);
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
      return fill_integers<uint8_t>(role, last, &random, 256, data);
    case XSP_INT8:
      return fill_integers<int8_t>(role, last, &random, kIdsMax, data);
    case XSP_UINT16:
    case XSP_INT16:
      return fill_integers<uint16_t>(role, last, &random, kIdsMax, data);
    case XSP_UINT32:
    case XSP_INT32:
      return fill_integers<uint32_t>(role, last, &random, kIdsMax, data);
    case XSP_UINT64:
    case XSP_INT64:
      return fill_integers<uint64_t>(role, last, &random, kIdsMax, data);
    default:
      return;
  }
}

}  // namespace xsp::capture
