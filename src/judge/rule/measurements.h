// All that is measured in a trial, as it was measured: the rule (rule.h) reads this and nothing else, and it is stored
// whole. No time in here has an offset subtracted, and no round is left out.
//
// Times are microseconds. Lists are in the order in which things were measured.
#ifndef JUDGE_RULE_MEASUREMENTS_H_
#define JUDGE_RULE_MEASUREMENTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/rule/calibration.h"
#include "judge/rule/ending.h"
#include "wire/ops.h"

namespace kb {

// Where and of what: it holds for all of a trial.
struct TrialSetting {
  std::string device = "cpu";                   // or cuda
  bool module = false;                          // else native
  bool no_room = false;                         // for the reference's process: nothing is timed
  Floor floor = {};                             // of this device and kind of candidate,
  std::string floor_from = {};                  // and where that was measured
  double copy_gb_s = 0;                         // bytes read plus bytes written; 0: not known
  double input_bytes = 0, output_bytes = 0;     // of the problem at this size
  std::vector<std::string> distributions = {};  // of inputs that the problem has beside the natural one
  int weight_sets = 1;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(TrialSetting, device, module, no_room, floor, floor_from, copy_gb_s,
                                              input_bytes, output_bytes, distributions, weight_sets)
};

struct CallTimes {
  double us = 0;         // by the judge's clock
  double launch_us = 0;  // of it, until the host had launched everything; 0 on the CPU, where nothing is
  double event_us = 0;   // by the device's own events, of a candidate's call its word; 0: there are none
  double gap_us = 0;     // the device was taken away so long just before go
  // For cores that others had: its threads and the one that holds the clock; and as far as threads of its own do not
  // explain it, which a candidate may pin (device/wait_watch.h).
  double waited_us = 0, surely_waited_us = 0;
  double clock_mhz = 0;  // of a GPU's cores, right behind a call of the baseline; 0: not known
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(CallTimes, us, launch_us, event_us, gap_us, waited_us, surely_waited_us,
                                              clock_mhz)
};

// One call of the baseline while no candidate is loaded.
struct AloneCall {
  CallTimes call;
  bool quiet = false;  // nothing else of the judge's ran or was about to end
  bool kept = false;   // an evaluation before made it, with the same baseline
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(AloneCall, call, quiet, kept)
};

struct EmptyCall {
  double us = 0;      // beyond what its events say
  bool used = false;  // something had used the device just before
  bool quiet = false;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(EmptyCall, us, used, quiet)
};

struct RoundPlan {
  int index = 0;
  std::string distribution = "natural";
  int weights = 0;
  bool scored = false;
  bool in_place = false;  // its inputs are there before go also where others' come behind it
  std::optional<int64_t> input_seed;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(RoundPlan, index, distribution, weights, scored, in_place, input_seed)
};

// A round whose outputs were right.
struct Round {
  RoundPlan plan;
  CallTimes candidate, baseline;
  double worst = 0;         // error over allowed error
  bool own_anchor = false;  // it took fp64 on its own inputs to say so
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(Round, plan, candidate, baseline, worst, own_anchor)
};

struct Measurements {
  TrialSetting setting;
  std::vector<double> reference_empty;  // empty calls of the reference's process, beyond what its events say
  std::vector<AloneCall> alone;         // on natural inputs, before loading; kept ones first
  std::vector<EmptyCall> empty;         // of the runner, before it holds the candidate

  // The first error of a compiler that refused an extension of the module, which was told so; empty: none was refused.
  std::string refused_build;

  double prepare_us = 0;  // loading and constructing
  // A module's weights have other values than the reference's, but their names and shapes; and how they differ. Or the
  // reference's were copied into it, for a trial with its own went wrong.
  bool state_differs = false, state_copied = false;
  std::string other_state;

  std::vector<Round> rounds;
  int repeats = 0;               // further calls on the inputs of a round, whose outputs agreed bit for bit
  std::optional<Ending> ending;  // what ended the trial, if anything did
  // How far off a wrong candidate is on inputs that it was called with afterwards: the error over what is allowed, a
  // number or "inf", by distribution; and why that is not known of all.
  std::map<std::string, nlohmann::json> elsewhere;
  std::string compared_in_part;

  nlohmann::json authorship;  // who did the work; null: not asked, or it cannot be told, and why
  std::string no_authorship;
  std::vector<AloneCall> after;    // the baseline again, once the runner is gone
  std::vector<std::string> notes;  // what the steps before and beside the trial told

  // Once, however often it is said.
  void AddNote(const std::string& note) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }

  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(Measurements, setting, reference_empty, alone, empty, refused_build,
                                              prepare_us, state_differs, state_copied, other_state, rounds, repeats,
                                              ending, elsewhere, compared_in_part, authorship, no_authorship, after,
                                              notes)
};

}  // namespace kb

#endif  // JUDGE_RULE_MEASUREMENTS_H_
