// The rule of judgement: which further call a trial needs, and what its measurements say. Two pure functions of what
// was measured, the protocol and the calibration; nothing else decides which rounds count, what the speedup and its
// interval are, which inputs the headline is of, or the verdict of a trial. What ends an evaluation before its trial
// (text, build) is a verdict of that step.
#ifndef JUDGE_RULE_RULE_H_
#define JUDGE_RULE_RULE_H_

#include <optional>
#include <string>
#include <vector>

#include "judge/rule/calibration.h"
#include "judge/rule/course.h"
#include "judge/rule/finding.h"
#include "judge/rule/measurements.h"
#include "judge/rule/timings.h"

namespace kb {

// What is measured, in this order. All but rounds are measured while no candidate is loaded.
enum class Stage {
  kReference,  // empty calls of the reference's process
  kBaseline,   // the baseline by itself
  kRunner,     // empty calls of the runner
  kRounds,     // calls of the candidate
  kAgain,      // the baseline once more, when the runner is gone
};
inline constexpr Stage kStages[] = {Stage::kReference, Stage::kBaseline, Stage::kRunner, Stage::kRounds, Stage::kAgain};

// One call that is needed.
struct Wanted {
  enum class Call {
    kReferenceEmpty,  // adds to Measurements::reference_empty
    kAlone,           // alone, or after
    kEmpty,           // empty
    kRound,           // rounds
    kRepeat,          // repeats
  };
  Call call = Call::kRound;
  bool quiet = false;  // while nothing else of the judge's runs, and its last runner is gone
  int pause_ms = 0;    // before it, so that what disturbs may pass
  bool draw = false;   // on new inputs; else those of the call before
  RoundWanted round;
};

// The next call of a stage; nothing where it has enough.
std::optional<Wanted> Next(Stage stage, const Measurements& measured, const Protocol& protocol,
                           const Calibration& calibration);

struct Conclusion {
  Verdict verdict = Verdict::kNotRun;
  std::string reason;
  nlohmann::json evidence = nlohmann::json::object();
  bool started_early = false;  // why it is `tampered`: the device was in use before calls
  Timings timings;             // which rounds count, the speedup and why there is none, notes
};

// Of a trial that is over.
Conclusion Conclude(const Measurements& measured, const Protocol& protocol, const Calibration& calibration);

// The figures that times are held against, and the rounds so far.
Timings TimingsOf(const Measurements& measured, const Protocol& protocol, const Calibration& calibration);

// Calls of the baseline by itself that serve the next evaluation with the same one again.
std::vector<CallTimes> KeptOf(const Measurements& measured, const Protocol& protocol, const Calibration& calibration);

}  // namespace kb

#endif  // JUDGE_RULE_RULE_H_
