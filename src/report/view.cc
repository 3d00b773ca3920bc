#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/text.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr VerdictKind kVerdicts[] = {
    {"correct", "correct", "good", Stage::kCorrect},           {"incorrect", "incorrect", "bad", Stage::kRan},
    {"non_finite", "non-finite", "bad", Stage::kRan},          {"wrong_form", "wrong form", "bad", Stage::kRan},
    {"tampered", "tampered", "tampered", Stage::kRan},         {"timed_out", "timed out", "warn", Stage::kBuilt},
    {"out_of_memory", "out of memory", "warn", Stage::kBuilt}, {"crashed", "crashed", "warn", Stage::kBuilt},
    {"load_failed", "load failed", "warn", Stage::kBuilt},     {"build_failed", "build failed", "warn", Stage::kNone},
    {"static_rejected", "rejected", "tampered", Stage::kNone}, {"not_run", "not run", "none", Stage::kNone},
};

std::string DescribeAuthorship(const json& authorship) {
  if (!authorship.is_object()) return "";
  const std::string kind = TextAt(authorship, "class");
  std::string shares;
  for (const char* key : {"custom", "library", "python", "other"}) {
    const double share = NumberAt(authorship, key).value_or(0);
    if (share > 0) shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", FormatPercent(share), key);
  }
  return fmt::format("{} ({})", kind.empty() ? "unknown" : kind, shares.empty() ? "no samples" : shares);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string TextAt(const json& object, const char* key) {
  const json& member = MemberAt(object, key);
  return member.is_null() ? "" : Inline(member);
}

std::optional<double> NumberAt(const json& object, const char* key) {
  const json& member = MemberAt(object, key);
  if (!member.is_number() || !std::isfinite(member.get<double>())) return std::nullopt;
  return member.get<double>();
}

const json& MemberAt(const json& object, const char* key) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string Inline(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) {
    if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
    return value.is_null() ? kDash : value.dump();
  }
  std::string line;
  for (const auto& [key, member] : value.items()) {
    if (!line.empty()) line += ", ";
    if (value.is_object()) line += key + " ";
    line += Inline(member);
  }
  return line;
}

Pace View::pace() const {
  if (!correct() || !speedup) return Pace::kUnmeasured;
  if (low.value_or(*speedup) > 1) return Pace::kFaster;
  return high.value_or(*speedup) < 1 ? Pace::kSlower : Pace::kEven;
}

std::string FormatError(const json& error) {
  if (!error.is_number()) return Inline(error);
  const double value = error.get<double>();
  const std::string text = fmt::format("{:.3g}", value);
  return text == "1" ? fmt::format("{}", value) : text;
}

std::string FormatFactor(const json& error) {
  if (!error.is_number()) return Inline(error);
  const double value = error.get<double>();
  return value >= 1000 && value < 1e12 ? FormatCount(value) : FormatError(error);
}

std::string FirstReason(const View& view) {
  constexpr std::string_view kBefore = "the compiler refused it: ", kAfter = "; evidence.compiler_output holds";
  std::string reason = view.reason.substr(0, view.reason.rfind(kAfter));
  return reason.starts_with(kBefore) ? reason.substr(kBefore.size()) : reason;
}

namespace {

std::string DescribeErrors(const json& errors) {
  std::string natural, others;
  for (const auto& [distribution, error] : errors.items()) {
    if (distribution == "natural") {
      natural = "natural " + FormatError(error);
    } else {
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", distribution, FormatError(error));
    }
  }
  return natural + (natural.empty() || others.empty() ? "" : ", ") + others;
}

}  // namespace

View MakeView(const json& evaluation) {
  View view;
  view.raw = &evaluation;
  const json& candidate = MemberAt(evaluation, "candidate");
  const struct {
    std::string View::*field;
    const json& from;
    const char* key;
  } kFields[] = {{&View::id, evaluation, "id"},
                 {&View::created, evaluation, "created"},
                 {&View::problem, evaluation, "problem"},
                 {&View::size, evaluation, "size"},
                 {&View::device, evaluation, "device"},
                 {&View::device_name, MemberAt(evaluation, "device_info"), "name"},
                 {&View::protocol, evaluation, "protocol"},
                 {&View::baseline, evaluation, "baseline"},
                 {&View::candidate_path, candidate, "path"},
                 {&View::kind, candidate, "kind"},
                 {&View::backend, candidate, "backend"},
                 {&View::verdict, evaluation, "verdict"},
                 {&View::reason, evaluation, "reason"},
                 {&View::headline, evaluation, "headline"},
                 {&View::isolation, evaluation, "isolation"}};
  for (const auto& field : kFields) view.*field.field = TextAt(field.from, field.key);
  view.candidate_name = view.candidate_path.substr(view.candidate_path.rfind('/') + 1);
  for (const json& note : MemberAt(evaluation, "notes")) {
    std::string text = note.is_object() ? TextAt(note, "text") : Inline(note);
    // Why there is no speedup tells nothing of a candidate that could have none.
    if (view.correct() || !text.starts_with("machine_busy")) view.notes.push_back(std::move(text));
  }
  view.speedup = NumberAt(evaluation, "speedup");
  if (const json& interval = MemberAt(evaluation, "speedup_interval");
      view.speedup && interval.is_array() && interval.size() == 2 && interval[0].is_number() &&
      interval[1].is_number()) {
    view.low = interval[0].get<double>();
    view.high = interval[1].get<double>();
  }
  view.confidence = NumberAt(evaluation, "confidence");
  view.floor = NumberAt(evaluation, "floor");
  view.baseline_us = NumberAt(evaluation, "baseline_us");
  view.candidate_us = NumberAt(evaluation, "candidate_us");
  view.rounds = NumberAt(evaluation, "rounds");
  view.authorship = DescribeAuthorship(MemberAt(evaluation, "authorship"));
  view.errors = DescribeErrors(MemberAt(evaluation, "errors"));
  return view;
}

std::vector<View> Views(const std::vector<json>& evaluations) {
  std::vector<View> views;
  for (const json& evaluation : evaluations) views.push_back(MakeView(evaluation));
  return views;
}

bool NaturalLess(const std::string& a, const std::string& b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      const auto number = [](const std::string& text, size_t& at) {
        const size_t first = std::min(text.find_first_not_of('0', at), text.size());
        size_t end = first;
        while (end < text.size() && IsDigit(text[end])) ++end;
        at = end;
        return text.substr(first, end - first);
      };
      const std::string left = number(a, i);
      const std::string right = number(b, j);
      if (left != right) return left.size() != right.size() ? left.size() < right.size() : left < right;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

std::span<const VerdictKind> VerdictKinds() { return kVerdicts; }

const VerdictKind& FindVerdict(const std::string& name) {
  for (const VerdictKind& kind : kVerdicts) {
    if (name == kind.name) return kind;
  }
  return kVerdicts[std::size(kVerdicts) - 1];
}

}  // namespace kb
