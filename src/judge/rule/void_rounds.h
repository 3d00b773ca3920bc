// Which rounds count: those in which nothing but the candidate and the reference used the machine.
#ifndef JUDGE_RULE_VOID_ROUNDS_H_
#define JUDGE_RULE_VOID_ROUNDS_H_

#include <span>
#include <string>

#include "judge/rule/timings.h"

namespace kb {

inline constexpr const char* kBaselineSlower = "baseline slower than undisturbed";

// Whether threads that could run did not for so long that the span says little: other load on their cores.
bool LostToOtherLoad(double waited_us, double span_us, const Protocol& protocol);

// By how much, relative, a baseline may be slower than undisturbed.
double MostSlower(const Timings& timings);

// Why a round does not count; empty if it does.
std::string VoidReason(const TimedCalls& round, const Timings& timings);

// By how much a round's baseline took longer because the host launched it more slowly. A core that became slower is no
// disturbance of the device, and the candidate launches from the same one. Launches that the device's own work hides
// lengthen nothing; and more than twice the undisturbed time is no core's doing.
double LaunchedLaterUs(const TimedCalls& round, const Timings& timings);

// Whether a round counts only because launches may be slower.
bool LaunchedSlowly(const TimedCalls& round, const Timings& timings);

// In how many rounds the candidate found a device that had not been idle, though it was before loading; 0 where those
// are fewer than half. Who starts early so often has tampered.
struct Early {
  int rounds = 0, of = 0;
};
Early StartedEarly(const Timings& timings);

// Whether the candidate is too slow for void rounds to matter: it has had as many natural rounds as the protocol begins
// with, and in each it ran at less than half of `slow_below` times the speed of the slower of that round's baseline and
// the undisturbed one. One of the rounds is not void, or it is another ten times as slow: no other load is to blame for
// that. Never where something used the device before a round.
bool SlowThroughout(const Timings& timings);

// How many times as long as on natural inputs the baseline takes on others, at least 1. `calls`: on those
// inputs and on natural ones by turns, while no candidate is loaded. 1 as soon as one is clearly no longer than
// those of rounds may be, for other load makes none shorter; else of five pairs, which a machine that is slow for a
// while makes as slow: the median ratio; the ratio of the least ones on a CPU, whose calls are disturbed in many ways
// that are not seen, and where other load disturbed more of twenty.
struct Duration {
  double times = 1;
  bool certain = true;  // other load left enough calls alone
};
Asked<Duration> AskPairs(std::span<const CallTimes> calls, const Timings& timings);

// Once all rounds are over: the baseline by itself is quicker than was found before loading. It has that figure in all
// rounds whose own was slower than may be.
void CountWith(const AloneFigure& quicker, Timings* timings);

// For disturbances that do not go away. Whatever they are, a baseline that is slower than undisturbed counts as that;
// other load that stays is said. `only_slower`: rounds that are void for another reason stay so.
void AdmitVoidRounds(bool only_slower, Timings* timings);

}  // namespace kb

#endif  // JUDGE_RULE_VOID_ROUNDS_H_
