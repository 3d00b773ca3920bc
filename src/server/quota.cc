#include "server/quota.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb::server {
namespace {

constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr int64_t kMinutes = 60;

}  // namespace

void DeviceUse::Add(const std::string& client, double seconds, int64_t now_ns) {
  const int64_t now = now_ns / kMinuteNs;
  std::erase_if(used_, [&](const auto& of) { return of.second.back().number + kMinutes <= now; });
  std::deque<Minute>& minutes = used_[client];
  if (minutes.empty() || minutes.back().number != now) minutes.push_back({now, 0});
  minutes.back().seconds += seconds;
  while (minutes.front().number + kMinutes <= now) minutes.pop_front();
}

double DeviceUse::Of(const std::string& client, int64_t now_ns) const {
  const auto found = used_.find(client);
  double seconds = 0;
  if (found == used_.end()) return 0;
  for (const Minute& minute : found->second) {
    if (minute.number + kMinutes > now_ns / kMinuteNs) seconds += minute.seconds;
  }
  return seconds;
}

int DeviceUse::WaitFor(const std::string& client, double most, int64_t now_ns) const {
  const auto found = used_.find(client);
  double left = Of(client, now_ns);
  if (found == used_.end() || left < most) return 0;
  for (const Minute& minute : found->second) {
    const int64_t gone_ns = (minute.number + kMinutes) * kMinuteNs;
    if (gone_ns <= now_ns) continue;
    left -= minute.seconds;
    if (left < most) return static_cast<int>((gone_ns - now_ns) / 1'000'000'000) + 1;
  }
  return static_cast<int>(kMinutes * 60);
}

std::optional<Refusal> OverQuota(const Client& client, size_t open, size_t more, const DeviceUse& use, int64_t now_ns) {
  const auto most = static_cast<size_t>(client.queued);
  if (more > most) {
    return CallersFault(
        400, fmt::format("{} may have {} evaluations open and asks for {}: send fewer", client.name, most, more));
  }
  if (open + more > most) {
    return Refusal{429,
                   fmt::format("{} may have {} evaluations open (--queued) and has {}: send it when some have ended",
                               client.name, most, open),
                   "caller", true, 5};
  }
  const double used = use.Of(client.name, now_ns);
  if (client.device_s == 0 || used < client.device_s) return std::nullopt;
  const int wait_s = use.WaitFor(client.name, client.device_s, now_ns);
  return Refusal{429,
                 fmt::format("{} may have {} seconds of devices in an hour (--device-seconds) and has had {:.0f}: send "
                             "it in {} s",
                             client.name, client.device_s, used, wait_s),
                 "caller", true, std::max(wait_s, 1)};
}

}  // namespace kb::server
