// What a trial measures, one call after the other, as the rule asks for them (rule/rule.h).

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "judge/evaluate.h"

namespace kb {
namespace {

using nlohmann::json;

// Which baseline it is, and how it is called.
std::string BaselineKey(const Request& request, const ops::Problem& problem, bool own_process) {
  const Protocol& protocol = request.protocol;
  const bool module = request.candidate.kind == CandidateKind::kModule;
  return fmt::format("{} {} {} {} {} {}", problem.sha256, request.size, protocol.precision, protocol.baseline,
                     protocol.timing,
                     own_process ? "own process"
                     : module    ? "module"
                                 : "native");
}

double BytesOf(const std::vector<ops::Tensor>& tensors) {
  double bytes = 0;
  for (const ops::Tensor& tensor : tensors) bytes += static_cast<double>(tensor.bytes);
  return bytes;
}

}  // namespace

// Without the barrier "stress-inputs" the natural distribution is all there is.
TrialSetting Evaluator::SettingOf(const Request& request, const ops::Problem& problem, bool own_process) const {
  TrialSetting setting{.device = options_.device,
                       .module = request.candidate.kind == CandidateKind::kModule,
                       .own_process = own_process,
                       .copy_gb_s = device_->facts().copy_gb_s,
                       .input_bytes = BytesOf(problem.form.inputs),
                       .output_bytes = BytesOf(problem.form.outputs),
                       .weight_sets = static_cast<int>(problem.weight_seeds.size())};
  if (!options_.without.contains("stress-inputs")) setting.distributions = problem.distributions;
  return setting;
}

// What evaluations before found out about this baseline serves again.
void Evaluator::BeginTrial(const Request& request, const ops::Problem& problem, bool own_process,
                           Evaluation* evaluation) {
  Measurements& measured = evaluation->measured;
  evaluation->tried = true;
  measured.setting = SettingOf(request, problem, own_process);
  measured.state_copied = request.copy_state;
  if (own_process) measured.reference_empty = reference_->empty;
  if (!request.protocol.measure) return;
  const std::string baseline = BaselineKey(request, problem, own_process);
  if (baseline != kept_.baseline) kept_ = {.baseline = baseline};
  for (const CallTimes& call : kept_.alone) measured.alone.push_back({.call = call, .quiet = true, .kept = true});
  measured.known_slower = slower_inputs_[baseline];
}

void Evaluator::KeepFor(const Evaluation& evaluation) {
  if (!evaluation.protocol.measure) return;
  Kept kept = KeptOf(evaluation.measured, evaluation.protocol, calibration_);
  if (!kept.alone.empty()) kept_.alone = std::move(kept.alone);
  slower_inputs_[kept_.baseline] = std::move(kept.slower);
}

Status Evaluator::Measure(Stage stage, Rounds* rounds, Evaluation* evaluation) {
  std::optional<Quiet> quiet;
  while (const auto wanted = Next(stage, evaluation->measured, evaluation->protocol, calibration_)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(wanted->pause_ms));
    if (!wanted->quiet) quiet.reset();
    if (wanted->quiet && !quiet) {
      AwaitDeath(&evaluation->engine_us);
      quiet.emplace(this);
    }
    KB_RETURN_IF_ERROR(MeasureOnce(stage, *wanted, rounds, evaluation));
  }
  return {};
}

Status Evaluator::MeasureOnce(Stage stage, const Wanted& wanted, Rounds* rounds, Evaluation* evaluation) {
  Measurements& measured = evaluation->measured;
  switch (wanted.call) {
    case Wanted::Call::kReferenceEmpty: {
      KB_ASSIGN_OR_RETURN(const ops::Called empty, TellReference(&*device_, evaluation->protocol, CallKind::kEmpty, 0));
      measured.reference_empty.push_back(empty.us - empty.elapsed_us);
      return {};
    }
    case Wanted::Call::kAlone: {
      KB_ASSIGN_OR_RETURN(const CallTimes call, rounds->BaselineAlone(wanted.draw ? "natural" : ""));
      auto& calls = stage == Stage::kAgain ? measured.after : measured.alone;
      calls.push_back({.call = call, .quiet = wanted.quiet});
      return {};
    }
    case Wanted::Call::kPair: {
      KB_ASSIGN_OR_RETURN(const CallTimes call, rounds->BaselineAlone(wanted.inputs));
      measured.pairs[wanted.distribution].push_back(call);
      return {};
    }
    case Wanted::Call::kEmpty: {
      KB_ASSIGN_OR_RETURN(EmptyCall call, CallEmpty(rounds, evaluation));
      call.quiet = wanted.quiet;
      measured.empty.push_back(call);
      return {};
    }
    case Wanted::Call::kRound:
      return MeasureRound(PlanRound(wanted.round, RandomBits), rounds, evaluation);
    case Wanted::Call::kRepeat: {
      KB_ASSIGN_OR_RETURN(measured.ending, rounds->Repeat());
      measured.repeats += !measured.ending;
      return {};
    }
  }
  return {};
}

