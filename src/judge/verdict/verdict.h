// What the judge concludes about a candidate: a closed set.
#ifndef JUDGE_VERDICT_VERDICT_H_
#define JUDGE_VERDICT_VERDICT_H_

#include <array>
#include <string_view>

namespace kb {

// Stored by name; the names are never reused.
enum class Verdict {
  kNotRun,
  kStaticRejected,
  kBuildFailed,
  kLoadFailed,
  kCrashed,
  kTimedOut,
  kOutOfMemory,
  kWrongForm,
  kNonFinite,
  kIncorrect,
  kTampered,
  kCorrect,
};

inline constexpr std::array<std::string_view, 12> kVerdictNames = {
    "not_run",       "static_rejected", "build_failed", "load_failed", "crashed",  "timed_out",
    "out_of_memory", "wrong_form",      "non_finite",   "incorrect",   "tampered", "correct"};

inline constexpr std::string_view VerdictName(Verdict verdict) { return kVerdictNames[static_cast<size_t>(verdict)]; }

}  // namespace kb

#endif  // JUDGE_VERDICT_VERDICT_H_
