#include "judge/round/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "judge/stats/stats.h"
#include "wire/report.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr double kReadyTimeoutS = 60;  // a GPU runner loads its libraries before it answers an empty call
constexpr double kLeastS = 0.1;
constexpr double kStepTimeout = 120;  // of the engine's own steps, which take milliseconds

Finding Incorrect(json mismatch, const RoundPlan& plan) {
  mismatch["distribution"] = plan.distribution;
  mismatch["round"] = plan.index;
  const int64_t wrong = mismatch.at("wrong"), total = mismatch.at("total"), unwritten = mismatch.at("unwritten"),
                non_finite = mismatch.at("non_finite");
  const std::string where = mismatch.at("where");
  Finding finding{Verdict::kIncorrect, "", "", nullptr};
  if (unwritten > 0) {
    finding.reason = fmt::format("{} of {} elements were never written ({})", unwritten, total, where);
  } else if (non_finite > 0) {
    finding.verdict = Verdict::kNonFinite;
    finding.reason = fmt::format("{} of {} elements are NaN or Inf where they must not be, or the other way round ({})",
                                 non_finite, total, where);
  } else {
    const std::string inputs = plan.distribution == "natural" ? "" : fmt::format(" on {} inputs", plan.distribution);
    const std::string worst =
        mismatch.at("worst").is_number()
            ? fmt::format("the error is {:.3g} times what is allowed", mismatch["worst"].get<double>())
            : "no error is allowed";
    finding.reason = fmt::format("{} of {} elements are wrong{} ({}); {}", wrong, total, inputs, where, worst);
  }
  mismatch.erase("ok");
  finding.mismatch = std::move(mismatch);
  return finding;
}

bool IsLoading(CallKind kind) { return kind == CallKind::kLoad || kind == CallKind::kPrepare; }

void AddBaseline(const BaselineCall& baseline, Round* round) {
  round->baseline_us = baseline.us;
  round->baseline_clock_us = baseline.clock_us;
  round->baseline_launch_us = baseline.launch_us;
  round->baseline_waited_us = baseline.waited_us;
  round->baseline_event_us = baseline.event_us;
  round->baseline_gap_us = baseline.gap_us;
}

// An error unless all is well.
Status ReferenceAnswered(const std::string& end, const std::optional<ops::Said>& report) {
  if (end != "done" || !report) return Fail(ErrorCode::kEngine, "the reference's process did not answer: " + end);
  if (report->status == static_cast<int>(ReportStatus::kOk)) return {};
  return Fail(ErrorCode::kEngine, "the reference's process: " + report->text);
}

}  // namespace

json LargerError(const json& a, const json& b) {
  if (!a.is_number()) return a;
  return !b.is_number() || b.get<double>() > a.get<double>() ? b : a;
}

std::optional<Finding> FindingOf(const ops::Called& called, CallKind kind, const std::string& limit) {
  const std::string& end = called.end;
  const bool loading = IsLoading(kind);
  const char* what = loading ? "loading" : "a call";
  if (end == "timed_out") {
    return Finding{Verdict::kTimedOut, fmt::format("{} did not end within {}", what, limit), "", nullptr};
  }
  if (end == "died") {
    return Finding{Verdict::kCrashed, fmt::format("the process died during {}", what), "", nullptr};
  }
  if (end == "malformed" || end == "ran_frozen") {
    return Finding{Verdict::kTampered, "forged or out of turn: " + called.malformed, "", nullptr};
  }
  const ops::Said report = called.report.value_or(ops::Said());
  const std::string& text = report.text;
  const std::string first = text.substr(0, text.find('\n'));  // a reason, then what else there is to say
  const std::string rest = first.size() < text.size() ? text.substr(first.size() + 1) : text;
  switch (static_cast<ReportStatus>(report.status)) {
    case ReportStatus::kOk:
      return std::nullopt;
    case ReportStatus::kLoadFailed:
      return Finding{Verdict::kLoadFailed, first, rest, nullptr};
    case ReportStatus::kRaised:
      return Finding{loading ? Verdict::kLoadFailed : Verdict::kCrashed, (loading ? "" : "forward raised: ") + first,
                     rest, nullptr};
    case ReportStatus::kOutOfMemory:
      return Finding{Verdict::kOutOfMemory, first, rest, nullptr};
    case ReportStatus::kWrongForm:
      return Finding{Verdict::kWrongForm, first, rest, nullptr};
  }
  return std::nullopt;
}

