#include "judge/round/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "judge/setup.h"
#include "wire/report.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr double kReadyTimeoutS = 60;  // a GPU runner loads its libraries before it answers an empty call
constexpr double kLeastS = 0.1;
constexpr double kStepTimeout = 120;  // of the engine's own steps, which take milliseconds

bool IsLoading(CallKind kind) { return kind == CallKind::kLoad || kind == CallKind::kPrepare; }

// What ended a round when its outputs were looked at.
Ending EndingAt(EndedBy by, const RoundPlan& plan) {
  Ending ending;
  ending.by = by;
  ending.distribution = plan.distribution;
  ending.round = plan.index;
  return ending;
}

// An error unless all is well: what the reference raises, and how long it takes, is the problem's.
Status ReferenceAnswered(const std::string& end, const std::optional<ops::Said>& report, const Protocol& protocol) {
  if (end == "timed_out") {
    return Fail(ErrorCode::kUsage,
                fmt::format("the reference did not finish within {} s (reference_timeout_s); choose a smaller --size",
                            protocol.reference_timeout_s));
  }
  if (end != "done" || !report) return Fail(ErrorCode::kEngine, "the reference's process did not answer: " + end);
  if (report->status == static_cast<int>(ReportStatus::kOk)) return {};
  const std::string raised = report->text.substr(0, report->text.find('\n'));
  if (!protocol.CompilesBaseline()) return Fail(ErrorCode::kUsage, "the reference raised " + raised);
  return Fail(ErrorCode::kUsage,
              fmt::format("the baseline {} raised {}; choose --baseline eager", protocol.baseline, raised));
}

}  // namespace

std::optional<Ending> EndingOf(const ops::Called& called, CallKind kind, const std::string& limit) {
  const ops::Said said = called.report.value_or(ops::Said());
  if (called.end == "done" && said.status == static_cast<int>(ReportStatus::kOk)) return std::nullopt;
  Ending ending;
  ending.loading = IsLoading(kind);
  ending.end = called.end;
  ending.malformed = called.malformed;
  ending.said = said;
  ending.limit = limit;
  return ending;
}

RoundPlan PlanRound(const RoundWanted& wanted, const std::function<uint64_t()>& random) {
  RoundPlan plan = wanted.plan;
  const auto in = static_cast<uint64_t>(wanted.natural_for_one_other) + 1;
  if (wanted.natural_for_one_other > 0 && !wanted.other.empty() && random() % in == 0) {
    plan.distribution = wanted.other[random() % wanted.other.size()];
  }
  return plan;
}

Result<ops::Called> TellReference(DeviceProcess* device, const Protocol& protocol, CallKind kind, uint64_t argument) {
  const ops::CallReference request{
      .kind = static_cast<int>(kind), .argument = argument, .timeout_us = protocol.reference_timeout_s * 1e6};
  KB_ASSIGN_OR_RETURN(ops::Called called, device->Ask(request, Seconds(protocol.reference_timeout_s + kStepTimeout)));
  KB_RETURN_IF_ERROR(ReferenceAnswered(called.end, called.report, protocol));
  return called;
}

template <typename Op>
Result<typename Op::Reply> Rounds::Step(const char* name, const Op& op, double timeout_s) {
  const int64_t start = NowNs();
  auto reply = device_->Ask(op, std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1e3)));
  // The calls of candidate and reference are not the engine's time; what surrounds them is.
  double call_us = 0;
  if constexpr (requires { reply->us; }) call_us = reply ? reply->us : 0;
  if constexpr (std::is_same_v<Op, ops::Call>) call_us *= op.kind == static_cast<int>(CallKind::kForward);
  if (call_us > 0) (*times_)["calls"] += call_us;
  (*times_)[name] += static_cast<double>(NowNs() - start) / 1e3 - call_us;
  return reply;
}

Rounds::Allowed Rounds::Allow(CallKind kind) const {
  const bool loading = IsLoading(kind);
  Allowed allowed{loading                    ? protocol_.LoadTimeout()
                  : kind == CallKind::kEmpty ? kReadyTimeoutS
                  : kind == CallKind::kTrace ? 2 * protocol_.call_timeout_s  // stops and tracing slow it down
                                             : protocol_.call_timeout_s,
                  ""};
  allowed.limit = fmt::format("{} s{}", allowed.seconds,
                              kind == CallKind::kForward            ? " (call_timeout_s)"
                              : loading || kind == CallKind::kTrace ? " (twice call_timeout_s)"
                                                                    : "");
  const double left_s = protocol_.evaluation_timeout_s - spent_s_;
  if (kind == CallKind::kEmpty || left_s >= allowed.seconds) return allowed;
  return {std::max(left_s, kLeastS),
          fmt::format("the {} s that loading and all calls may take together (evaluation_timeout_s)",
                      protocol_.evaluation_timeout_s)};
}

