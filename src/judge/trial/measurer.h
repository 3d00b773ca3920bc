// Makes the calls that the rule asks for, one after the other, and decides nothing (rule/rule.h).
#ifndef JUDGE_TRIAL_MEASURER_H_
#define JUDGE_TRIAL_MEASURER_H_

#include <utility>

#include "judge/evaluation.h"
#include "judge/request.h"
#include "judge/round/round.h"
#include "judge/rule/rule.h"
#include "judge/services/services.h"

namespace kb {

// What a trial of this request is.
TrialSetting SettingOf(Services* services, const Request& request, const ops::Problem& problem);
// With the floor of this device. kUsage names a file that holds none.
Result<TrialSetting> TimedSettingOf(Services* services, const Request& request, const ops::Problem& problem);

class Measurer {
 public:
  // `rounds` and `evaluation`, whose measurements it fills, outlive it.
  Measurer(Services* services, Rounds* rounds, Evaluation* evaluation, RoundWatch watch = {})
      : services_(services),
        rounds_(rounds),
        evaluation_(evaluation),
        measured_(evaluation->measured),
        watch_(std::move(watch)) {}

  // Makes all calls that the rule wants of a stage.
  Status Measure(Stage stage);
  // What the empty calls of the reference's process take longer than their events say: once a process.
  Status MeasureReference();
  // How far off a wrong candidate is on inputs of the other distributions, too.
  Status CompareElsewhere();

 private:
  Status MeasureOnce(Stage stage, const Wanted& wanted);
  Result<EmptyCall> CallEmpty();
  bool IsThrough() const;  // as Services::reference_empty() is told
  Status MeasureRound(const RoundPlan& plan);

  Services* services_;
  Rounds* rounds_;
  Evaluation* evaluation_;
  Measurements& measured_;
  const RoundWatch watch_;
};

}  // namespace kb

#endif  // JUDGE_TRIAL_MEASURER_H_
