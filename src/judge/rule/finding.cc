#include "judge/rule/finding.h"

#include <fmt/format.h>

#include <utility>

#include "base/subprocess.h"
#include "wire/report.h"

namespace kb {
namespace {

using nlohmann::json;

// What the runner said: a reason, and then what else there is to say.
Finding OfReport(const Ending& ending) {
  const std::string& text = ending.said.text;
  std::string first = text.substr(0, text.find('\n'));
  const std::string rest = first.size() < text.size() ? text.substr(first.size() + 1) : text;
  Finding finding;
  if (!rest.empty()) finding.evidence["traceback"] = rest;
  switch (static_cast<ReportStatus>(ending.said.status)) {
    case ReportStatus::kOk:
      break;
    case ReportStatus::kLoadFailed:
      finding.verdict = Verdict::kLoadFailed;
      break;
    case ReportStatus::kRaised:
      finding.verdict = ending.loading ? Verdict::kLoadFailed : Verdict::kCrashed;
      break;
    case ReportStatus::kOutOfMemory:
      finding.verdict = Verdict::kOutOfMemory;
      break;
    case ReportStatus::kWrongForm:
      finding.verdict = Verdict::kWrongForm;
      break;
    case ReportStatus::kLacksExtension:  // a runner of ours asks before it answers, and then it is built
                                         // (Evaluator::Evaluate())
      return {Verdict::kTampered, "forged or out of turn: it asked for an extension when none could be asked for"};
  }
  finding.reason = std::move(first);
  return finding;
}

Finding OfCall(const Ending& ending) {
  const char* what = ending.loading ? "loading" : "a call";
  if (ending.end == "timed_out") {
    return {Verdict::kTimedOut, fmt::format("{} did not end within {}", what, ending.limit)};
  }
  if (ending.end == "died") return {Verdict::kCrashed, fmt::format("the process died during {}", what)};
  if (ending.end == "malformed" || ending.end == "ran_frozen") {
    return {Verdict::kTampered, "forged or out of turn: " + ending.malformed};
  }
  return OfReport(ending);
}

// How the runner ended completes what is known: a death has a cause.
Finding WithCause(Finding finding, const Ending& ending, double memory_gb) {
  if (finding.verdict != Verdict::kCrashed) return finding;
  if (ending.out_of_memory) {
    return {Verdict::kOutOfMemory, fmt::format("it used more than the {} GB that it may (memory_gb)", memory_gb)};
  }
  if (finding.evidence.contains("traceback")) return finding;
  if (ending.signal) {
    finding.evidence["signal"] = SignalName(*ending.signal);
    finding.reason += ": " + ExitStatus{.signal = *ending.signal}.Describe();
  } else if (ending.exit_code) {
    finding.evidence["exit_code"] = *ending.exit_code;
    finding.reason += fmt::format(": it exited by itself with code {}", *ending.exit_code);
  }
  return finding;
}

Finding OfOutputs(const Ending& ending) {
  const json& mismatch = ending.mismatch;
  const int64_t wrong = mismatch.at("wrong"), total = mismatch.at("total"), unwritten = mismatch.at("unwritten"),
                non_finite = mismatch.at("non_finite");
  const std::string where = mismatch.at("where");
  if (unwritten > 0) {
    return {Verdict::kIncorrect, fmt::format("{} of {} elements were never written ({})", unwritten, total, where)};
  }
  if (non_finite > 0) {
    return {Verdict::kNonFinite,
            fmt::format("{} of {} elements are NaN or Inf where they must not be, or the other way round ({})",
                        non_finite, total, where)};
  }
  const std::string inputs = ending.distribution == "natural" ? "" : fmt::format(" on {} inputs", ending.distribution);
  const json& most = mismatch.at("worst");
  const std::string worst = most.is_number()
                                ? fmt::format("the error is {:.3g} times what is allowed", most.get<double>())
                                : "no error is allowed";
  return {Verdict::kIncorrect,
          fmt::format("{} of {} elements are wrong{} ({}); {}", wrong, total, inputs, where, worst)};
}

}  // namespace

Finding FindingOf(const Ending& ending, double memory_gb) {
  constexpr double kGib = 1 << 30;
  switch (ending.by) {
    case EndedBy::kCall:
      return WithCause(OfCall(ending), ending, memory_gb);
    case EndedBy::kWrong:
      return OfOutputs(ending);
    case EndedBy::kChangedInput:
      return {Verdict::kWrongForm, fmt::format("the candidate changed its input {}", ending.input)};
    case EndedBy::kLate:
      return {Verdict::kTampered, "outputs were still written after the candidate had said that it was done"};
    case EndedBy::kNotRepeated:
      return {Verdict::kIncorrect, "two calls on equal inputs do not agree bit for bit"};
    case EndedBy::kNoMemory:
      break;
  }
  return {Verdict::kOutOfMemory,
          fmt::format("it holds {:.1f} GiB of the device's memory, where {:.1f} were planned for it, and the reference "
                      "found too little left",
                      static_cast<double>(ending.taken) / kGib, static_cast<double>(ending.planned) / kGib)};
}

bool IsRaised(const Ending& ending) {
  const auto status = static_cast<ReportStatus>(ending.said.status);
  return ending.by == EndedBy::kCall && ending.end == "done" &&
         (status == ReportStatus::kLoadFailed || status == ReportStatus::kRaised);
}

json LargerError(const json& a, const json& b) {
  if (!a.is_number()) return a;
  return !b.is_number() || b.get<double>() > a.get<double>() ? b : a;
}

}  // namespace kb
