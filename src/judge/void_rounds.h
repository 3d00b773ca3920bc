// Which rounds count: those in which nothing but the candidate and the reference used the machine.
#ifndef JUDGE_VOID_ROUNDS_H_
#define JUDGE_VOID_ROUNDS_H_

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "judge/evaluation.h"

namespace kb {

// What the first kernels after a change of contexts cost beside the change itself, which an empty call does not show.
// Where the device alone decides, the reference's own events begin behind that.
inline constexpr double kCudaWarmingUs = 40;
// Where both sides follow one: what is left to differ between two processes (bench/results/aa_cuda.md).
inline constexpr double kOwnProcessUs = 10;
// Spans so much shorter than the offset are of calls that did not wait for the device.
inline constexpr double kNoDeviceUs = 60;
// Launches that end so soon after go cost no time there: the device is held for 0.5 ms and changes its context.
inline constexpr double kLaunchedAtOnceUs = 550;
inline constexpr const char* kBaselineSlower = "baseline slower than undisturbed";

// By how much, relative, a baseline may be slower than undisturbed.
double MostSlower(const Evaluation& evaluation);

// Why a round does not count; empty if it does.
std::string VoidReason(const Round& round, const Evaluation& evaluation);

// By how much a round's baseline took longer because the host launched it more slowly. A core that became slower is no
// disturbance of the device, and the candidate launches from the same one. Launches that the device's own work hides
// lengthen nothing; and more than twice the undisturbed time is no core's doing.
double LaunchedLaterUs(const Round& round, const Evaluation& evaluation);

// Whether a round counts only because launches may be slower.
bool LaunchedSlowly(const Round& round, const Evaluation& evaluation);

// Rounds whose candidate found a device that had not been idle, though it was before loading: started early.
std::optional<Finding> StartedEarly(const Evaluation& evaluation);

// Whether the candidate is too slow for void rounds to matter: it has had as many natural rounds as the protocol begins
// with, and in each it ran at less than half of `slow_below` times the speed of the slower of that round's baseline and
// the undisturbed one. One of the rounds is not void, or it is another ten times as slow: no other load is to blame for
// that. Never where something used the device before a round.
bool SlowThroughout(const Evaluation& evaluation);

// How long the baseline takes on inputs of another distribution.
struct Duration {
  double times = 1;     // as long as on natural ones, at least 1
  bool certain = true;  // other load left enough calls alone
};

// While no candidate is loaded and `evaluation` holds the undisturbed figure. `call` makes one call of the baseline on
// new inputs of a distribution. 1 as soon as one is clearly no longer than those of rounds may be, for other load makes
// none shorter; else from five calls and natural ones right behind them, which a machine that is slow for a while makes
// as slow: the median ratio; the ratio of the least ones on a CPU, whose calls are disturbed in many ways that are not
// seen, and where other load disturbed more of twenty.
Result<Duration> TimesAsLong(const std::string& distribution, const Evaluation& evaluation,
                             const std::function<Result<Round>(const std::string&)>& call);

// Once all rounds are over: the baseline by itself is quicker than was found before loading. It has that figure in all
// rounds whose own was slower than may be.
void CountWith(const Undisturbed::Figure& quicker, Evaluation* evaluation);

// For disturbances that do not go away. Whatever they are, a baseline that is slower than undisturbed counts as that;
// other load that stays is said. `only_slower`: rounds that are void for another reason stay so.
void AdmitVoidRounds(bool only_slower, Evaluation* evaluation);

}  // namespace kb

#endif  // JUDGE_VOID_ROUNDS_H_
