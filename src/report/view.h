// What reports read of an evaluation's JSON (docs/reference/evaluation.md): typed, and content with anything that is
// missing.
#ifndef REPORT_VIEW_H_
#define REPORT_VIEW_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kb {

// Members of a JSON object that may lack them or hold null: "" (numbers and booleans as JSON writes them), no number,
// and an empty object.
std::string TextAt(const nlohmann::json& object, const char* key);
std::optional<double> NumberAt(const nlohmann::json& object, const char* key);
const nlohmann::json& MemberAt(const nlohmann::json& object, const char* key);  // null when missing

// One of the `errors` of an evaluation: "24", "inf"; never "1" unless it is.
std::string FormatError(const nlohmann::json& error);

// How many times what is allowed: "782", "1,040,000", "inf".
std::string FormatFactor(const nlohmann::json& error);

// A JSON value as one line of text: strings bare, arrays and objects joined by commas.
std::string Inline(const nlohmann::json& value);

enum class Pace { kFaster, kEven, kSlower, kUnmeasured };  // even: the interval holds 1

struct View {
  std::string id, created, problem, size, device, device_name, protocol, baseline;
  std::string candidate_path, candidate_name, kind, backend, verdict, reason, headline, isolation;
  std::string authorship;  // "custom (97% custom, 3% other)"; empty if it was not asked
  std::string errors;      // as multiples of what is allowed: "natural 0.31, centred 24"; empty if none was compared
  std::vector<std::string> notes;
  std::optional<double> speedup, low, high, confidence, floor;
  std::optional<double> baseline_us, candidate_us;
  std::optional<double> rounds;
  const nlohmann::json* raw = nullptr;  // the evaluation itself, which outlives the view

  bool correct() const { return verdict == "correct"; }
  Pace pace() const;
};

// The reason in short: of a failed build the first error of the compiler alone.
std::string FirstReason(const View& view);

View MakeView(const nlohmann::json& evaluation);
std::vector<View> Views(const std::vector<nlohmann::json>& evaluations);

// "1/9" before "1/10", "1/19" before "2/1": numbers in names count as numbers.
bool NaturalLess(const std::string& a, const std::string& b);

// Verdicts in the order of the pipeline, with the share of the pipeline that each of them has passed.
enum class Stage { kNone, kBuilt, kRan, kCorrect };
struct VerdictKind {
  const char* name;
  const char* label;  // for people: "build failed"
  const char* tone;   // which colour: good, bad, warn, tampered, none
  Stage reached;
};
std::span<const VerdictKind> VerdictKinds();
const VerdictKind& FindVerdict(const std::string& name);  // an unknown one is shown as not run

}  // namespace kb

#endif  // REPORT_VIEW_H_
