#include "jobs/lease.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kUntilTold{30};
constexpr uint64_t kNoise = uint64_t{64} << 20;  // bytes that the driver keeps or frees by itself; a context is larger

double Gib(uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(uint64_t{1} << 30); }

// Why the lease is over by the device's memory; empty: it is not.
std::string TooMuch(const Lease& lease, const DeviceMemory& before, const std::optional<DeviceMemory>& now) {
  const auto most = static_cast<uint64_t>(lease.memory_share * static_cast<double>(before.total));
  if (!now) return "how much of the device's memory it held could not be read any more";
  if (now->used <= before.used + most) return "";
  return fmt::format("it held {:.1f} GiB of the device's memory and may hold {:.1f}", Gib(now->used - before.used),
                     Gib(most));
}

// What takes it may compute, too: nothing is measured beside that, however long it lasts.
void AwaitMemory(const LentDevice& device, const DeviceMemory& before, const std::function<bool()>& ending) {
  const auto deadline = Clock::now() + kUntilTold;
  for (bool told = false;; std::this_thread::sleep_for(kLook)) {
    const auto now = device.memory();
    if ((now && now->used <= before.used + kNoise) || ending()) return;
    if (told || Clock::now() < deadline) continue;
    told = true;
    const std::string taken = now ? fmt::format(
                                        "{:.1f} GiB more of its memory are taken than before (nvidia-smi "
                                        "lists what takes them)",
                                        Gib(now->used - before.used))
                                  : "how much of its memory is taken cannot be read";
    fmt::print(stderr, "kernelbench: {} was lent, and nothing is measured on it until it is free: {}\n", device.name,
               taken);
  }
}

}  // namespace

void HoldLease(const Lease& lease, const LentDevice& device, const std::function<bool()>& taken_back,
               const std::function<bool()>& ending) {
  const auto before = device.memory ? device.memory() : std::nullopt;
  if (device.memory && !before) return lease.over("how much of its memory is taken cannot be read");
  const auto end = Clock::now() + std::chrono::duration<double>(lease.seconds);
  lease.begun(device);
  std::string why;
  for (; why.empty() && !taken_back(); std::this_thread::sleep_for(kLook)) {
    if (Clock::now() >= end) why = fmt::format("its {:g} s were over", lease.seconds);
    if (why.empty() && before) why = TooMuch(lease, *before, device.memory());
  }
  if (!why.empty()) lease.over(why);
  if (before) AwaitMemory(device, *before, ending);
}

}  // namespace kb
