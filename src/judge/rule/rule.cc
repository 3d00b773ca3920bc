#include "judge/rule/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/rule/alone.h"
#include "judge/rule/headline.h"
#include "judge/rule/notes.h"
#include "judge/rule/void_rounds.h"

namespace kb {
namespace {

using Call = Wanted::Call;

template <typename Answer>
std::optional<Wanted> CallFor(Call call, const Asked<Answer>& asked) {
  if (!asked.more()) return std::nullopt;
  return Wanted{.call = call, .quiet = asked.quiet, .pause_ms = asked.pause_ms, .draw = asked.draw};
}

std::vector<double> Microseconds(const std::vector<EmptyCall>& calls) {
  std::vector<double> us;
  for (const EmptyCall& call : calls) us.push_back(call.us);
  return us;
}

// Each reads what one stage measured; the figures of the stages before are in `timings`.

void ReadReference(const Measurements& measured, Timings* timings) {
  if (!timings->Timed()) return;
  const auto asked = AskEmpty(measured.reference_empty, ReferenceOffsetCalls());
  if (asked.busy) timings->MachineBusy();
  if (!asked.answer) return;
  timings->reference_offset_us = Median(*asked.answer);
  timings->reference_spread_us = ScatterUs(*asked.answer);
}

void ReadBaseline(const Measurements& measured, Timings* timings) {
  if (!timings->Timed()) return;
  const auto asked = AskAlone(measured.alone, *timings);
  timings->device_shared = UsedByOthers(measured.alone);
  if (asked.busy) timings->MachineBusy();
  if (!asked.answer) return;
  timings->undisturbed = asked.answer->figure;
  timings->brief = asked.answer->reused;
}

void ReadRunner(const Measurements& measured, Timings* timings) {
  const OffsetCalls calls = RunnerOffsetCalls(*timings);
  for (size_t i = static_cast<size_t>(calls.settling); i < measured.empty.size(); ++i) {
    // A runner of ours that was stopped in the middle of starting may still have had work on the device at first, too.
    timings->device_shared |= measured.empty[i].used && measured.empty[i].quiet;
  }
  const auto asked = AskEmpty(Microseconds(measured.empty), calls);
  if (asked.busy) timings->MachineBusy();
  if (!asked.answer) return;
  timings->offset_us = Median(*asked.answer);
  timings->offset_spread_us = ScatterUs(*asked.answer);
}

std::optional<Wanted> NextOfRunner(const Measurements& measured, const Timings& timings) {
  auto wanted = CallFor(Call::kEmpty, AskEmpty(Microseconds(measured.empty), RunnerOffsetCalls(timings)));
  if (!wanted) return wanted;
  // Runners that start meanwhile are stopped wherever the figure matters: they made three calls of a native candidate
  // 400 us longer, and its time as much shorter.
  wanted->quiet = measured.empty.empty() || timings.Timed();
  return wanted;
}

std::optional<Wanted> NextRound(const Course& course) {
  if (course.WantsRepeat()) return Wanted{.call = Call::kRepeat};
  auto round = course.Next();
  if (!round) return std::nullopt;
  return Wanted{.call = Call::kRound, .quiet = round->plan.scored, .round = std::move(*round)};
}

// Whose speedup a protocol does not count. Such a candidate stays correct.
void ApplyAuthorship(const Measurements& measured, Conclusion* conclusion) {
  Timings* timings = &conclusion->timings;
  const Protocol& protocol = timings->protocol;
  if (!protocol.Profiles()) return;
  const nlohmann::json& told = measured.authorship;
  const nlohmann::json kind = told.is_object() ? told.at("class") : nlohmann::json();
  if (kind.is_null()) timings->AddNote("authorship: unknown: " + measured.no_authorship, {{"class", nullptr}});
  const auto& accepted = protocol.accept_authorship;
  const std::string name = kind.is_null() ? "unknown" : kind.get<std::string>();
  if (protocol.AcceptsEveryAuthorship() || std::find(accepted.begin(), accepted.end(), name) != accepted.end()) return;
  const std::string refusal = fmt::format("authorship: {} is not accepted under this protocol", name);
  timings->AddNote(refusal, {{"class", name}});
  conclusion->reason = fmt::format("{} (only {})", refusal, fmt::join(accepted, ", "));
  timings->no_speedup = "authorship";
}

void ReadAgain(const Measurements& measured, Timings* timings) {
  const auto asked = AskAgain(measured.after, *timings);
  if (asked.busy) timings->MachineBusy();
  if (asked.answer && asked.answer->figure.us < timings->undisturbed.us) timings->undisturbed = asked.answer->figure;
}

void ConcludeTimes(Timings* timings) {
  ConcludeSpeedup(timings);
  AddTimingNotes(timings);
  if (timings->protocol.TimedByEvents()) TimeByEvents(timings);
}

// Whose weights a module was judged with, and where they may be why it is wrong.
void AddStateNotes(const Measurements& measured, Conclusion* conclusion) {
  if (measured.state_copied) {
    conclusion->timings.AddNote(
        "state_copied: with the weights that it was constructed with its first answer was wrong; it was judged with "
        "the reference's, which were copied into it");
  } else if (conclusion->verdict == Verdict::kIncorrect && !measured.other_state.empty()) {
    conclusion->timings.AddNote("other_weights: " + measured.other_state +
                                "; keep the reference's names, or draw in the same order");
  }
}

// A module whose build was refused is judged for what it does then; one that does nothing was not built.
void ApplyRefusedBuild(const Measurements& measured, Conclusion* conclusion) {
  const std::string& error = measured.refused_build;
  if (error.empty()) return;
  if (measured.ending && measured.rounds.empty() && IsRaised(*measured.ending)) {
    conclusion->verdict = Verdict::kBuildFailed;
    conclusion->reason = fmt::format("the compiler refused it: {}; evidence.compiler_output holds what it said", error);
    conclusion->evidence = nlohmann::json::object();
  } else {
    conclusion->timings.AddNote("build_fallback: " + error);
  }
}

// All but the times.
Conclusion ConcludeTrial(const Measurements& measured, const Protocol& protocol, const Calibration& calibration) {
  Conclusion conclusion{.verdict = Verdict::kCorrect, .timings = TimingsOf(measured, protocol, calibration)};
  const Early early = Course(measured, &conclusion.timings).early();
  if (measured.ending) {
    const Finding finding = FindingOf(*measured.ending, protocol.memory_gb);
    conclusion.verdict = finding.verdict;
    conclusion.reason = finding.reason;
    conclusion.evidence = finding.evidence;
  } else if (early.rounds > 0) {
    conclusion.verdict = Verdict::kTampered;
    conclusion.started_early = true;
    conclusion.reason =
        fmt::format("the device was used before the call in {} of {} rounds, and never before the candidate was loaded",
                    early.rounds, early.of);
  } else {
    ApplyAuthorship(measured, &conclusion);
  }
  ApplyRefusedBuild(measured, &conclusion);
  AddStateNotes(measured, &conclusion);
  if (!measured.compared_in_part.empty()) {
    conclusion.timings.AddNote("compared_in_part: its error on further inputs is not known: " +
                               measured.compared_in_part);
  }
  return conclusion;
}

}  // namespace

Timings TimingsOf(const Measurements& measured, const Protocol& protocol, const Calibration& calibration) {
  Timings timings{.setting = measured.setting, .protocol = protocol, .calibration = calibration};
  if (measured.setting.no_room) timings.no_speedup = "no_room";
  ReadReference(measured, &timings);
  ReadBaseline(measured, &timings);
  ReadRunner(measured, &timings);
  return timings;
}

std::optional<Wanted> Next(Stage stage, const Measurements& measured, const Protocol& protocol,
                           const Calibration& calibration) {
  Timings timings = TimingsOf(measured, protocol, calibration);
  switch (stage) {
    case Stage::kReference: {
      if (!timings.Timed()) return std::nullopt;
      auto wanted = CallFor(Call::kReferenceEmpty, AskEmpty(measured.reference_empty, ReferenceOffsetCalls()));
      if (wanted) wanted->quiet = true;
      return wanted;
    }
    case Stage::kBaseline:
      return timings.Timed() ? CallFor(Call::kAlone, AskAlone(measured.alone, timings)) : std::nullopt;
    case Stage::kRunner:
      return NextOfRunner(measured, timings);
    case Stage::kRounds:
      return measured.ending ? std::nullopt : NextRound(Course(measured, &timings));
    case Stage::kAgain: {
      const Conclusion trial = ConcludeTrial(measured, protocol, calibration);
      if (trial.verdict != Verdict::kCorrect || !trial.timings.Timed()) return std::nullopt;
      return CallFor(Call::kAlone, AskAgain(measured.after, timings));
    }
  }
  return std::nullopt;
}

Conclusion Conclude(const Measurements& measured, const Protocol& protocol, const Calibration& calibration) {
  Conclusion conclusion = ConcludeTrial(measured, protocol, calibration);
  Timings* timings = &conclusion.timings;
  if (conclusion.verdict != Verdict::kCorrect || !timings->Timed()) return conclusion;
  ReadAgain(measured, timings);
  if (timings->Timed()) ConcludeTimes(timings);
  return conclusion;
}

std::vector<CallTimes> KeptOf(const Measurements& measured, const Protocol& protocol, const Calibration& calibration) {
  const Timings timings = TimingsOf(measured, protocol, calibration);
  const auto again = AskAgain(measured.after, timings), alone = AskAlone(measured.alone, timings);
  if (again.answer && !again.answer->kept.empty()) return again.answer->kept;
  return alone.answer ? alone.answer->kept : std::vector<CallTimes>();
}

}  // namespace kb
