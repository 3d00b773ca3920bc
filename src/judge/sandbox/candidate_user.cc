#include "judge/sandbox/candidate_user.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace kb {
namespace {

// systemd gives these to services that need a user while they run (DynamicUser=), so no account has them. Engines
// differ, so that none can reach another's candidates.
constexpr uid_t kFirst = 61184, kCount = 4336;
constexpr uid_t kOfAnEngine = kAgentUser + 1;

// A line of /proc/self/uid_map.
struct Range {
  uint64_t inside = 0, outside = 0, count = 0;
};

}  // namespace

Result<std::optional<uid_t>> CandidateUser() {
  if (geteuid() != 0) return std::nullopt;
  const uid_t wanted = kFirst + kOfAnEngine * (static_cast<uid_t>(getpid()) % (kCount / kOfAnEngine));
  std::ifstream map("/proc/self/uid_map");
  bool possible = false;
  for (Range range; map >> range.inside >> range.outside >> range.count;) {
    if (range.inside == 0 && range.outside != 0) return std::nullopt;  // outside this namespace it is somebody else
    possible |= wanted >= range.inside && wanted + kOfAnEngine - 1 - range.inside < range.count;
  }
  if (possible) return wanted;
  return Fail(ErrorCode::kUnavailable,
              "candidates may not run as the machine's root, and this user namespace has no other user; start "
              "kernelbench as an ordinary user, or map user ids 61184 to 65519 into the namespace");
}

bool IsCandidateUser(uid_t user) { return user >= kFirst && user < kFirst + kCount; }

}  // namespace kb
