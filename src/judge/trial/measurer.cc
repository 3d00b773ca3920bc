#include "judge/trial/measurer.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/random.h"

namespace kb {
namespace {

using nlohmann::json;

double BytesOf(const std::vector<ops::Tensor>& tensors) {
  double bytes = 0;
  for (const ops::Tensor& tensor : tensors) bytes += static_cast<double>(tensor.bytes);
  return bytes;
}

}  // namespace

// Without the barrier "stress-inputs" the natural distribution is all there is.
TrialSetting SettingOf(Services* services, const Request& request, const ops::Problem& problem) {
  const EvaluatorOptions& options = services->setup().options;
  TrialSetting setting{.device = options.device,
                       .module = request.module(),
                       .copy_gb_s = services->device().facts().copy_gb_s,
                       .input_bytes = BytesOf(problem.form.inputs),
                       .output_bytes = BytesOf(problem.form.outputs),
                       .weight_sets = static_cast<int>(problem.weight_seeds.size())};
  if (!options.without.contains("stress-inputs")) setting.distributions = problem.distributions;
  return setting;
}

Result<TrialSetting> TimedSettingOf(Services* services, const Request& request, const ops::Problem& problem) {
  TrialSetting setting = SettingOf(services, request, problem);
  KB_ASSIGN_OR_RETURN(const Floors floors, services->DeviceFloors());
  setting.floor = request.module() ? floors.module : floors.native;
  setting.floor_from = floors.origin;
  return setting;
}

// Before its first forward, and with nothing else at work: a runner that starts or dies meanwhile makes single calls up
// to 2 ms longer. What a module's runner does around a call is on the CPU no part of a native candidate's, so it is
// part of the offset there; beside a module it is the same on both sides, and in the candidate's reach.
Status Measurer::MeasureReference() {
  const int64_t start = NowNs();
  const bool through = IsThrough();
  measured_.reference_empty = services_->reference_empty(through);
  KB_RETURN_IF_ERROR(Measure(Stage::kReference));
  if (TimingsOf(measured_, evaluation_->protocol, services_->setup().calibration()).Timed()) {
    services_->KeepReferenceEmpty(through, measured_.reference_empty);
  }
  rounds_->UseReference();
  evaluation_->engine_us["reference"] += static_cast<double>(NowNs() - start) / 1e3;
  return {};
}

bool Measurer::IsThrough() const { return services_->setup().on_host() && !measured_.setting.module; }

Status Measurer::Measure(Stage stage) {
  std::optional<Services::Quiet> quiet;
  while (const auto wanted = Next(stage, measured_, evaluation_->protocol, services_->setup().calibration())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(wanted->pause_ms));
    if (!wanted->quiet) quiet.reset();
    if (wanted->quiet && !quiet) {
      services_->AwaitDeath(&evaluation_->engine_us);
      quiet.emplace(services_);
    }
    KB_RETURN_IF_ERROR(MeasureOnce(stage, *wanted));
  }
  return {};
}

Status Measurer::MeasureOnce(Stage stage, const Wanted& wanted) {
  switch (wanted.call) {
    case Wanted::Call::kReferenceEmpty: {
      KB_ASSIGN_OR_RETURN(const ops::Called empty,
                          TellReference(&services_->device(), evaluation_->protocol, CallKind::kEmpty, IsThrough()));
      measured_.reference_empty.push_back(empty.us - empty.elapsed_us);
      return {};
    }
    case Wanted::Call::kAlone: {
      KB_ASSIGN_OR_RETURN(const CallTimes call, rounds_->BaselineAlone(wanted.draw));
      auto& calls = stage == Stage::kAgain ? measured_.after : measured_.alone;
      calls.push_back({.call = call, .quiet = wanted.quiet});
      return {};
    }
    case Wanted::Call::kEmpty: {
      KB_ASSIGN_OR_RETURN(EmptyCall call, CallEmpty());
      call.quiet = wanted.quiet;
      measured_.empty.push_back(call);
      return {};
    }
    case Wanted::Call::kRound:
      return MeasureRound(PlanRound(wanted.round, RandomBits));
    case Wanted::Call::kRepeat: {
      KB_ASSIGN_OR_RETURN(measured_.ending, rounds_->Repeat());
      measured_.repeats += !measured_.ending;
      return {};
    }
  }
  return {};
}

