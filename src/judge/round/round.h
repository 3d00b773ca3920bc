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
#include "judge/process/device_process.h"
#include "judge/protocol/protocol.h"
#include "judge/verdict/verdict.h"
#include "wire/doorbell.h"
#include "wire/ops.h"

namespace kb {

// Why a round (or loading) ended the evaluation: the candidate's doing.
struct Finding {
  Verdict verdict = Verdict::kNotRun;
  std::string reason;
  std::string traceback;    // of the candidate, if it raised
  nlohmann::json mismatch;  // as in docs/evaluation.md, or null
  nlohmann::json error;     // with a mismatch: the largest of all outputs, as LargerError() takes it
};

// Of two errors over what is allowed, each a number or "inf".
nlohmann::json LargerError(const nlohmann::json& a, const nlohmann::json& b);

// What a call says about the candidate; nothing if it is fine. `limit`: the time that it had, in words.
std::optional<Finding> FindingOf(const ops::Called& called, CallKind kind, const std::string& limit);

struct RoundPlan {
  int index = 0;
  std::string distribution = "natural";
  int weights = 0;
  bool scored = false;
  bool in_place = false;  // its inputs are there before go also where others' come behind it
  std::optional<int64_t> input_seed;
};

struct Round {
  RoundPlan plan;
  double candidate_us = 0;  // offset not yet subtracted
  double baseline_us = 0;
  double baseline_clock_us = 0;   // the same by the judge's clock alone
  double baseline_launch_us = 0;  // of it, until the host had launched everything; 0 on the CPU, where nothing is
  double candidate_event_us = 0,
         baseline_event_us = 0;                      // by the device's own events (GPU); the first is the runner's word
  double baseline_waited_us = 0;                     // runnable but not running: other load
  double candidate_gap_us = 0, baseline_gap_us = 0;  // the device was taken away just before go
  double worst = 0;                                  // error over allowed error
  bool own_anchor = false;                           // it took fp64 on its own inputs to say so
  std::string void_reason;                           // empty: it counts
  bool admitted = false;                             // it was void, but the disturbance stayed
  double disturbed_us = 0;  // what the baseline took where the undisturbed figure counts instead
};

// Whether threads that could run did not for so long that the span says little: other load on their cores.
bool LostToOtherLoad(double waited_us, double span_us, const Protocol& protocol);

// A call of the reference's own process that is no round's.
Result<ops::Called> TellReference(DeviceProcess* device, const Protocol& protocol, CallKind kind, uint64_t argument);

// One call of the reference.
struct BaselineCall {
  double us = 0;        // by its own events where it has a process of its own, else by the judge's clock
  double clock_us = 0;  // by the judge's clock, without the offset
  double launch_us = 0, event_us = 0, gap_us = 0, waited_us = 0;
};

// Microseconds spent in each named step, for engine_us.
using StepTimes = std::map<std::string, double>;

class Rounds {
 public:
  // `spent_s`: what the candidate took before.
  Rounds(DeviceProcess* device, const Protocol& protocol, StepTimes* times, double spent_s = 0)
      : device_(device), protocol_(protocol), times_(times), spent_s_(spent_s) {}

  // By the candidate, loading and in calls.
  double spent_s() const { return spent_s_; }

  // One call of the runner that is no round: empty, load or prepare.
  struct Answer {
    double us = 0;
    double gap_us = 0;      // the longest of all attempts
    double elapsed_us = 0;  // the runner's word, as what it said
    ops::Said said;
  };
  Result<std::variant<Answer, Finding>> Ring(CallKind kind, uint64_t argument) {
    return Ring(kind, [argument] { return argument; });
  }

  // The reference is called in a process of its own, whose empty call takes so much longer than its events say.
  void UseReference(double offset_us) { reference_offset_us_ = offset_us; }

  // Makes a weight set current on the reference's side and returns its seed.
  Result<uint64_t> SetWeights(int index);

  // Draw, present, candidate, freeze, baseline, compare.
  Result<std::variant<Round, Finding>> Run(const RoundPlan& plan);

  // The last round's inputs once more: a finding if the outputs do not agree bit for bit.
  Result<std::optional<Finding>> Repeat();

  // One call that counts for nothing but who did its work, on fresh inputs or those of the call before.
  Result<ops::Profile::Reply> ProfileCall(bool fresh, const nlohmann::json& settings);

  // One more call, presented like any other and not compared, in which the runner traces the GPU's kernels; its report
  // names them.
  Result<std::variant<Answer, Finding>> TraceCall();

  // One call of the reference alone at the cadence of a round.
  Result<BaselineCall> BaselineAlone();
  // The same on fresh inputs of a distribution: what a round tells of its baseline.
  Result<Round> BaselineAlone(const std::string& distribution);

 private:
  // `prepare` presents the call's inputs and gives its argument; again for each attempt.
  Result<std::variant<Answer, Finding>> Ring(CallKind kind, const std::function<Result<uint64_t>()>& prepare);
  // What a call may take: the limit of its kind, or what the candidate's loading and calls have left of
  // `evaluation_timeout_s`.
  struct Allowed {
    double seconds;
    std::string limit;  // which one that is, in words
  };
  Allowed Allow(CallKind kind) const;
  Result<uint64_t> Draw(const RoundPlan& plan);  // the argument of forward calls on these inputs
  Status Present(const char* step, bool in_place = false);
  Status DrawForProfile();
  Result<BaselineCall> Baseline(const char* step, bool alone);
  template <typename Op>
  Result<typename Op::Reply> Step(const char* name, const Op& op, double timeout_s);

  DeviceProcess* device_;
  const Protocol& protocol_;
  StepTimes* times_;
  uint64_t rng_seed_ = 0;  // of the last draw
  double spent_s_ = 0;
  std::optional<double> reference_offset_us_;
};

}  // namespace kb

#endif  // JUDGE_ROUND_ROUND_H_
