// How far a speedup's interval must reach beyond what its samples say, because of what they cannot tell apart.
#ifndef JUDGE_HEDGES_H_
#define JUDGE_HEDGES_H_

#include "judge/evaluation.h"

namespace kb {

// What a candidate may gain by leaving out the runner's wait for the device, beside kCudaWarmingUs: as much of its
// launches as fits into a change of contexts hides there, 143 to 168 us where it was measured.
inline constexpr double kCudaHiddenUs = 120;
// And a module by leaving out what the runner does around its calls: by so much its offset is above a native one's.
inline constexpr double kCudaModuleUs = 90;
// Where the reference has a process of its own nothing is to be gained by that: it comes before the wait for the
// device, hides as launches do, and is in no offset. Where launching takes longer than that hides, it is in the clock
// alone.
inline constexpr double kOwnModuleUs = 60;
// On the CPU a module's call takes so much longer in a runner than where the reference runs, beyond an empty call's
// offset, which passes through no Python: its process is stopped between calls, and its code and its pages are cold
// (A/A of modules of 0.1 to 0.4 ms: 32 to 71 us, bench/results/aa_cpu.md).
inline constexpr double kCpuColdModuleUs = 60;

// Under load the baseline is slowed more than the candidate, which wakes up rested. If such rounds count, the interval
// reaches down to what the quietest baseline says. On a GPU it always reaches down to the undisturbed one: what a
// baseline may be slower than that without its round being void, a candidate may have caused.
void HedgeAgainstLoad(Evaluation* evaluation);
// A baseline that stayed slower counts as if it had not, for the candidate may have slowed it. If the machine did, it
// slowed both: the interval reaches up to what was measured.
void HedgeAgainstSlowerMachine(Evaluation* evaluation);
// On a GPU: who hid its launches, or left out our code, takes longer than it seems, and that is no merit. Nothing tells
// it from one that is quick, so the interval reaches down. Where the reference has a process of its own nothing is to
// be gained by hiding, but events are the candidate's word: then the low end is that of the judge's clock.
void HedgeAgainstHiddenLaunches(Evaluation* evaluation);
// On the CPU: a module can write straight into the shared outputs, which saves it the copy that its baseline pays for.
void HedgeAgainstLeftOutCopy(const nlohmann::json& problem, Evaluation* evaluation);
// On the CPU: a module may be quicker than it seems, for its process is colder (kCpuColdModuleUs). The interval reaches
// up to that.
void HedgeAgainstColdRunner(Evaluation* evaluation);
// How many times as quick as `candidate_us` says that may be: at most 2; 1 for native candidates and on a GPU.
double ColdRunnerFactor(const Evaluation& evaluation, double candidate_us);

// How long a runner on the CPU may take to copy a module's outputs into shared memory, generously. `problem`: with
// "outputs" as the device process describes them.
double CopyUs(const nlohmann::json& problem, const Evaluation& evaluation);

}  // namespace kb

#endif  // JUDGE_HEDGES_H_
