#include "desk/manifest/sha256.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace xsp::manifest {
namespace {

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

void Sha256::block(const uint8_t* bytes) {
  uint32_t words[64];
  for (int i = 0; i < 16; ++i) words[i] = big_endian(bytes + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  uint32_t s[8];
  std::copy(state_, state_ + 8, s);
  for (int i = 0; i < 64; ++i) {
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t mixed = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                           choice + kRound[i] + words[i];
    const uint32_t first = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22));
    std::copy_backward(s, s + 7, s + 8);
    s[4] += mixed;
    s[0] = mixed + first + majority;
  }
  for (int i = 0; i < 8; ++i) state_[i] += s[i];
}

void Sha256::add(const void* data, size_t bytes) {
  const auto* next = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const size_t held = bytes_ % sizeof(pending_);
    if (held == 0 && bytes >= sizeof(pending_)) {
      block(next);
      next += sizeof(pending_);
      bytes -= sizeof(pending_);
      bytes_ += sizeof(pending_);
      continue;
    }
    const size_t taken = std::min(bytes, sizeof(pending_) - held);
    std::memcpy(pending_ + held, next, taken);
    next += taken;
    bytes -= taken;
    bytes_ += taken;
    if (held + taken == sizeof(pending_)) block(pending_);
  }
}

std::string Sha256::finish() {
  const uint64_t bits = bytes_ * 8;
  const uint8_t one = 0x80, zero = 0;
  add(&one, 1);
  while (bytes_ % sizeof(pending_) != 56) add(&zero, 1);
  for (int shift = 56; shift >= 0; shift -= 8) {
    const auto byte = static_cast<uint8_t>(bits >> shift);
    add(&byte, 1);
  }
  char text[65];
  for (int i = 0; i < 8; ++i) std::snprintf(text + 8 * i, 9, "%08x", state_[i]);
  return text;
}

std::string sha256_of(std::string_view text) {
  Sha256 sum;
  sum.add(text.data(), text.size());
  return sum.finish();
}

Result<std::string> sha256_of_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return failed(path + ": cannot be opened: " + std::strerror(errno) + ": name a file");
  }
  Sha256 sum;
  std::vector<char> buffer(1 << 18);
  size_t read = 0;
  while ((read = std::fread(buffer.data(), 1, buffer.size(), file)) > 0) {
    sum.add(buffer.data(), read);
  }
  const bool is_wrong = std::ferror(file) != 0;
  std::fclose(file);
  if (is_wrong) return failed(path + ": cannot be read: name a regular file");
  return sum.finish();
}

}  // namespace xsp::manifest