// What an empty call costs in this runner, before it holds a candidate, from flushed caches too.
Result<EmptyCall> Evaluator::CallEmpty(Rounds* rounds, Evaluation* evaluation) {
  const int64_t start = NowNs();
  KB_RETURN_IF_ERROR(device_->Ask(ops::Flush(), std::chrono::seconds(60)));  // an empty call reads no inputs
  evaluation->engine_us["offset"] += static_cast<double>(NowNs() - start) / 1e3;
  KB_ASSIGN_OR_RETURN(const auto answer, rounds->Ring(CallKind::kEmpty, 0));
  if (const auto* ending = std::get_if<Ending>(&answer)) {
    return Fail(ErrorCode::kEngine, "the runner did not answer an empty call: " +
                                        FindingOf(*ending, evaluation->protocol.memory_gb).reason);
  }
  const CallTimes& told = std::get<Rounds::Answer>(answer).times;
  EmptyCall call{.us = told.us - told.event_us, .used = told.gap_us > 0};
  if (evaluation->measured.setting.own_process) return call;
  KB_ASSIGN_OR_RETURN(const auto here, device_->Ask(ops::EmptyBaseline(), std::chrono::seconds(60)));
  call.us = told.us - here.us;
  return call;
}

Status Evaluator::MeasureRound(const RoundPlan& plan, Rounds* rounds, Evaluation* evaluation) {
  Measurements& measured = evaluation->measured;
  const int current_weights = measured.rounds.empty() ? 0 : measured.rounds.back().plan.weights;
  if (plan.weights != current_weights) {
    KB_ASSIGN_OR_RETURN(const uint64_t seed, rounds->SetWeights(plan.weights));
    KB_ASSIGN_OR_RETURN(auto prepared, rounds->Ring(CallKind::kPrepare, seed));
    if (auto* ending = std::get_if<Ending>(&prepared)) {
      measured.ending = std::move(*ending);
      return {};
    }
  }
  KB_ASSIGN_OR_RETURN(auto outcome, rounds->Run(plan));
  if (auto* ending = std::get_if<Ending>(&outcome)) {
    measured.ending = std::move(*ending);
  } else {
    measured.rounds.push_back(std::get<Round>(std::move(outcome)));
  }
  return {};
}

// A wrong candidate is called once on each of the other distributions that rounds of this protocol have, until it does
// something else than compute wrongly, or that takes long. What ended the trial stays what it is, whatever happens
// here: a candidate could see to it that these rounds fail.
Status Evaluator::CompareElsewhere(Rounds* rounds, Evaluation* evaluation) {
  constexpr int64_t kLongNs = 10'000'000'000;
  Measurements& measured = evaluation->measured;
  const Protocol& protocol = evaluation->protocol;
  if (!measured.ending || !measured.ending->mismatch.is_object() || !protocol.compare_all) return {};
  const int64_t start = NowNs();
  std::set<std::string> known = {measured.ending->distribution};
  for (const Round& round : measured.rounds) known.insert(round.plan.distribution);
  for (const std::string& name : DistributionsOf(measured.setting, protocol)) {
    if (known.contains(name)) continue;
    if (NowNs() - start > kLongNs) {
      measured.compared_in_part = "comparing took long";
      return {};
    }
    const auto outcome = rounds->Run({.index = static_cast<int>(measured.rounds.size()), .distribution = name});
    if (!outcome && outcome.error().code == ErrorCode::kInterrupted) return tl::make_unexpected(outcome.error());
    if (!outcome) {
      measured.compared_in_part = outcome.error().message;
      EndReference();  // it may be what failed
      return {};
    }
    const auto* ending = std::get_if<Ending>(&*outcome);
    if (ending != nullptr && !ending->mismatch.is_object()) {
      measured.compared_in_part = FindingOf(*ending, protocol.memory_gb).reason;
      return {};
    }
    measured.elsewhere[name] = ending != nullptr ? ending->error : json(std::get<Round>(*outcome).worst);
  }
  return {};
}

}  // namespace kb
