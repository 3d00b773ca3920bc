// Which rounds count: those in which nothing but the candidate and the reference used the machine. What says so is a
// witness, never how long a call took, for who leaves out slow calls chooses the result.
#ifndef JUDGE_RULE_VOID_ROUNDS_H_
#define JUDGE_RULE_VOID_ROUNDS_H_

#include <string>

#include "judge/rule/timings.h"

namespace kb {

// Whether a call waited so long for cores which others had that its time says little: 0.3 ms, for which wake-ups alone
// keep threads from running, and 5% of the call. A candidate's threads may have waited for each other.
bool WaitedForOthers(const CallTimes& call);

// Why a round does not count; empty if it does.
std::string VoidReason(const TimedCalls& round, const Timings& timings);

// Whether the machine is too busy: more than ten rounds are disturbed, and for more than one in four that count.
bool TooManyDisturbed(int disturbed, int counted);

// In how many rounds the candidate found a device that had not been idle, though it was before loading; 0 where those
// are fewer than half. Who starts early so often has tampered.
struct Early {
  int rounds = 0, of = 0;
};
Early StartedEarly(const Timings& timings);

}  // namespace kb

#endif  // JUDGE_RULE_VOID_ROUNDS_H_