// What an empty call costs in this runner, before it holds a candidate, from flushed caches too.
Result<EmptyCall> Measurer::CallEmpty() {
  const int64_t start = NowNs();
  KB_RETURN_IF_ERROR(services_->device().Ask(ops::Flush(), kStepTime));  // an empty call reads no inputs
  evaluation_->engine_us["offset"] += static_cast<double>(NowNs() - start) / 1e3;
  KB_ASSIGN_OR_RETURN(const auto answer, rounds_->Ring(CallKind::kEmpty, 0));
  if (const auto* ending = std::get_if<Ending>(&answer)) {
    return Fail(ErrorCode::kEngine, "the runner did not answer an empty call: " +
                                        FindingOf(*ending, evaluation_->protocol.memory_gb).reason);
  }
  const CallTimes& told = std::get<Rounds::Answer>(answer).times;
  return EmptyCall{.us = told.us - told.event_us, .used = told.gap_us > 0};
}

Status Measurer::MeasureRound(const RoundPlan& plan) {
  const int current_weights = measured_.rounds.empty() ? 0 : measured_.rounds.back().plan.weights;
  if (plan.weights != current_weights) {
    KB_ASSIGN_OR_RETURN(const uint64_t seed, rounds_->SetWeights(plan.weights));
    KB_ASSIGN_OR_RETURN(auto prepared, rounds_->Ring(CallKind::kPrepare, seed));
    if (auto* ending = std::get_if<Ending>(&prepared)) {
      measured_.ending = std::move(*ending);
      return {};
    }
  }
  KB_ASSIGN_OR_RETURN(auto outcome, rounds_->Run(plan));
  if (auto* ending = std::get_if<Ending>(&outcome)) {
    measured_.ending = std::move(*ending);
  } else {
    measured_.rounds.push_back(std::get<Round>(std::move(outcome)));
  }
  if (watch_) watch_(static_cast<int>(measured_.rounds.size()), measured_.ending.has_value());
  return {};
}

// A wrong candidate is called once on each of the other distributions that rounds of this protocol have, until it does
// something else than compute wrongly, or that takes long. What ended the trial stays what it is, whatever happens
// here: a candidate could see to it that these rounds fail.
Status Measurer::CompareElsewhere() {
  constexpr int64_t kLongNs = 10'000'000'000;
  const Protocol& protocol = evaluation_->protocol;
  if (!measured_.ending || !measured_.ending->mismatch.is_object() || !protocol.compare_all) return {};
  const int64_t start = NowNs();
  std::set<std::string> known = {measured_.ending->distribution};
  for (const Round& round : measured_.rounds) known.insert(round.plan.distribution);
  for (const std::string& name : DistributionsOf(measured_.setting, protocol)) {
    if (known.contains(name)) continue;
    if (NowNs() - start > kLongNs) {
      measured_.compared_in_part = "comparing took long";
      return {};
    }
    const auto outcome = rounds_->Run({.index = static_cast<int>(measured_.rounds.size()), .distribution = name});
    if (!outcome && outcome.error().code == ErrorCode::kInterrupted) return tl::make_unexpected(outcome.error());
    if (!outcome) {
      measured_.compared_in_part = outcome.error().message;
      services_->EndReference();  // it may be what failed
      return {};
    }
    const auto* ending = std::get_if<Ending>(&*outcome);
    if (ending != nullptr && !ending->mismatch.is_object()) {
      measured_.compared_in_part = FindingOf(*ending, protocol.memory_gb).reason;
      return {};
    }
    measured_.elsewhere[name] = ending != nullptr ? ending->error : json(std::get<Round>(*outcome).worst);
  }
  return {};
}

}  // namespace kb
