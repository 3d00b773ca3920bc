// What the rule makes of a trial's measurements: the figures that times are held against, and the times that count.
#ifndef JUDGE_RULE_TIMINGS_H_
#define JUDGE_RULE_TIMINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/note.h"
#include "judge/protocol/protocol.h"
#include "judge/rule/alone.h"
#include "judge/rule/calibration.h"
#include "judge/rule/measurements.h"
#include "judge/stats/stats.h"

namespace kb {

inline constexpr const char* kMachineBusy = "machine_busy";

// A round as far as its times matter, and whether it counts.
struct TimedCalls {
  RoundPlan plan;
  CallTimes candidate, baseline;  // as they were measured

  double candidate_us = 0;        // by the judge's clock; the offset is not yet subtracted
  double candidate_event_us = 0;  // 0 where the baseline has none
  double baseline_us = 0;         // by its own events where there are any, else by the judge's clock
  double baseline_clock_us = 0;   // by the judge's clock, without the offset

  std::string void_reason;  // empty: it counts
};

// Whether the round's inputs are of `distribution`; "stressed" is all but the natural one.
bool IsOf(const TimedCalls& round, const std::string& distribution);

struct Timings {
  TrialSetting setting;
  Protocol protocol;
  Calibration calibration;

  // Measured before loading and once the runner is gone, of which the quicker counts.
  AloneFigure undisturbed;
  double offset_us = 0, offset_spread_us = 0;
  // Of the reference's process. Empty calls are alike on both sides: by what the two offsets differ one of them is
  // wrong.
  double reference_offset_us = 0, reference_spread_us = 0;
  bool device_shared = false;  // something else used the device even before loading
  bool brief = false;          // that was looked for in fewer calls, for others served again (alone.h)

  std::vector<TimedCalls> rounds;
  bool by_clock = false;     // events, the candidate's word, said more than is certain, and count for neither side
  bool surely_slow = false;  // rounds ended early, for all of the interval lay below `slow_below`
  // Why a correct candidate has no speedup though one was to be measured: kMachineBusy, "no_room", "too_short" or
  // "authorship".
  std::string no_speedup;
  std::string headline = "natural";
  std::optional<Speedup> speedup;  // of the headline distribution
  std::vector<Note> notes;

  // Whether a speedup is still to be had.
  bool Timed() const { return protocol.measure && no_speedup.empty(); }

  // A round's candidate time without the offset; by events, where there are any, as far as the judge's clock allows.
  double CandidateUs(const TimedCalls& round) const;
  double BaselineUs(const TimedCalls& round) const;
  // By the judge's clock alone. On a GPU, who answers before the device was free has computed on the host, or with a
  // copy engine, which do not wait: then nothing is subtracted. (Who computes so within the 0.2 ms that are left, and
  // waits all the same, is not told from others: docs/reference/trust.md.)
  double ClockUs(const TimedCalls& round) const;
  // Of what is subtracted from every time.
  double OffsetUncertaintyUs() const;
  // What a module's runner may do around a call on a GPU, in the clock and in no event: Python, where launching takes
  // longer than the device works.
  double AroundCallUs() const;
  // Whether the reference's launches cost no time: a GPU alone decides.
  bool DeviceBound() const;
  bool InHeadline(const TimedCalls& round) const { return IsOf(round, headline); }

  // The times of a call of the baseline, and of a round.
  TimedCalls Read(const CallTimes& baseline) const;
  TimedCalls Read(const Round& round) const;

  // Once, however often it is said.
  void AddNote(std::string text, nlohmann::json values = nlohmann::json::object());
  // Others used the machine in so many calls that there is no speedup.
  void MachineBusy();
};

}  // namespace kb

#endif  // JUDGE_RULE_TIMINGS_H_
