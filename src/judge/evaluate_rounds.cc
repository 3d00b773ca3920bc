// The rounds of one evaluation: which inputs, which weights, and when to stop.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "judge/evaluate.h"
#include "judge/headline.h"
#include "judge/hedges.h"
#include "judge/round/planner.h"
#include "judge/void_rounds.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr const char* kOwnAnchor =
    "own_anchor: on a round's inputs the reference erred where it had not in the anchors; fp64 on these inputs decided";
// On a GPU, whose clocks give way to what a candidate draws, so many slower baselines are no accident.
constexpr int kSlowerInARow = 5;

int64_t BytesMoved(const json& problem) {
  int64_t bytes = 0;
  for (const char* kind : {"inputs", "outputs"}) {
    for (const json& tensor : problem.at(kind)) bytes += tensor.at("bytes").get<int64_t>();
  }
  return bytes;
}

// Events that the judge's clock contradicts: of work on a stream that nobody waited for, or made up.
void AddTimingMismatch(Evaluation* evaluation) {
  std::vector<double> clock, events;
  for (const Round& round : evaluation->rounds) {
    if (!evaluation->own_process || !evaluation->InHeadline(round) || !round.void_reason.empty()) continue;
    clock.push_back(evaluation->ClockUs(round));
    events.push_back(round.candidate_event_us);
  }
  if (clock.empty()) return;
  const double clock_us = Median(clock), event_us = Median(events), above_us = evaluation->OffsetUncertaintyUs();
  if (Refined(event_us, clock_us, above_us + evaluation->AroundCallUs(), above_us) != clock_us) return;
  evaluation->AddNote(fmt::format(
      "timing_mismatch: events in the candidate's process say {:.0f} us, the judge's clock {:.0f} us, which counts",
      event_us, clock_us));
}

void AddTimingNotes(const json& problem, Evaluation* evaluation) {
  const Speedup& speedup = *evaluation->speedup;
  const Protocol& protocol = evaluation->protocol;
  const double statistical = speedup.half_width;
  if (evaluation->surely_slow) {
    evaluation->notes.push_back(fmt::format("surely_slow: below {}x after {} rounds; it was not measured further",
                                            protocol.slow_below, speedup.rounds));
  } else if (statistical > protocol.half_width) {
    evaluation->notes.push_back(fmt::format("wide_interval: half-width {:.1f}% after {} rounds, {:.1f}% was asked for",
                                            100 * statistical, speedup.rounds, 100 * protocol.half_width));
  }
  const double floor = FloorOf(*evaluation, evaluation->headline);
  const bool half = evaluation->device == "cpu" && speedup.candidate_us <= evaluation->offset_us;
  if (half || speedup.floor > floor + std::max(0.05, protocol.half_width)) {
    evaluation->notes.push_back(fmt::format(
        "too_short_to_resolve: {:.0f} us with an offset of {:.0f} us that is uncertain by {:.1f} us{}; a larger --size "
        "resolves more",
        speedup.candidate_us, evaluation->offset_us, evaluation->OffsetUncertaintyUs(),
        half ? ", of which at most half of a span is subtracted" : ""));
  }
  constexpr double kWorthTelling = 0.05;
  if (floor >= kWorthTelling && floor == LaunchFloor(*evaluation, evaluation->headline)) {
    evaluation->notes.push_back(
        fmt::format("launch_bound: launching is much of the baseline's time, and processes that do the same differ "
                    "there; the interval allows for {:.0f}%",
                    100 * floor));
  }
  AddTimingMismatch(evaluation);
  const double rate = evaluation->device_info.value("copy_gb_s", 0.0) * 1e3;  // bytes a microsecond
  const double least_us = rate > 0 ? static_cast<double>(BytesMoved(problem)) / rate : 0;
  if (speedup.candidate_us < 0.5 * least_us) {
    evaluation->notes.push_back(
        fmt::format("faster_than_memory: {:.0f} us, but reading the inputs and writing the outputs "
                    "alone takes {:.0f} us at the measured copy rate",
                    speedup.candidate_us, least_us));
  }
  if (protocol.audits > 0)
    evaluation->notes.push_back("not_audited: this protocol counts the lower of two audits; none was made");
}