// A runner that ran while it was stopped may have seen its inputs, or a busy machine had not quite stopped it. It gains
// nothing by it, for it gets other inputs; one that does so again and again is no accident. One that came too early may
// have met the last call's inputs, because others had work on the device: that says nothing of it, and it happens a few
// times in a row at most, for then its inputs are in place before (session.cc).
Result<std::variant<Rounds::Answer, Ending>> Rounds::Ring(CallKind kind,
                                                          const std::function<Result<uint64_t>()>& prepare) {
  constexpr int kMostRanFrozen = 4, kMostTooEarly = 8;
  const char* step = kind == CallKind::kForward ? "call"
                     : kind == CallKind::kEmpty ? "offset"
                     : kind == CallKind::kTrace ? "profile"
                                                : "load";
  double gap_us = 0;
  for (int ran_frozen = 0, too_early = 0;;) {
    KB_ASSIGN_OR_RETURN(const uint64_t argument, prepare());
    const Allowed allowed = Allow(kind);
    const ops::Call request{.kind = static_cast<int>(kind), .argument = argument, .timeout_us = allowed.seconds * 1e6};
    KB_ASSIGN_OR_RETURN(ops::Called called, Step(step, request, allowed.seconds + kStepTimeout));
    if (kind != CallKind::kEmpty) spent_s_ += called.us / 1e6;
    gap_us = std::max(gap_us, called.gap_us);
    if (called.end == "ran_frozen" && ++ran_frozen <= kMostRanFrozen) continue;
    if (called.end == "too_early") {
      if (++too_early <= kMostTooEarly) continue;
      return Fail(ErrorCode::kUnavailable,
                  "others have the device whenever the candidate is called; end what else uses it");
    }
    if (auto ending = EndingOf(called, kind, allowed.limit)) return *ending;
    return Answer{{called.us, called.launched_us, called.elapsed_us, gap_us, called.waited_us, called.surely_waited_us},
                  std::move(called.report).value_or(ops::Said())};
  }
}

Result<uint64_t> Rounds::SetWeights(int index) {
  KB_ASSIGN_OR_RETURN(const auto set, Step("weights", ops::SetWeights{.index = index}, kStepTimeout));
  if (timed_) KB_RETURN_IF_ERROR(TellReference(device_, protocol_, CallKind::kPrepare, set.seed));
  return set.seed;
}

Result<CallTimes> Rounds::TimeReference(const char* step, bool alone) {
  const ops::Baseline request{.alone = alone, .timeout_us = protocol_.reference_timeout_s * 1e6};
  KB_ASSIGN_OR_RETURN(const auto told, Step(step, request, protocol_.reference_timeout_s + kStepTimeout));
  KB_RETURN_IF_ERROR(ReferenceAnswered(told.end, told.report, protocol_));
  return CallTimes{told.us, told.launch_us, told.event_us, told.gap_us, told.waited_us, 0, told.clock_mhz};
}

Result<uint64_t> Rounds::Draw(const RoundPlan& plan) {
  const ops::Draw draw{.distribution = plan.distribution, .seed = plan.input_seed};
  KB_ASSIGN_OR_RETURN(const auto drawn, Step("draw", draw, protocol_.reference_timeout_s));
  rng_seed_ = drawn.rng_seed;
  return rng_seed_;
}

Status Rounds::Present(const char* step, bool in_place) {
  KB_RETURN_IF_ERROR(Step(step, ops::Present{.in_place = in_place}, kStepTimeout));
  return {};
}

