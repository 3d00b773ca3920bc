#include "judge/rule/timings.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kb {

bool IsOf(const TimedCalls& round, const std::string& distribution) {
  return distribution == "stressed" ? round.plan.distribution != "natural" : round.plan.distribution == distribution;
}

double Timings::CandidateUs(const TimedCalls& round) const {
  const double clock_us = ClockUs(round);
  if (calibration.on_host || by_clock) return clock_us;
  const double above_us = OffsetUncertaintyUs(), below_us = above_us + AroundCallUs();
  return Refined(round.candidate_event_us, clock_us, below_us, above_us);
}

double Timings::BaselineUs(const TimedCalls& round) const {
  return by_clock ? std::min(round.baseline_us, round.baseline_clock_us) : round.baseline_us;
}

double Timings::OffsetUncertaintyUs() const {
  const double differ_us = std::abs(offset_us - reference_offset_us);
  return std::max(offset_spread_us + reference_spread_us, differ_us) + setting.floor.us;
}

double Timings::AroundCallUs() const { return setting.module ? calibration.module_us : 0; }

double Timings::ClockUs(const TimedCalls& round) const {
  const double least_us = std::min(offset_us, reference_offset_us) - calibration.no_device_us;
  if (!calibration.on_host && round.candidate_us < least_us) return round.candidate_us;
  return WithoutOffset(round.candidate_us, offset_us, calibration.offset_share);
}

bool Timings::DeviceBound() const {
  return !calibration.on_host && protocol.LaunchesHide() &&
         undisturbed.launch_us < std::max(calibration.launched_at_once_us, 0.8 * undisturbed.us);
}

TimedCalls Timings::Read(const CallTimes& baseline) const {
  TimedCalls times{.baseline = baseline};
  times.baseline_clock_us = WithoutOffset(baseline.us, reference_offset_us, calibration.offset_share);
  // Nobody else is in that process.
  times.baseline_us = baseline.event_us > 0 ? baseline.event_us : times.baseline_clock_us;
  return times;
}

TimedCalls Timings::Read(const Round& round) const {
  TimedCalls times = Read(round.baseline);
  times.plan = round.plan;
  times.candidate = round.candidate;
  times.candidate_us = round.candidate.us;
  if (round.baseline.event_us > 0) times.candidate_event_us = round.candidate.event_us;
  return times;
}

void Timings::AddNote(std::string text, nlohmann::json values) {
  Note note = MakeNote(std::move(text), std::move(values));
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

void Timings::MachineBusy() {
  no_speedup = kMachineBusy;
  AddNote(
      "machine_busy: other programs used the machine while it measured; there is no speedup. End them and judge it "
      "again");
}

}  // namespace kb
