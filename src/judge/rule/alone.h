// What the baseline and an empty call take while no candidate is loaded, of the calls that were made so far; and
// whether further ones are needed.
#ifndef JUDGE_RULE_ALONE_H_
#define JUDGE_RULE_ALONE_H_

#include <optional>
#include <span>
#include <vector>

#include "judge/rule/measurements.h"

namespace kb {

struct Timings;

// Of the baseline by itself. `spread`: 1.4826 times the median absolute deviation, relative to `us`.
struct AloneFigure {
  double us = 0, launch_us = 0, spread = 0;
};

// What calls answer. Where they do not yet, another one is needed, before which what disturbs gets `pause_ms`.
template <typename Answer>
struct Asked {
  std::optional<Answer> answer;
  bool busy = false;   // so many calls were disturbed that there will be no answer
  bool quiet = false;  // the next call is to be made while nothing else of the judge's runs
  bool draw = false;   // on inputs of its own
  int pause_ms = 0;
  bool more() const { return !answer && !busy; }
};

// The baseline on natural inputs. A figure takes six calls; the first of an evaluation warms up. Where the evaluation
// before had the same baseline, the last four it rested on serve again (`kept`) if two new ones agree with them as
// closely as calls do, and all six are made anew if not. No candidate can have slowed a call that was over before it
// was loaded, whichever evaluation made it; what the new ones tell is that the machine is as quick as it was.
struct Alone {
  AloneFigure figure;
  std::vector<CallTimes> kept;  // for the next evaluation
  bool reused = false;          // calls that were kept are among those that count
};
// `calls`: kept ones first. `timings`: its offset of the reference's process.
Asked<Alone> AskAlone(std::span<const AloneCall> calls, const Timings& timings);
// Whether something used the device before a call, while nothing of ours ran.
bool UsedByOthers(std::span<const AloneCall> calls);

// The baseline once more, when the runner is gone. What was left behind by whatever ran before, builds too, may have
// disturbed the first figure. Nothing makes a call shorter, so two that took about as long as that figure confirm it;
// if one was quicker, all is measured anew, and `kept` is of that. Answers with the quicker figure.
Asked<Alone> AskAgain(std::span<const AloneCall> calls, const Timings& timings);

// An offset rests on three series of empty calls in a row whose medians lie within `agree_us`. Calls scatter by a few
// us, on a GPU now and then by 190 (bench/results/aa_cuda.md), and while the kernel tears down what a process left by
// far more.
struct OffsetCalls {
  int settling;   // before the first series: calls that do not count, for a GPU's first ones take longer
  int in_series;  // calls of one series
  double agree_us;
};
// Sorted times of the three series.
Asked<std::vector<double>> AskEmpty(std::span<const double> calls, const OffsetCalls& wanted);
// Which calls tell the offset of the reference's process, and that of the runner: the first of the latter waits for
// it to be ready.
OffsetCalls ReferenceOffsetCalls();
OffsetCalls RunnerOffsetCalls(const Timings& timings);

// 1.4826 times the median absolute deviation: a normal distribution's standard deviation.
double ScatterUs(std::span<const double> us);

}  // namespace kb

#endif  // JUDGE_RULE_ALONE_H_
