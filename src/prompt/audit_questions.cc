#include "prompt/audit_questions.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "prompt/feedback_text.h"
#include "prompt/problem_text.h"
#include "prompt/template.h"
#include "report/text.h"
#include "report/view.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kMostAnswerBytes = size_t{64} << 10;
constexpr const char* kFlags[] = {"exploits_benchmark", "works_for_new_inputs", "only_default_stream", "passes"};
constexpr const char* kExplanation = "explanation";
constexpr const char* kNoTranscript =
    "There is no transcript: the candidate is a model's answer, or was given as a file.";

// A flat object without a key twice; null otherwise. json::parse alone keeps the last of two equal keys.
json ParseFlatObject(std::string_view text) {
  std::set<std::string> keys;
  bool twice = false, nested = false;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key) twice = !keys.insert(parsed.get<std::string>()).second || twice;
    const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    nested = nested || (opens && depth > 0);
    return !nested;  // what is nested is not kept, so that its depth costs nothing
  };
  json parsed = json::parse(text, watch, false);
  return parsed.is_object() && !twice && !nested ? parsed : json();
}

AuditVerdict Unparsable(const std::string& reason) {
  AuditVerdict verdict;
  verdict.reason = reason;
  return verdict;
}

struct AuditText {
  std::string system, user;
};

Result<AuditText> ReadAuditText(const std::filesystem::path& file) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, size_t{1} << 20));
  try {
    const toml::table table = toml::parse(text);
    AuditText read{table["system"].value_or(std::string()), table["user"].value_or(std::string())};
    for (const auto& [key, value] : table) {
      if (key.str() != "system" && key.str() != "user" && key.str() != "description") {
        return Fail(ErrorCode::kUsage, fmt::format("{}: there is no key {}; there are: description, system, user",
                                                   file.string(), std::string(key.str())));
      }
    }
    if (!read.system.empty() && !read.user.empty()) return read;
    return Fail(ErrorCode::kUsage, fmt::format("{}: needs the texts system and user", file.string()));
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}:{}: {}", file.string(), error.source().begin.line, error.description()));
  }
}

// What the judge knows and a reader of the code does not.
std::string Measurements(const json& evaluation) {
  std::string text = fmt::format("- speedup {}", FormatSpeedup(NumberAt(evaluation, "speedup")));
  if (const json& interval = MemberAt(evaluation, "speedup_interval");
      interval.is_array() && interval.size() == 2 && interval[0].is_number() && interval[1].is_number()) {
    text += fmt::format(", between {} and {}", FormatSpeedup(interval[0].get<double>()),
                        FormatSpeedup(interval[1].get<double>()));
  }
  text += fmt::format(": the reference takes {}, the candidate {}\n", FormatTime(NumberAt(evaluation, "baseline_us")),
                      FormatTime(NumberAt(evaluation, "candidate_us")));
  text += fmt::format("- device: {}\n", OneLine(TextAt(MemberAt(evaluation, "device_info"), "name"), 200));
  if (const json& light = MemberAt(evaluation, "speed_of_light"); NumberAt(light, "us")) {
    text +=
        fmt::format("- moving all data once and computing all products would take {} at this device's measured rates\n",
                    FormatTime(NumberAt(light, "us")));
  }
  if (const std::string who = TextAt(MemberAt(evaluation, "authorship"), "class"); !who.empty()) {
    text += fmt::format("- who did the work, by profile: {}\n", OneLine(who, 40));
  }
  for (const json& note : MemberAt(evaluation, "notes")) {
    text += "- note: " + OneLine(TextAt(note, "text"), 300) + "\n";
  }
  return text;
}

}  // namespace

std::string_view ToString(AuditOutcome outcome) {
  constexpr std::string_view kNames[] = {"passed", "failed", "unparsable"};
  return kNames[static_cast<size_t>(outcome)];
}

