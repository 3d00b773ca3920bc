// The result of one evaluation, and its JSON (docs/evaluation.md).
#ifndef JUDGE_EVALUATION_H_
#define JUDGE_EVALUATION_H_

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/protocol/protocol.h"
#include "judge/round/round.h"
#include "judge/stats/stats.h"
#include "judge/undisturbed.h"
#include "judge/verdict/verdict.h"

namespace kb {

// Whether the round's inputs are of `distribution`; "stressed" is all but the natural one.
bool IsOf(const Round& round, const std::string& distribution);

struct Evaluation {
  std::string id;
  std::string created;
  std::string problem, problem_sha256, size, device;
  nlohmann::json device_info;
  Protocol protocol;
  nlohmann::json candidate;
  std::string isolation;
  std::vector<std::string> barriers;

  Verdict verdict = Verdict::kNotRun;
  std::string reason;
  std::vector<std::string> notes;
  nlohmann::json mismatch;  // null unless wrong
  // By input distribution the largest error that was found, over what is allowed: a number, or "inf".
  nlohmann::json errors = nlohmann::json::object();
  nlohmann::json evidence = nlohmann::json::object();

  // Why a correct candidate has no speedup though one was to be measured: "machine_busy", "too_short" or "authorship".
  std::string no_speedup;
  // Measured before loading and once the runner is gone, of which the quicker counts.
  Undisturbed::Figure undisturbed;
  // How many times as long as on natural inputs the baseline takes by itself on others, by distribution; 1 or more.
  std::map<std::string, double> slower_inputs;
  double offset_us = 0, offset_spread_us = 0;  // measured before loading
  bool own_process = false;                    // the reference ran in a process of its own (GPU), as the candidate does
  // Its offset, then, and how far that scatters. Empty calls are alike on both sides: by what the two offsets differ
  // one of them is wrong.
  double reference_offset_us = 0, reference_spread_us = 0;
  bool by_clock = false;       // events, the candidate's word, said more than is certain, and count for neither side
  bool device_shared = false;  // something else used the device even before loading
  bool brief = false;          // that was looked for in fewer calls, for others served again (undisturbed.h)
  bool started_early = false;  // why it is `tampered`: the device was in use before calls
  double prepare_us = 0;
  double spent_s = 0;  // by the candidate, loading and in calls, in this attempt and those before
  // A module's weights have other values than the reference's, but their names and shapes; and how they differ.
  bool state_differs = false;
  std::string other_state;
  std::vector<Round> rounds;
  bool surely_slow = false;        // rounds ended early, for all of the interval lay below `slow_below`
  std::optional<Speedup> speedup;  // of the headline distribution
  std::string headline = "natural";
  nlohmann::json figures = nlohmann::json::object();  // bytes and flops of the problem (speed_of_light.h)
  nlohmann::json authorship;                          // null unless it was asked for and there is something to tell
  StepTimes engine_us;

  // A round's candidate time without the offset; by events, as far as the judge's clock allows, where the reference's
  // is.
  double CandidateUs(const Round& round) const;
  double BaselineUs(const Round& round) const;
  // By the judge's clock alone. Where the reference has a process of its own, who answers before the device was free
  // has computed on the host, or with a copy engine, which do not wait: then nothing is subtracted. (Who computes so
  // within the 0.2 ms that are left, and waits all the same, is not told from others: docs/trust.md.)
  double ClockUs(const Round& round) const;
  // Of what is subtracted from every time.
  double OffsetUncertaintyUs() const;
  // What a module's runner may do around a call on a GPU, in the clock and in no event: Python, where launching takes
  // longer than the device works.
  double AroundCallUs() const;
  // Whether the reference has a process of its own and its launches cost no time there: the device alone decides.
  bool DeviceBound() const;
  // What the baseline takes by itself on such inputs as the round's.
  double UndisturbedUs(const Round& round) const;
  bool InHeadline(const Round& round) const { return IsOf(round, headline); }

  // Keeps the largest.
  void AddError(const std::string& distribution, const nlohmann::json& over_allowed);

  // Whether a speedup is still to be had.
  bool Timed() const { return protocol.measure && no_speedup.empty(); }
  // Other programs disturbed whatever was to tell what the baseline or an empty call takes: there is no speedup.
  void MachineBusy();

  // Once, however often it is said.
  void AddNote(const std::string& note);

  nlohmann::json ToJson() const;
};

}  // namespace kb

#endif  // JUDGE_EVALUATION_H_