Result<ops::Called> TellReference(DeviceProcess* device, const Protocol& protocol, CallKind kind, uint64_t argument) {
  const ops::CallReference request{
      .kind = static_cast<int>(kind), .argument = argument, .timeout_us = protocol.load_timeout_s * 1e6};
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(1e3 * (protocol.load_timeout_s + kStepTimeout)));
  KB_ASSIGN_OR_RETURN(ops::Called called, device->Ask(request, timeout));
  KB_RETURN_IF_ERROR(ReferenceAnswered(called.end, called.report));
  return called;
}

bool LostToOtherLoad(double waited_us, double span_us, const Protocol& protocol) {
  constexpr double kAlwaysUs = 300;  // wake-ups alone keep threads from running this long
  return waited_us > kAlwaysUs + protocol.load_slack * span_us;
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
  Allowed allowed{loading                      ? protocol_.load_timeout_s
                  : kind == CallKind::kEmpty   ? kReadyTimeoutS
                  : kind == CallKind::kProfile ? 2 * protocol_.call_timeout_s  // stops and tracing slow it down
                                               : protocol_.call_timeout_s,
                  ""};
  allowed.limit = fmt::format("{} s{}", allowed.seconds,
                              loading                      ? " (load_timeout_s)"
                              : kind == CallKind::kForward ? " (call_timeout_s)"
                              : kind == CallKind::kProfile ? " (twice call_timeout_s)"
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
Result<std::variant<Rounds::Answer, Finding>> Rounds::Ring(CallKind kind,
                                                           const std::function<Result<uint64_t>()>& prepare) {
  constexpr int kMostRanFrozen = 4, kMostTooEarly = 8;
  const char* step = kind == CallKind::kForward   ? "call"
                     : kind == CallKind::kEmpty   ? "offset"
                     : kind == CallKind::kProfile ? "profile"
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
    if (auto finding = FindingOf(called, kind, allowed.limit)) return *finding;
    return Answer{called.us, gap_us, called.elapsed_us, std::move(called.report).value_or(ops::Said())};
  }
}

Result<uint64_t> Rounds::SetWeights(int index) {
  KB_ASSIGN_OR_RETURN(const auto set, Step("weights", ops::SetWeights{.index = index}, kStepTimeout));
  if (reference_offset_us_) KB_RETURN_IF_ERROR(TellReference(device_, protocol_, CallKind::kPrepare, set.seed));
  return set.seed;
}

Result<BaselineCall> Rounds::Baseline(const char* step, bool alone) {
  const ops::Baseline request{.events = protocol_.TimedByEvents(),
                              .alone = alone,
                              .beside = reference_offset_us_.has_value(),
                              .timeout_us = protocol_.reference_timeout_s * 1e6};
  const int calls = reference_offset_us_ && !alone ? 2 : 1;  // the device process makes the expected output itself then
  KB_ASSIGN_OR_RETURN(const auto told, Step(step, request, calls * protocol_.reference_timeout_s));
  BaselineCall call{told.us, told.us, told.launch_us, told.event_us, told.gap_us, told.waited_us};
  if (!reference_offset_us_) return call;
  KB_RETURN_IF_ERROR(ReferenceAnswered(told.end, told.report));
  call.clock_us = WithoutOffset(told.us, *reference_offset_us_, kCudaOffsetShare);
  call.us = told.event_us > 0 ? told.event_us : call.clock_us;  // nobody else is in that process
  return call;
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

Result<std::variant<Round, Finding>> Rounds::Run(const RoundPlan& plan) {
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
  KB_ASSIGN_OR_RETURN(const auto answered, Ring(CallKind::kForward, prepare));
  if (const auto* finding = std::get_if<Finding>(&answered)) return *finding;
  const Answer& answer = std::get<Answer>(answered);
  round.candidate_us = answer.us;
  round.candidate_event_us = answer.elapsed_us;
  round.candidate_gap_us = answer.gap_us;
  KB_ASSIGN_OR_RETURN(const auto checked, Step("check", ops::CheckInputs(), kStepTimeout));
  if (!checked.inputs_changed.empty()) {
    return Finding{Verdict::kWrongForm, fmt::format("the candidate changed its input {}", checked.inputs_changed[0]),
                   "", nullptr};
  }

  // 5. Baseline: the reference on the same inputs. Its output is the expected one.
  KB_ASSIGN_OR_RETURN(const BaselineCall baseline, Baseline("baseline", false));
  AddBaseline(baseline, &round);
  if (round.baseline_event_us <= 0) round.candidate_event_us = 0;  // a device without events

  // 6. Compare every element.
  KB_ASSIGN_OR_RETURN(
      const auto compared,
      Step("compare", ops::Compare{.distribution = plan.distribution, .tolerance = protocol_.ToleranceJson()},
           kStepTimeout + 4 * protocol_.reference_timeout_s));  // it may run the reference in fp64
  if (checked.late || compared.late) {
    return Finding{Verdict::kTampered, "outputs were still written after the candidate had said that it was done", "",
                   nullptr};
  }
  round.own_anchor = compared.own_anchor;
  const json* wrong = nullptr;
  json error = 0.0;
  for (const json& output : compared.outputs) {
    if (!output.at("ok") && wrong == nullptr) wrong = &output;
    error = LargerError(error, output.at("worst"));
  }
  if (wrong != nullptr) {
    Finding finding = Incorrect(*wrong, plan);
    finding.error = std::move(error);
    return finding;
  }
  round.worst = error.is_number() ? error.get<double>() : 0.0;
  return round;
}

Result<std::optional<Finding>> Rounds::Repeat() {
  KB_RETURN_IF_ERROR(Step("repeat", ops::KeepOutputs(), kStepTimeout));
  const auto prepare = [&]() -> Result<uint64_t> {
    KB_RETURN_IF_ERROR(Present("repeat"));
    return rng_seed_;
  };
  KB_ASSIGN_OR_RETURN(auto answered, Ring(CallKind::kForward, prepare));
  if (auto* finding = std::get_if<Finding>(&answered)) return std::optional(std::move(*finding));
  KB_ASSIGN_OR_RETURN(const auto same, Step("repeat", ops::OutputsEqualKept(), kStepTimeout));
  if (same.equal) return std::optional<Finding>();
  return std::optional(Finding{Verdict::kIncorrect, "two calls on equal inputs do not agree bit for bit", "", nullptr});
}

Status Rounds::DrawForProfile() {
  const ops::Draw natural{.distribution = "natural", .seed = {}};
  KB_ASSIGN_OR_RETURN(const auto drawn, Step("profile", natural, protocol_.reference_timeout_s));
  rng_seed_ = drawn.rng_seed;
  return {};
}

Result<std::variant<Rounds::Answer, Finding>> Rounds::TraceCall() {
  const auto prepare = [&]() -> Result<uint64_t> {
    KB_RETURN_IF_ERROR(DrawForProfile());
    KB_RETURN_IF_ERROR(Present("profile"));
    return rng_seed_;
  };
  return Ring(CallKind::kProfile, prepare);
}

Result<ops::Profile::Reply> Rounds::ProfileCall(bool fresh, const json& settings) {
  if (fresh) KB_RETURN_IF_ERROR(DrawForProfile());
  const double timeout_s = Allow(CallKind::kProfile).seconds;
  const int64_t start = NowNs();
  auto answer =
      Step("profile", ops::Profile{.timeout_us = timeout_s * 1e6, .settings = settings}, timeout_s + kStepTimeout);
  spent_s_ += static_cast<double>(NowNs() - start) / 1e9;
  return answer;
}

Result<BaselineCall> Rounds::BaselineAlone() { return Baseline("undisturbed", true); }

Result<Round> Rounds::BaselineAlone(const std::string& distribution) {
  KB_RETURN_IF_ERROR(
      Step("undisturbed", ops::Draw{.distribution = distribution, .seed = {}}, protocol_.reference_timeout_s));
  KB_ASSIGN_OR_RETURN(const BaselineCall alone, BaselineAlone());
  Round round{.plan = {.distribution = distribution}};
  AddBaseline(alone, &round);
  return round;
}

}  // namespace kb
