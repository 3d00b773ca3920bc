#include "judge/devices/cuda/occupancy.h"

#include <algorithm>
#include <iterator>

namespace kb {
namespace {

struct Multiprocessor {
  const char* compute_capability;
  int64_t threads, blocks, shared;  // shared: bytes at most, the rest of the L1 being cache
};

constexpr Multiprocessor kMultiprocessors[] = {{"7.0", 2048, 32, 96 << 10},   {"7.5", 1024, 16, 64 << 10},
                                               {"8.0", 2048, 32, 164 << 10},  {"8.6", 1536, 16, 100 << 10},
                                               {"8.7", 1536, 16, 164 << 10},  {"8.9", 1536, 24, 100 << 10},
                                               {"9.0", 2048, 32, 228 << 10},  {"10.0", 2048, 32, 228 << 10},
                                               {"10.3", 2048, 32, 228 << 10}, {"12.0", 1536, 24, 100 << 10}};

constexpr int64_t kWarp = 32;
constexpr int64_t kPartitions = 4, kPartitionRegisters = 16'384, kRegisterUnit = 256;  // registers of a warp
constexpr int64_t kUnlimited = INT64_MAX;

int64_t RoundedUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::optional<Occupancy> TheoreticalOccupancy(const LaunchResources& launch, const std::string& compute_capability) {
  const auto* const found =
      std::find_if(std::begin(kMultiprocessors), std::end(kMultiprocessors),
                   [&](const Multiprocessor& each) { return compute_capability == each.compute_capability; });
  if (found == std::end(kMultiprocessors) || launch.threads <= 0) return std::nullopt;
  const int64_t warps = RoundedUp(launch.threads, kWarp) / kWarp;

  int64_t by_registers = kUnlimited;
  if (launch.registers > 0) {
    const int64_t of_a_warp = RoundedUp(launch.registers * kWarp, kRegisterUnit);
    by_registers = kPartitionRegisters / of_a_warp * kPartitions / warps;
  }
  // From 8.0 on the system keeps 1 KB of each block to itself.
  const bool newer = compute_capability[0] != '7';
  const int64_t shared = launch.shared + (newer ? 1024 : 0);
  const int64_t by_shared = shared > 0 ? found->shared / RoundedUp(shared, newer ? 128 : 256) : kUnlimited;

  const std::pair<int64_t, const char*> limits[] = {{found->threads / kWarp / warps, "threads"},
                                                    {found->blocks, "blocks"},
                                                    {by_registers, "registers"},
                                                    {by_shared, "shared memory"}};
  const auto& least = *std::min_element(std::begin(limits), std::end(limits),
                                        [](const auto& a, const auto& b) { return a.first < b.first; });
  const double share = static_cast<double>(least.first * warps * kWarp) / static_cast<double>(found->threads);
  return Occupancy{least.first, share, least.second};
}

}  // namespace kb