// One planned round; a finding ends the evaluation.
Result<std::optional<Finding>> RunRound(const RoundPlan& plan, Rounds* rounds, Evaluation* evaluation) {
  const int current_weights = evaluation->rounds.empty() ? 0 : evaluation->rounds.back().plan.weights;
  if (plan.weights != current_weights) {
    KB_ASSIGN_OR_RETURN(const uint64_t seed, rounds->SetWeights(plan.weights));
    KB_ASSIGN_OR_RETURN(auto prepared, rounds->Ring(CallKind::kPrepare, seed));
    if (auto* finding = std::get_if<Finding>(&prepared)) return std::optional(std::move(*finding));
  }
  KB_ASSIGN_OR_RETURN(auto outcome, rounds->Run(plan));
  if (auto* finding = std::get_if<Finding>(&outcome)) return std::optional(std::move(*finding));
  Round round = std::get<Round>(std::move(outcome));
  if (round.own_anchor) evaluation->AddNote(kOwnAnchor);
  evaluation->AddError(plan.distribution, round.worst);
  round.void_reason = evaluation->Timed() ? VoidReason(round, *evaluation) : "";
  evaluation->rounds.push_back(std::move(round));
  return std::optional<Finding>();
}

// The rounds that are to count.
class Course {
 public:
  Course(const Protocol& protocol, Rounds* rounds, Planner* planner, Evaluation* evaluation)
      : protocol_(protocol), rounds_(rounds), planner_(planner), evaluation_(evaluation) {}

  // How many counted, and how many of them on natural inputs.
  int counted() const { return counted_; }
  int natural() const { return natural_; }

  // Runs rounds until one counts. In place of void ones come others; if disturbances do not go away, they count.
  Result<std::optional<Finding>> Next() {
    const int most_voids = std::max(10, protocol_.round_checks.front());
    for (;;) {
      const RoundPlan plan = planner_->Next(true);
      KB_ASSIGN_OR_RETURN(auto finding, RunRound(plan, rounds_, evaluation_));
      if (finding) return finding;
      const std::string& reason = evaluation_->rounds.back().void_reason;
      slower_ = reason == kBaselineSlower && evaluation_->device != "cpu" ? slower_ + 1 : 0;
      const bool slow = !reason.empty() && SlowThroughout(*evaluation_);
      const bool stays = voids_ == most_voids || slower_ >= kSlowerInARow || slow;
      if (!reason.empty() && !stays) {
        ++voids_;
        planner_->Void(plan);
        continue;
      }
      if (stays) {
        if (auto early = StartedEarly(*evaluation_)) {
          evaluation_->started_early = true;
          return std::optional(std::move(*early));
        }
        AdmitVoidRounds(voids_ < most_voids && !slow, evaluation_);
      }
      ++counted_;
      natural_ += plan.distribution == "natural";
      return std::optional<Finding>();
    }
  }

  // Whether one may conclude about the other distributions: a round of each counts, for a candidate could see to it
  // that those are void. In its last one it was not slower than natural ones are, or so many count that their interval
  // says by how much.
  bool Settled() const {
    std::map<std::string, bool> slower;
    int stressed = 0;
    const double natural = EstimateFor(*evaluation_, "natural").low;
    for (const Round& round : evaluation_->rounds) {
      if (round.plan.distribution == "natural" || !round.void_reason.empty()) continue;
      slower[round.plan.distribution] = IsSlower(round, natural);
      stressed += round.plan.scored;
    }
    return slower.size() + 1 == planner_->Distributions().size() &&
           (stressed >= kStressedRounds ||
            std::none_of(slower.begin(), slower.end(), [](const auto& each) { return each.second; }));
  }

 private:
  // Against the quicker of its own and the undisturbed baseline: the candidate may have slowed the former.
  bool IsSlower(const Round& round, double speedup) const {
    const double undisturbed_us = evaluation_->UndisturbedUs(round);
    const double baseline_us = undisturbed_us > 0 ? std::min(round.baseline_us, undisturbed_us) : round.baseline_us;
    return baseline_us / evaluation_->CandidateUs(round) * (1 + FloorOf(*evaluation_, "natural")) < speedup;
  }

  const Protocol& protocol_;
  Rounds* rounds_;
  Planner* planner_;
  Evaluation* evaluation_;
  int counted_ = 0, natural_ = 0, voids_ = 0, slower_ = 0;  // the last of them in a row
};

// So many rounds on natural inputs an evaluation scores at least.
int LeastScored(const Protocol& protocol) {
  return std::max(protocol.round_checks.front(), protocol.correct_trials - protocol.warmup_rounds);
}

