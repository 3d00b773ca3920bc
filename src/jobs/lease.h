// A device that is lent to another process. Nothing is measured on it until that has given it back, and what it took of
// the memory is free again.
#ifndef JOBS_LEASE_H_
#define JOBS_LEASE_H_

#include <functional>
#include <string>
#include <vector>

#include "judge/devices/device_kind.h"

namespace kb {

struct LentDevice {
  std::string name;        // "cuda:1"
  std::vector<int> cores;  // on which nothing is measured meanwhile; empty: it has none of its own
  MemoryGauge memory;      // empty: it has no memory of its own
};

struct Lease {
  double seconds = 60;        // after which it is over
  double memory_share = 0.5;  // of the device's memory, that its holder may take
  // On the device's thread: it is the holder's. Then why it is over, unless it was taken back: the holder is to end all
  // that uses the device.
  std::function<void(const LentDevice& device)> begun;
  std::function<void(const std::string& why)> over;
};

// Until it is over or `taken_back`; then until the device's memory is as it was, or `ending`.
void HoldLease(const Lease& lease, const LentDevice& device, const std::function<bool()>& taken_back,
               const std::function<bool()>& ending);

}  // namespace kb

#endif  // JOBS_LEASE_H_
