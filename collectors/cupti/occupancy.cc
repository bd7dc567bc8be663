#include "collectors/cupti/occupancy.h"

namespace xsp::cupti {
namespace {

constexpr uint64_t kWarpThreads = 32;
constexpr uint64_t kRegisterUnit = 256;
constexpr uint64_t kPartitions = 4;
constexpr uint64_t kSharedUnit = 128;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t volume(const uint32_t (&sides)[3]) { return uint64_t{sides[0]} * sides[1] * sides[2]; }

}  // namespace

Occupancy occupancy_of(const DeviceLimits& limits, const Geometry& geometry) {
  Occupancy result;
  const uint64_t threads = volume(geometry.block);
  if (limits.multiprocessors == 0 || limits.threads == 0 || limits.blocks == 0 || threads == 0) {
    return result;
  }
  const uint64_t warps = round_up(threads, kWarpThreads) / kWarpThreads;
  const uint64_t warps_max = limits.threads / kWarpThreads;
  uint64_t blocks = warps_max / warps;
  result.limiter = "warps";
  const auto limit = [&](uint64_t at_most, const char* name) {
    if (at_most >= blocks) return;
    blocks = at_most;
    result.limiter = name;
  };
  limit(limits.blocks, "blocks");
  if (geometry.registers != 0 && limits.registers != 0) {
    const uint64_t of_warp = round_up(geometry.registers * kWarpThreads, kRegisterUnit);
    limit(limits.registers / kPartitions / of_warp * kPartitions / warps, "registers");
  }
  const uint64_t own = uint64_t{geometry.static_shared_bytes} + geometry.dynamic_shared_bytes;
  const uint64_t shared = geometry.shared_bytes != 0 ? geometry.shared_bytes : limits.shared_bytes;
  const uint64_t of_block = round_up(own + limits.reserved_shared_bytes, kSharedUnit);
  if (own != 0 && shared != 0) limit(shared / of_block, "shared_memory");
  if (blocks == 0) return Occupancy{};
  result.blocks = static_cast<uint32_t>(blocks);
  result.theoretical_pct =
      100.0 * static_cast<double>(blocks * warps) / static_cast<double>(warps_max);
  result.waves = static_cast<double>(volume(geometry.grid)) /
                 static_cast<double>(blocks * limits.multiprocessors);
  return result;
}

}  // namespace xsp::cupti