AuditVerdict ParseAudit(std::string_view answer, bool whole) {
  if (!whole) return Unparsable("the answer was cut off or refused");
  if (answer.size() > kMostAnswerBytes) return Unparsable("the answer is longer than 64 KiB");
  if (answer.starts_with("\xEF\xBB\xBF")) return Unparsable("the answer begins with a byte order mark");
  const json object = ParseFlatObject(answer);
  if (!object.is_object()) return Unparsable("the answer is not one flat JSON object with each key once");
  AuditVerdict verdict;
  for (const char* flag : kFlags) {
    if (!object.contains(flag)) return Unparsable(fmt::format("the answer has no {}", flag));
    if (!object.at(flag).is_boolean()) return Unparsable(fmt::format("{} is neither true nor false", flag));
  }
  if (!object.contains(kExplanation) || !object.at(kExplanation).is_string()) {
    return Unparsable("the answer has no explanation");
  }
  if (object.size() != std::size(kFlags) + 1) return Unparsable("the answer has keys that were not asked for");
  verdict.explanation = object.at(kExplanation);
  if (verdict.explanation.find_first_not_of(" \t\r\n") == std::string::npos)
    return Unparsable("the explanation is empty");
  verdict.exploits_benchmark = object.at(kFlags[0]);
  verdict.works_for_new_inputs = object.at(kFlags[1]);
  verdict.only_default_stream = object.at(kFlags[2]);
  const bool passes = !verdict.exploits_benchmark && verdict.works_for_new_inputs && verdict.only_default_stream;
  if (object.at(kFlags[3]).get<bool>() != passes) {
    return Unparsable("the answer contradicts itself: passes does not follow from the three answers");
  }
  verdict.outcome = passes ? AuditOutcome::kPassed : AuditOutcome::kFailed;
  if (verdict.exploits_benchmark) {
    verdict.reason = "it exploits the benchmark";
  } else if (!verdict.works_for_new_inputs) {
    verdict.reason = "it does not work for arbitrary new inputs";
  } else if (!verdict.only_default_stream) {
    verdict.reason = "not all of its work is on the default stream";
  }
  return verdict;
}

Result<Prompt> BuildAuditPrompt(const std::filesystem::path& prompts, const json& evaluation,
                                const std::string& problem_source, const AuditMaterial& material) {
  KB_ASSIGN_OR_RETURN(const AuditText text, ReadAuditText(prompts / "audit.toml"));
  const json& candidate = MemberAt(evaluation, "candidate");
  const json& source = MemberAt(candidate, "source");
  const std::string problem = TextAt(evaluation, "problem");
  if (!source.is_string() || source.get_ref<const std::string&>().empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("the evaluation {} of problem {} has no source to audit",
                                               TextAt(evaluation, "id"), problem));
  }
  KB_ASSIGN_OR_RETURN(const ProblemText shown, ShowProblem(problem_source, problem, TextAt(evaluation, "size")));
  const std::string extension = std::filesystem::path(TextAt(candidate, "path")).extension();
  const Placeholders values = {
      {"problem", OneLine(problem, 200)},
      {"problem_source", shown.source},
      {"candidate", Fenced(source.get<std::string>(), extension == ".py" ? "python" : "cpp")},
      {"measurements", Measurements(evaluation)},
      {"findings", material.findings},
      {"transcript", material.transcript.empty() ? kNoTranscript : Fenced(material.transcript)},
  };
  KB_ASSIGN_OR_RETURN(FilledText system, FillIn(text.system, values, "system of audit.toml"));
  KB_ASSIGN_OR_RETURN(FilledText user, FillIn(text.user, values, "user of audit.toml"));
  return Prompt{std::move(system.text), std::move(user.text), {}, {}};
}

std::optional<double> AuditedSpeedup(double speedup, double cap, std::span<const AuditVerdict> audits, int wanted) {
  if (std::any_of(audits.begin(), audits.end(), [](const AuditVerdict& each) { return !each.passed(); })) return 0.0;
  if (static_cast<int>(audits.size()) < wanted) return std::nullopt;
  return cap > 0 ? std::min(speedup, cap) : speedup;
}

}  // namespace kb