// Rounds before any is timed: of each fixed seed, as many more as are asked for, and where none will be timed, more
// until each distribution and each weight set was met.
Result<std::optional<Finding>> WarmUp(const Protocol& protocol, Rounds* rounds, Planner* planner,
                                      Evaluation* evaluation) {
  std::optional<Finding> finding;
  for (const int64_t seed : protocol.input_seeds) {
    KB_ASSIGN_OR_RETURN(finding, RunRound(planner->Seeded(seed), rounds, evaluation));
    if (finding) return finding;
  }
  // Load on the machine, which takes the time away, must not take rounds away.
  const int least = evaluation->Timed() ? protocol.warmup_rounds
                    : protocol.measure  ? protocol.warmup_rounds + LeastScored(protocol)
                                        : std::max(protocol.warmup_rounds, protocol.correct_trials);
  for (int i = 0; i < least || (!evaluation->Timed() && !planner->AllMet()); ++i) {
    RoundPlan plan = planner->Next(!evaluation->Timed());  // weights change as in timed rounds
    plan.scored = false;
    KB_ASSIGN_OR_RETURN(finding, RunRound(plan, rounds, evaluation));
    if (finding) return finding;
    if (i == 0 && protocol.repeat_bitwise) {
      KB_ASSIGN_OR_RETURN(finding, rounds->Repeat());
      if (finding) return finding;
    }
  }
  return finding;
}

}  // namespace

// A fixed tolerance refuses nothing where all answers are small, or hardly differ: then the result says so.
Status Evaluator::TellWhoPasses(const Request& request, const json& problem, Evaluation* evaluation) {
  const Protocol& protocol = request.protocol;
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(8e3 * protocol.reference_timeout_s));
  const std::vector<std::string> distributions = Planner(protocol, Planned(problem), RandomBits).Distributions();
  KB_ASSIGN_OR_RETURN(
      const auto reply,
      device_->Ask(ops::Impostors{.distributions = distributions, .tolerance = protocol.ToleranceJson()}, timeout));
  if (reply.passing.empty()) return {};
  evaluation->AddNote(
      fmt::format("weak_comparison: on this protocol's inputs and with its tolerance {} would be correct, too",
                  fmt::join(reply.passing, ", ")));
  return {};
}

Status Evaluator::AnchorBudgets(const Request& request, const json& problem, Evaluation* evaluation) {
  const Protocol& protocol = request.protocol;
  if (protocol.comparison == "allclose") return TellWhoPasses(request, problem, evaluation);
  if (protocol.anchor_rounds == 0) return {};
  const int64_t start = NowNs();
  std::vector<std::string> notes;
  for (const std::string& name : Planner(protocol, Planned(problem), RandomBits).Distributions()) {
    const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(4e3 * protocol.reference_timeout_s));
    KB_ASSIGN_OR_RETURN(const auto reply,
                        device_->Ask(ops::Anchor{.distribution = name,
                                                 .rounds = name == "natural" ? protocol.anchor_rounds : 1,
                                                 .tolerance = protocol.ToleranceJson()},
                                     timeout));
    if (!reply.judgeable) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format(
              "{} cannot be judged in {} on {} inputs: the reference itself is further from fp64 than a tenth of "
              "its output's standard deviation",
              request.problem.name, protocol.precision, name));
    }
    notes = reply.notes;
  }
  for (const std::string& note : notes) evaluation->AddNote(note);
  evaluation->engine_us["anchors"] += static_cast<double>(NowNs() - start) / 1e3;
  return {};
}

