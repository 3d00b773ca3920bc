// How much of the service a client may have: what is open of its evaluations, and the time that devices spent on them.
#ifndef SERVER_QUOTA_H_
#define SERVER_QUOTA_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "server/access.h"
#include "server/refusal.h"

namespace kb::server {

// Device seconds of each client in the last hour, by the minute. Times are NowNs(). Not thread-safe.
class DeviceUse {
 public:
  void Add(const std::string& client, double seconds, int64_t now_ns);
  double Of(const std::string& client, int64_t now_ns) const;
  // Seconds until it is below `most`, if nothing is added.
  int WaitFor(const std::string& client, double most, int64_t now_ns) const;

 private:
  struct Minute {
    int64_t number = 0;
    double seconds = 0;
  };
  std::map<std::string, std::deque<Minute>> used_;  // oldest first
};

// Why `client`, of which `open` evaluations are open, may not have so many more; nothing: it may.
std::optional<Refusal> OverQuota(const Client& client, size_t open, size_t more, const DeviceUse& use, int64_t now_ns);

}  // namespace kb::server

#endif  // SERVER_QUOTA_H_
