#include "judge/rule/course.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "judge/rule/headline.h"

namespace kb {
namespace {

constexpr const char* kOwnAnchor =
    "own_anchor: on a round's inputs the reference erred where it had not in the anchors; fp64 on these inputs decided";
constexpr size_t kLotsOfUnmet = 3;

constexpr const char* kForeign = "the protocol has no such round";

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// So many rounds on natural inputs a trial scores at least.
int LeastScored(const Protocol& protocol) {
  return std::max(protocol.round_checks.front(), Protocol::kLeastCompared - protocol.warmup_rounds);
}

}  // namespace

std::vector<std::string> DistributionsOf(const TrialSetting& setting, const Protocol& protocol) {
  std::vector<std::string> names = {"natural"};
  if (protocol.comparison != "anchored" || protocol.stress_every == 0) return names;
  const size_t most = std::max<size_t>(1, static_cast<size_t>(protocol.round_checks.front()) / 2);
  for (const std::string& name : setting.distributions) {
    if (names.size() <= most) names.push_back(name);
  }
  return names;
}

Course::Course(const Measurements& measured, Timings* timings)
    : measured_(measured),
      protocol_(timings->protocol),
      timings_(timings),
      distributions_(DistributionsOf(measured.setting, timings->protocol)) {
  for (const Round& round : measured.rounds) Follow(round);
}

void Course::Follow(const Round& round) {
  TimedCalls times = timings_->Read(round);
  if (round.own_anchor) timings_->AddNote(kOwnAnchor);
  if (timings_->Timed()) times.void_reason = VoidReason(times, *timings_);
  // Of a trial that is concluded under another rule.
  const bool foreign = early_.rounds > 0 || !Has(distributions_, round.plan.distribution);
  if (foreign) times.void_reason = kForeign;
  if (round.plan.scored && !foreign) return Count(std::move(times));
  timings_->rounds.push_back(std::move(times));
  if (round.plan.input_seed) {
    ++seeded_;
  } else if (!round.plan.scored) {
    ++warm_;
    planned_natural_ += !timings_->Timed() && round.plan.distribution == "natural";
  }
}

// In place of void rounds come others, until too many are disturbed, or of those of one distribution. A round whose
// candidate waited is one of them, and counts: its threads may have waited for each other. But beside other load those
// would count where the candidate was disturbed, and not those where the baseline was.
void Course::Count(TimedCalls round) {
  const bool is_void = !round.void_reason.empty(), natural = round.plan.distribution == "natural";
  const bool disturbed = is_void || WaitedForOthers(round.candidate);
  Tally& alike = tallies_[round.plan.distribution];
  for (Tally* tally : {&all_, &alike}) {
    ++tally->rounds;
    tally->counted += !is_void;
    tally->disturbed += disturbed;
  }
  natural_ += natural && !is_void;
  timings_->rounds.push_back(std::move(round));
  if (disturbed &&
      (TooManyDisturbed(all_.disturbed, all_.counted) || TooManyDisturbed(alike.disturbed, alike.counted))) {
    early_ = StartedEarly(*timings_);
    if (early_.rounds == 0) timings_->MachineBusy();
  } else if (!is_void) {
    Look();
  }
}

// Whether the interval is narrow enough, at those numbers of rounds at which one may look.
void Course::Look() {
  const std::vector<int>& checks = protocol_.round_checks;
  while (!narrow_ && looks_ < checks.size() && all_.counted >= checks[looks_] && natural_ >= LeastScored(protocol_)) {
    const Speedup so_far = EstimateFor(*timings_, "natural");
    ++looks_;
    narrow_ = so_far.half_width <= protocol_.half_width;
    if (narrow_) return;
    timings_->surely_slow = so_far.high < protocol_.slow_below && looks_ < checks.size();
    narrow_ = timings_->surely_slow || looks_ == checks.size();
  }
}

// Whether there has been a round of each distribution and with each weight set.
bool Course::AllMet() const {
  std::set<std::string> met = {"natural"};
  int weights = 0;
  for (const Round& round : measured_.rounds) {
    if (Has(distributions_, round.plan.distribution)) met.insert(round.plan.distribution);
    weights = std::max(weights, round.plan.weights + 1);
  }
  return met.size() == distributions_.size() && weights == measured_.setting.weight_sets;
}

// Whether one may conclude about the other distributions: a round of each counts, for a candidate could see to it that
// those are void. In its last one it was not slower than natural ones are, or so many count that their interval says by
// how much.
bool Course::Settled() const {
  std::map<std::string, bool> slower;
  int stressed = 0;
  const double natural = EstimateFor(*timings_, "natural").low;
  for (const TimedCalls& round : timings_->rounds) {
    if (round.plan.distribution == "natural" || !round.void_reason.empty()) continue;
    slower[round.plan.distribution] = IsSlower(round, natural);
    stressed += round.plan.scored;
  }
  return slower.size() + 1 == distributions_.size() &&
         (stressed >= kStressedRounds ||
          std::none_of(slower.begin(), slower.end(), [](const auto& each) { return each.second; }));
}

// Against the quicker of its own and the undisturbed baseline: the candidate may have slowed the former.
bool Course::IsSlower(const TimedCalls& round, double speedup) const {
  const double undisturbed_us = timings_->undisturbed.us;
  const double baseline_us = undisturbed_us > 0 ? std::min(round.baseline_us, undisturbed_us) : round.baseline_us;
  return baseline_us / timings_->CandidateUs(round) * (1 + FloorOf(*timings_, "natural")) < speedup;
}

// Load on the machine, which takes the time away, must not take rounds away.
int Course::LeastWarmUp() const {
  if (timings_->Timed()) return protocol_.warmup_rounds;
  return protocol_.measure ? protocol_.warmup_rounds + LeastScored(protocol_)
                           : std::max(protocol_.warmup_rounds, Protocol::kLeastCompared);
}

bool Course::WantsRepeat() const { return protocol_.repeat_bitwise && warm_ == 1 && measured_.repeats == 0; }

// Rounds of each fixed seed, then as many more as are asked for before one is scored. Where none is timed any more,
// rounds that are not scored follow until each distribution and each weight set was met.
std::optional<RoundWanted> Course::Next() const {
  if (seeded_ < protocol_.input_seeds.size()) {
    RoundWanted wanted = Plan(false);
    wanted.natural_for_one_other = 0;
    wanted.plan.in_place = false;
    wanted.plan.input_seed = protocol_.input_seeds[seeded_];
    return wanted;
  }
  const bool timed = timings_->Timed();
  if (warm_ + all_.rounds < LeastWarmUp() || (!timed && !AllMet())) return Plan(false);
  if (!timed || early_.rounds > 0 || (narrow_ && Settled())) return std::nullopt;
  return Plan(true);
}

// The very first round finds its inputs in place: what a candidate makes of the first inputs it meets, a scale or a
// workspace, stays. All weight sets have been seen when the interval is first looked at; afterwards the last one stays.
RoundWanted Course::Plan(bool scored) const {
  RoundWanted wanted;
  wanted.plan.index = static_cast<int>(measured_.rounds.size());
  wanted.plan.scored = scored;
  wanted.plan.in_place = wanted.plan.index == 0;
  const int sets = measured_.setting.weight_sets, share = std::max(1, protocol_.round_checks.front() / sets);
  wanted.plan.weights = std::min((planned_natural_ + natural_) / share, sets - 1);
  wanted.natural_for_one_other = protocol_.stress_every;
  std::set<std::string> met;
  for (const Round& round : measured_.rounds) met.insert(round.plan.distribution);
  for (const std::string& name : distributions_) {
    if (name != "natural") wanted.other.insert(wanted.other.end(), met.contains(name) ? 1 : kLotsOfUnmet, name);
  }
  return wanted;
}

}  // namespace kb
