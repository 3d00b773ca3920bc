// One round: the only thing that ever happens to a candidate once it is built and loaded.
#ifndef JUDGE_ROUND_ROUND_H_
#define JUDGE_ROUND_ROUND_H_

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "judge/evaluation.h"
#include "judge/process/device_process.h"
#include "judge/protocol/protocol.h"
#include "judge/rule/course.h"
#include "judge/rule/measurements.h"
#include "wire/doorbell.h"
#include "wire/ops.h"

namespace kb {

// How a call ended if not well; nothing if it did. `limit`: the time that it had, in words.
std::optional<Ending> EndingOf(const ops::Called& called, CallKind kind, const std::string& limit);

// What was asked for, with a distribution drawn. `random` gives 64 random bits.
RoundPlan PlanRound(const RoundWanted& wanted, const std::function<uint64_t()>& random);

// A call of the reference's own process that is no round's.
Result<ops::Called> TellReference(DeviceProcess* device, const Protocol& protocol, CallKind kind, uint64_t argument);

class Rounds {
 public:
  // `spent_s`: what the candidate took before.
  Rounds(DeviceProcess* device, const Protocol& protocol, StepTimes* times, double spent_s = 0)
      : device_(device), protocol_(protocol), times_(times), spent_s_(spent_s) {}

  // By the candidate, loading and in calls.
  double spent_s() const { return spent_s_; }

  // One call of the runner that is no round: empty, load or prepare.
  struct Answer {
    CallTimes times;  // its gap is the longest of all attempts
    ops::Said said;   // the runner's word, as its events are
  };
  Result<std::variant<Answer, Ending>> Ring(CallKind kind, uint64_t argument) {
    return Ring(kind, [argument] { return argument; });
  }

  // There is a process of the reference's: rounds time it.
  void UseReference() { timed_ = true; }

  // Makes a weight set current on the reference's side and returns its seed.
  Result<uint64_t> SetWeights(int index);

  // Draw, present, candidate, freeze, baseline, compare.
  Result<std::variant<Round, Ending>> Run(const RoundPlan& plan);

  // The last round's inputs once more: an ending if the outputs do not agree bit for bit.
  Result<std::optional<Ending>> Repeat();

  // One call that counts for nothing but who did its work, on fresh inputs or those of the call before.
  Result<ops::Observe::Reply> ObserveCall(bool fresh, const nlohmann::json& settings);

  // One more call, presented like any other and not compared, in which the runner traces the GPU's kernels; its report
  // names them.
  Result<std::variant<Answer, Ending>> TraceCall();

  // One call of the reference alone at the cadence of a round; on new natural inputs, or those of the call before.
  Result<CallTimes> BaselineAlone(bool draw);

 private:
  // `prepare` presents the call's inputs and gives its argument; again for each attempt.
  Result<std::variant<Answer, Ending>> Ring(CallKind kind, const std::function<Result<uint64_t>()>& prepare);
  // What a call may take: the limit of its kind, or what the candidate's loading and calls have left of
  // `evaluation_timeout_s`.
  struct Allowed {
    double seconds;
    std::string limit;  // which one that is, in words
  };
  Allowed Allow(CallKind kind) const;
  Result<uint64_t> Draw(const RoundPlan& plan);  // the argument of forward calls on these inputs
  Status Present(const char* step, bool in_place = false);
  Status DrawForAuthorship();
  Result<CallTimes> TimeReference(const char* step, bool alone);
  template <typename Op>
  Result<typename Op::Reply> Step(const char* name, const Op& op, double timeout_s);

  DeviceProcess* device_;
  const Protocol& protocol_;
  StepTimes* times_;
  uint64_t rng_seed_ = 0;  // of the last draw
  double spent_s_ = 0;
  bool timed_ = false;
};

}  // namespace kb

#endif  // JUDGE_ROUND_ROUND_H_
