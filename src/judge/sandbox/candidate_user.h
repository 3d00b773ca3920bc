// Which user candidates run as.
#ifndef JUDGE_SANDBOX_CANDIDATE_USER_H_
#define JUDGE_SANDBOX_CANDIDATE_USER_H_

#include <sys/types.h>

#include <optional>

#include "base/result.h"

namespace kb {

// So many devices of an engine may each have a client's problem judged as two users of their own (Sandbox::Apart()).
inline constexpr uid_t kApartUsers = 7;
// The user of agents' commands follows those.
inline constexpr uid_t kAgentUser = 2 * (1 + kApartUsers);

// Nothing: this process is not the machine's root, so candidates run as its own user. Otherwise the first of two ids
// of users that nobody is, which those of Sandbox::Apart() follow. An error where this process, root of a container,
// has no id but root's.
Result<std::optional<uid_t>> CandidateUser();

// Whether candidates of some engine that root started may run as this user.
bool IsCandidateUser(uid_t user);

}  // namespace kb

#endif  // JUDGE_SANDBOX_CANDIDATE_USER_H_
