// Evaluator::MeasureBaseline(): what the reference takes by itself, under the conditions of a round.
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "judge/evaluate.h"
#include "judge/rule/void_rounds.h"
#include "judge/stats/stats.h"

namespace kb {
namespace {

using nlohmann::json;

struct Calls {
  std::vector<double> us;
  int disturbed = 0;  // left out: other load, or another program on the device
  Interval interval;  // of the median

  double HalfWidth() const { return (interval.high - interval.low) / 2 / Median(us); }
};

// One call on fresh inputs, as in a round: caches flushed, the clock stopped at the last secret position.
Result<TimedCalls> CallOnce(const Timings& figures, Rounds* rounds) {
  KB_ASSIGN_OR_RETURN(const CallTimes call, rounds->BaselineAlone(true));
  return figures.Read(call);
}

Error Busy() { return {ErrorCode::kUnavailable, Evaluator::kBusy}; }

// Calls until the interval of the median is as narrow as the protocol wants a speedup's, or until its last look.
Result<Calls> TimeCalls(const Timings& figures, Rounds* rounds) {
  const Protocol& protocol = figures.protocol;
  const double confidence = ConfidenceOfLook(Protocol::kConfidence, protocol.round_checks.size());
  Calls calls;
  KB_RETURN_IF_ERROR(CallOnce(figures, rounds));  // warms up
  for (const int check : protocol.round_checks) {
    while (calls.us.size() < static_cast<size_t>(check)) {
      KB_ASSIGN_OR_RETURN(const TimedCalls call, CallOnce(figures, rounds));
      if (call.baseline.gap_us > 0 || WaitedForOthers(call.baseline)) {
        if (TooManyDisturbed(++calls.disturbed, static_cast<int>(calls.us.size()))) return tl::make_unexpected(Busy());
        continue;
      }
      calls.us.push_back(protocol.TimedByEvents() ? call.baseline.event_us : call.baseline_us);
    }
    calls.interval = MedianInterval(calls.us, confidence);
    if (calls.HalfWidth() <= protocol.half_width) break;
  }
  return calls;
}

// In a session.
Result<Calls> TimeReference(Services* services, const Request& request, const ops::Problem& problem,
                            const Services::Compile& compile, StepTimes* times) {
  KB_ASSIGN_OR_RETURN(const bool room, services->StartReference(request, problem, compile, times));
  if (!room) return Fail(ErrorCode::kUnavailable, "the device has no room for the baseline; choose a smaller --size");
  Rounds rounds(&services->device(), request.protocol, times);
  Evaluation offset{.protocol = request.protocol};
  KB_ASSIGN_OR_RETURN(offset.measured.setting, TimedSettingOf(services, request, problem));
  KB_RETURN_IF_ERROR(Measurer(services, &rounds, &offset).MeasureReference());
  const Timings figures = TimingsOf(offset.measured, request.protocol, services->setup().calibration());
  if (figures.no_speedup.empty()) return TimeCalls(figures, &rounds);
  return tl::make_unexpected(Busy());
}

// With n - 1; null for a single call.
json StandardDeviation(const std::vector<double>& values) {
  if (values.size() < 2) return nullptr;
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

void AddFigures(const Calls& calls, const Protocol& protocol, json* baseline) {
  const auto [least, most] = std::minmax_element(calls.us.begin(), calls.us.end());
  baseline->update({{"median_us", Median(calls.us)},
                    {"mean_us", Mean(calls.us)},
                    {"std_us", StandardDeviation(calls.us)},
                    {"min_us", *least},
                    {"max_us", *most},
                    {"trials", calls.us.size()},
                    {"interval", {calls.interval.low, calls.interval.high}},
                    {"confidence", calls.interval.coverage}});
  json& notes = (*baseline)["notes"];
  if (calls.HalfWidth() > protocol.half_width) {
    notes.push_back(fmt::format("wide_interval: half-width {:.1f}% after {} calls, {:.1f}% was asked for",
                                100 * calls.HalfWidth(), calls.us.size(), 100 * protocol.half_width));
  }
}

}  // namespace

Result<BaselineBuild> Evaluator::PrepareAhead(const ProblemFile& problem, const std::string& size,
                                              const Protocol& protocol) {
  StepTimes times;
  KB_RETURN_IF_ERROR(services_.Ensure(true));
  KB_ASSIGN_OR_RETURN(const ops::Problem loaded, services_.LoadProblem(problem, size, protocol, &times));
  BaselineBuild build;
  KB_ASSIGN_OR_RETURN(build.spec, services_.SpecOfReference({problem, size, {}, protocol}, loaded));
  KB_ASSIGN_OR_RETURN(build.place, preparer_->Join());
  return build;
}

CompiledAhead Evaluator::CompileAhead(BaselineBuild build) const {
  const auto compiled = preparer_->CompileBaseline(build.spec, build.place.get());
  flock(build.place.get(), LOCK_UN);  // whoever else has the descriptor
  if (!compiled || compiled->artifact.empty()) return {};
  return {.ready = true, .seconds = compiled->cached ? std::nullopt : std::optional(compiled->seconds)};
}

Result<json> Evaluator::MeasureBaseline(const ProblemFile& problem, const std::string& size, const Protocol& protocol,
                                        std::optional<double> compiled_s) {
  KB_RETURN_IF_ERROR(CanTime(protocol));
  StepTimes times;
  KB_RETURN_IF_ERROR(services_.Ensure(true));
  KB_ASSIGN_OR_RETURN(const ops::Problem loaded, services_.LoadProblem(problem, size, protocol, &times));
  KB_RETURN_IF_ERROR(services_.OpenSession(false, protocol, &times));
  const auto compile = [&](const RunnerSpec& spec) {
    auto compiled = preparer_->CompileBaseline(spec);
    if (compiled && !compiled->cached) compiled_s = compiled->seconds;
    return compiled;
  };
  const auto calls = TimeReference(&services_, {problem, size, {}, protocol}, loaded, compile, &times);
  if (!calls) {
    services_.EndReference();  // it may be in the middle of a call
    if (services_.device().alive()) (void)services_.device().Ask(ops::EndSession(), kStepTime);  // for the next problem
    return tl::make_unexpected(calls.error());
  }
  KB_ASSIGN_OR_RETURN(const auto read, services_.device().Ask(ops::Clocks(), kStepTime));
  KB_RETURN_IF_ERROR(services_.device().Ask(ops::EndSession(), kStepTime));

  const ops::DeviceFacts& facts = services_.device().facts();
  json baseline = {
      {"origin", "measured"},
      {"problem", problem.name},
      {"sha256", loaded.sha256},
      {"size", size},
      {"precision", protocol.precision},
      {"kind", protocol.baseline},
      {"device", setup_.options.device},
      {"device_info", {{"name", facts.name}, {"cores", facts.cores}, {"torch", facts.torch}, {"clocks", read.clocks}}},
      {"protocol", protocol.name},
      {"compile_s", compiled_s ? json(*compiled_s) : json()},
      {"engine_us", times},
      {"created", UtcNow(kIso8601)},
      {"notes", loaded.notes}};
  AddFigures(*calls, protocol, &baseline);
  return baseline;
}

}  // namespace kb
