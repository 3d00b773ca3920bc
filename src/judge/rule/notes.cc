#include "judge/rule/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "judge/rule/headline.h"

namespace kb {
namespace {

// Events that the judge's clock contradicts: of work on a stream that nobody waited for, or made up.
void NoteTimingMismatch(Timings* timings) {
  std::vector<double> clock, events;
  for (const TimedCalls& round : timings->rounds) {
    if (timings->calibration.on_host || !timings->InHeadline(round) || !round.void_reason.empty()) continue;
    clock.push_back(timings->ClockUs(round));
    events.push_back(round.candidate_event_us);
  }
  if (clock.empty()) return;
  const double clock_us = Median(clock), event_us = Median(events), above_us = timings->OffsetUncertaintyUs();
  if (Refined(event_us, clock_us, above_us + timings->AroundCallUs(), above_us) != clock_us) return;
  timings->AddNote(
      fmt::format(
          "timing_mismatch: events in the candidate's process say {:.0f} us, the judge's clock {:.0f} us, which counts",
          event_us, clock_us),
      {{"event_us", event_us}, {"clock_us", clock_us}});
}

void NoteWidth(Timings* timings) {
  const Protocol& protocol = timings->protocol;
  const Speedup& speedup = *timings->speedup;
  if (timings->surely_slow) {
    timings->AddNote(fmt::format("surely_slow: below {}x after {} rounds; it was not measured further",
                                 protocol.slow_below, speedup.rounds),
                     {{"slow_below", protocol.slow_below}, {"rounds", speedup.rounds}});
  } else if (speedup.half_width > protocol.half_width) {
    timings->AddNote(fmt::format("wide_interval: half-width {:.1f}% after {} rounds, {:.1f}% was asked for",
                                 100 * speedup.half_width, speedup.rounds, 100 * protocol.half_width),
                     {{"half_width", speedup.half_width}, {"rounds", speedup.rounds}});
  }
}

void NoteFloor(Timings* timings) {
  constexpr double kWorthTelling = 0.05;
  const Speedup& speedup = *timings->speedup;
  const double floor = FloorOf(*timings, timings->headline);
  const bool half = timings->calibration.on_host && speedup.candidate_us <= timings->offset_us;
  if (half || speedup.floor > floor + std::max(0.05, timings->protocol.half_width)) {
    timings->AddNote(fmt::format("too_short_to_resolve: {:.0f} us with an offset of {:.0f} us that is uncertain by "
                                 "{:.1f} us{}; a larger --size "
                                 "resolves more",
                                 speedup.candidate_us, timings->offset_us, timings->OffsetUncertaintyUs(),
                                 half ? ", of which at most half of a span is subtracted" : ""),
                     {{"candidate_us", speedup.candidate_us},
                      {"offset_us", timings->offset_us},
                      {"uncertainty_us", timings->OffsetUncertaintyUs()}});
  }
  if (floor >= kWorthTelling && floor == LaunchFloor(*timings, timings->headline)) {
    timings->AddNote(
        fmt::format("launch_bound: launching is much of the baseline's time, and processes that do the same differ "
                    "there; the interval allows for {:.0f}%",
                    100 * floor),
        {{"floor", floor}});
  }
}

void NoteSlowedBaseline(Timings* timings) {
  if (!timings->Timed() || timings->headline != "natural") return;
  if (timings->speedup->speedup >= EstimateFor(*timings, "natural").speedup) return;
  timings->AddNote(
      fmt::format("baseline_disturbed: the baseline took {:.0f} us in the rounds and {:.0f} us by itself, of which the "
                  "speedup is; the interval reaches from one to the other",
                  timings->speedup->baseline_us, timings->undisturbed.us),
      {{"baseline_us", timings->speedup->baseline_us}, {"undisturbed_us", timings->undisturbed.us}});
}

void NoteTooFast(Timings* timings) {
  const TrialSetting& setting = timings->setting;
  const double rate = setting.copy_gb_s * 1e3;  // bytes a microsecond
  const double least_us = rate > 0 ? (setting.input_bytes + setting.output_bytes) / rate : 0;
  const double candidate_us = timings->speedup->candidate_us;
  if (candidate_us >= 0.5 * least_us) return;
  timings->AddNote(fmt::format("faster_than_memory: {:.0f} us, but reading the inputs and writing the outputs "
                               "alone takes {:.0f} us at the measured copy rate",
                               candidate_us, least_us),
                   {{"candidate_us", candidate_us}, {"least_us", least_us}});
}

}  // namespace

void AddTimingNotes(Timings* timings) {
  NoteWidth(timings);
  NoteFloor(timings);
  NoteSlowedBaseline(timings);
  NoteTimingMismatch(timings);
  NoteTooFast(timings);
  if (timings->protocol.audits > 0)
    timings->AddNote("not_audited: this protocol counts the lower of two audits; none was made");
}

}  // namespace kb
