#include "judge/rule/void_rounds.h"

#include <string>

namespace kb {

namespace {

bool IsLong(double waited_us, double call_us) {
  constexpr double kWakingUs = 300, kWaitingPart = 0.05;
  return waited_us > kWakingUs + kWaitingPart * call_us;
}

}  // namespace

bool WaitedForOthers(const CallTimes& call) { return IsLong(call.waited_us, call.us); }

std::string VoidReason(const TimedCalls& round, const Timings& timings) {
  if (round.candidate.gap_us > 0) return "something else used the device before the candidate was called";
  // Where nobody else ever used the device, that is what the candidate left behind: hedges.h.
  if (round.baseline.gap_us > 0 && timings.device_shared) return "something else used the device before the baseline";
  // What its own threads explain is its own.
  if (IsLong(round.candidate.surely_waited_us, round.candidate.us)) return "other load during the candidate's call";
  if (WaitedForOthers(round.baseline)) return "other load during the baseline";
  return "";
}

bool TooManyDisturbed(int disturbed, int counted) {
  constexpr int kTolerable = 10, kCountedForOne = 4;
  return disturbed > kTolerable && disturbed * kCountedForOne > counted;
}

Early StartedEarly(const Timings& timings) {
  // Runners that start ahead have the device during warm-up.
  Early early;
  for (const TimedCalls& round : timings.rounds) {
    early.of += round.plan.scored;
    early.rounds += round.plan.scored && round.candidate.gap_us > 0;
  }
  return timings.device_shared || early.rounds * 2 < early.of ? Early{} : early;
}

}  // namespace kb