Result<std::variant<Round, Ending>> Rounds::Run(const RoundPlan& plan) {
  Round round{.plan = plan};

  // 1. Draw: fresh inputs into memory that the runner cannot map.
  // 2. Present: copy to the shared inputs, poison the outputs, flush the caches. The runner is frozen. On a GPU the
  // call copies them instead: large ones just before go, small ones behind it.
  const auto prepare = [&]() -> Result<uint64_t> {
    KB_ASSIGN_OR_RETURN(const uint64_t seed, Draw(plan));
    KB_RETURN_IF_ERROR(Present("present", plan.in_place));
    return seed;
  };
  // 3 and 4. Candidate: go, done, secret positions; then the runner is frozen again.
  KB_ASSIGN_OR_RETURN(auto answered, Ring(CallKind::kForward, prepare));
  if (auto* ending = std::get_if<Ending>(&answered)) return std::move(*ending);
  round.candidate = std::get<Answer>(answered).times;
  KB_ASSIGN_OR_RETURN(const auto checked, Step("check", ops::CheckInputs(), kStepTimeout));
  if (!checked.inputs_changed.empty()) {
    Ending ending = EndingAt(EndedBy::kChangedInput, plan);
    ending.input = checked.inputs_changed[0];
    return ending;
  }

  // 5. Baseline: the reference's process on the same inputs. The expected output is the device process's own.
  if (timed_) {
    KB_ASSIGN_OR_RETURN(round.baseline, TimeReference("baseline", false));
  }
  KB_RETURN_IF_ERROR(Step("expect", ops::Expect(), protocol_.reference_timeout_s));

  // 6. Compare every element.
  KB_ASSIGN_OR_RETURN(
      auto compared,
      Step("compare", ops::Compare{.distribution = plan.distribution, .tolerance = protocol_.ToleranceJson()},
           kStepTimeout + 4 * protocol_.reference_timeout_s));  // it may run the reference in fp64
  if (checked.late || compared.late) return EndingAt(EndedBy::kLate, plan);
  if (compared.outputs.empty()) return Fail(ErrorCode::kEngine, "the device process says that it compared no output");
  round.own_anchor = compared.own_anchor;
  json* wrong = nullptr;
  json error = 0.0;
  for (json& output : compared.outputs) {
    if (!output.at("ok") && wrong == nullptr) wrong = &output;
    error = LargerError(error, output.at("worst"));
  }
  if (wrong != nullptr) {
    Ending ending = EndingAt(EndedBy::kWrong, plan);
    ending.mismatch = std::move(*wrong);
    ending.mismatch.erase("ok");
    ending.mismatch["distribution"] = plan.distribution;
    ending.mismatch["round"] = plan.index;
    ending.error = std::move(error);
    return ending;
  }
  round.worst = error.is_number() ? error.get<double>() : 0.0;
  return round;
}

Result<std::optional<Ending>> Rounds::Repeat() {
  KB_RETURN_IF_ERROR(Step("repeat", ops::KeepOutputs(), kStepTimeout));
  const auto prepare = [&]() -> Result<uint64_t> {
    KB_RETURN_IF_ERROR(Present("repeat"));
    return rng_seed_;
  };
  KB_ASSIGN_OR_RETURN(auto answered, Ring(CallKind::kForward, prepare));
  if (auto* ending = std::get_if<Ending>(&answered)) return std::optional(std::move(*ending));
  KB_ASSIGN_OR_RETURN(const auto same, Step("repeat", ops::OutputsEqualKept(), kStepTimeout));
  if (same.equal) return std::optional<Ending>();
  return std::optional(EndingAt(EndedBy::kNotRepeated, {}));
}

Status Rounds::DrawForAuthorship() {
  const ops::Draw natural{.distribution = "natural", .seed = {}};
  KB_ASSIGN_OR_RETURN(const auto drawn, Step("profile", natural, protocol_.reference_timeout_s));
  rng_seed_ = drawn.rng_seed;
  return {};
}

Result<std::variant<Rounds::Answer, Ending>> Rounds::TraceCall() {
  const auto prepare = [&]() -> Result<uint64_t> {
    KB_RETURN_IF_ERROR(DrawForAuthorship());
    KB_RETURN_IF_ERROR(Present("profile"));
    return rng_seed_;
  };
  return Ring(CallKind::kTrace, prepare);
}

Result<ops::Observe::Reply> Rounds::ObserveCall(bool fresh, const json& settings) {
  if (fresh) KB_RETURN_IF_ERROR(DrawForAuthorship());
  const double timeout_s = Allow(CallKind::kTrace).seconds;
  const int64_t start = NowNs();
  auto answer =
      Step("profile", ops::Observe{.timeout_us = timeout_s * 1e6, .settings = settings}, timeout_s + kStepTimeout);
  spent_s_ += static_cast<double>(NowNs() - start) / 1e9;
  return answer;
}

Result<CallTimes> Rounds::BaselineAlone(bool draw) {
  if (draw) {
    KB_RETURN_IF_ERROR(
        Step("undisturbed", ops::Draw{.distribution = "natural", .seed = {}}, protocol_.reference_timeout_s));
  }
  return TimeReference("undisturbed", true);
}

}  // namespace kb