// A softmax of widely spread inputs takes 1.6 times as long on a GPU and three times on a CPU: against the figure of
// natural inputs every round on those would look disturbed. Asked once, for it lies in the reference; runners that
// start meanwhile, or what a candidate before left running, must not be taken for it.
Status Evaluator::MeasureOtherInputs(const Request& request, const json& problem, std::map<std::string, double>* known,
                                     std::optional<Quiet>* quiet, Rounds* rounds, Evaluation* evaluation) {
  constexpr double kWorthTelling = 1.25;  // undisturbed baselines on one CPU differ by 15%
  for (const std::string& name : Planner(request.protocol, Planned(problem), RandomBits).Distributions()) {
    if (name == "natural") continue;
    Duration duration;
    if (const auto found = known->find(name); found != known->end()) {
      duration.times = found->second;
    } else {
      AwaitDeath(&evaluation->engine_us);
      if (!*quiet) quiet->emplace(this);
      KB_ASSIGN_OR_RETURN(duration, TimesAsLong(name, *evaluation, [&](const std::string& other) {
                            return rounds->BaselineAlone(other);
                          }));
      if (duration.certain) known->emplace(name, duration.times);  // else the next evaluation asks again
    }
    const double times = duration.times;
    evaluation->slower_inputs[name] = times;
    if (times < kWorthTelling) continue;
    evaluation->AddNote(
        fmt::format("slower_inputs: the baseline by itself takes {:.2f} times as long on {} inputs as on natural ones",
                    times, name));
  }
  return {};
}

// Without the barrier "stress-inputs" the natural distribution is all there is.
json Evaluator::Planned(json problem) const {
  if (options_.without.contains("stress-inputs")) problem["distributions"] = json::array();
  return problem;
}

Result<std::optional<Finding>> Evaluator::RunRounds(const Request& request, const json& problem, Rounds* rounds,
                                                    Evaluation* evaluation) {
  const Protocol& protocol = request.protocol;
  Planner planner(protocol, Planned(problem), RandomBits);
  KB_ASSIGN_OR_RETURN(std::optional<Finding> finding, WarmUp(protocol, rounds, &planner, evaluation));
  if (finding || !evaluation->Timed()) return finding;

  const Quiet quiet(this);
  Course course(protocol, rounds, &planner, evaluation);
  const int least = LeastScored(protocol);
  for (const int check : protocol.round_checks) {
    while (course.counted() < check || course.natural() < least) {
      KB_ASSIGN_OR_RETURN(finding, course.Next());
      if (finding) return finding;
    }
    const Speedup so_far = EstimateFor(*evaluation, "natural");
    if (so_far.half_width <= protocol.half_width) break;
    const double high = so_far.high * ColdRunnerFactor(*evaluation, so_far.candidate_us);
    evaluation->surely_slow = high < protocol.slow_below && check != protocol.round_checks.back();
    if (evaluation->surely_slow) break;
  }
  while (!course.Settled()) {
    KB_ASSIGN_OR_RETURN(finding, course.Next());
    if (finding) return finding;
  }
  return finding;
}

void Evaluator::ConcludeTimes(const json& problem, Evaluation* evaluation) {
  ConcludeSpeedup(problem, evaluation);
  AddTimingNotes(problem, evaluation);
  if (evaluation->protocol.TimedByEvents()) TimeByEvents(evaluation);
}

// A wrong candidate is called once on each of the other distributions that rounds of this protocol have, until it does
// something else than compute wrongly, or that takes long. What ended the evaluation stays what it is, whatever happens
// here: a candidate could see to it that these rounds fail.
Status Evaluator::CompareElsewhere(const Request& request, const json& problem, const Finding& found, Rounds* rounds,
                                   Evaluation* evaluation) {
  constexpr int64_t kLongNs = 10'000'000'000;
  if (!found.mismatch.is_object()) return {};
  evaluation->AddError(found.mismatch.at("distribution"), found.error);
  if (!request.protocol.compare_all) return {};
  const int64_t start = NowNs();
  Planner planner(request.protocol, Planned(problem), RandomBits);
  std::string obstacle;
  for (const std::string& name : planner.Distributions()) {
    if (evaluation->errors.contains(name)) continue;
    if (NowNs() - start > kLongNs) {
      obstacle = "comparing took long";
      break;
    }
    const auto outcome = rounds->Run(planner.Unscored(name));
    if (!outcome && outcome.error().code == ErrorCode::kInterrupted) return tl::make_unexpected(outcome.error());
    if (!outcome) {
      obstacle = outcome.error().message;
      EndReference();  // it may be what failed
      break;
    }
    const auto* finding = std::get_if<Finding>(&*outcome);
    if (finding != nullptr && !finding->mismatch.is_object()) {
      obstacle = finding->reason;
      break;
    }
    evaluation->AddError(name, finding != nullptr ? finding->error : json(std::get<Round>(*outcome).worst));
  }
  if (!obstacle.empty()) {
    evaluation->AddNote("compared_in_part: its error on further inputs is not known: " + obstacle);
  }
  return {};
}

}  // namespace kb
