#include "generate/turn_prompt.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/file.h"
#include "prompt/feedback.h"
#include "prompt/template.h"

namespace kb {
namespace {

using nlohmann::json;

std::string FenceLanguage(const Target& target) {
  const std::string_view extension = FileExtension(target);
  return extension == ".py" ? "python" : extension == ".cu" ? "cuda" : "cpp";
}

// A fence that is longer than any in the source.
std::string Fenced(const std::string& source, const Target& target) {
  std::string fence = "```";
  while (source.find(fence) != std::string::npos) fence += '`';
  return fmt::format("{}{}\n{}{}{}", fence, FenceLanguage(target), source, source.ends_with('\n') ? "" : "\n", fence);
}

std::optional<BestSoFar> BestOf(const GeneratorParent& parent, const Target& target) {
  const json& evaluation = parent.evaluation;
  if (!evaluation.is_object() || evaluation.value("verdict", "") != "correct") return std::nullopt;
  const auto speedup = evaluation.find("speedup");
  if (speedup == evaluation.end() || !speedup->is_number()) return std::nullopt;
  BestSoFar best{parent.source, FenceLanguage(target), speedup->get<double>(), {}};
  const auto interval = evaluation.find("speedup_interval");
  if (interval != evaluation.end() && interval->is_array() && interval->size() == 2 && (*interval)[0].is_number() &&
      (*interval)[1].is_number()) {
    best.interval = {(*interval)[0].get<double>(), (*interval)[1].get<double>()};
  }
  return best;
}

std::string FeedbackOn(const GeneratorParent& parent, const std::optional<BestSoFar>& best) {
  if (parent.source.empty()) return fmt::format("No candidate could be taken from this answer: {}", parent.complaint);
  if (!parent.evaluation.is_object()) return "";
  FeedbackContext context;
  context.best = best;
  context.profile = parent.profile;
  return DescribeFeedback(parent.evaluation, context);
}

// Of one that later ones came of: a line.
std::string VerdictOn(const GeneratorParent& parent) {
  if (parent.source.empty()) return fmt::format("No candidate could be taken from this answer: {}", parent.complaint);
  const json& evaluation = parent.evaluation;
  if (!evaluation.is_object()) return "It was not judged. Write the next version.";
  std::string line = fmt::format("It was judged: {}", evaluation.value("verdict", "?"));
  const auto reason = evaluation.find("reason"), speedup = evaluation.find("speedup");
  if (reason != evaluation.end() && reason->is_string() && !reason->get<std::string>().empty()) {
    line += ": " + reason->get<std::string>();
  }
  if (speedup != evaluation.end() && speedup->is_number()) {
    line += fmt::format(", {:.3g} times as fast as the baseline", speedup->get<double>());
  }
  return line + ". Write the next version.";
}

// The heading says "your candidate", which the other parent is not.
std::string WithoutHeading(std::string text) {
  if (text.starts_with('#')) text.erase(0, std::min(text.find_first_not_of('\n', text.find('\n')), text.size()));
  return text;
}

std::string Shown(const GeneratorParent& parent, const Target& target) {
  return parent.source.empty() ? "(an answer without a candidate)" : Fenced(parent.source, target);
}

}  // namespace

Result<TurnTexts> TurnTexts::Load(const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, size_t{1} << 20));
  TurnTexts texts;
  try {
    const toml::table table = toml::parse(text);
    for (const auto& [key, value] : {std::pair{"refine", &texts.refine}, std::pair{"mutate", &texts.mutate},
                                     std::pair{"combine", &texts.combine}}) {
      *value = table[key].value_or(std::string());
      if (value->empty()) return Fail(ErrorCode::kUsage, fmt::format("{}: {} is missing", path.string(), key));
    }
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}, line {}: {}", path.string(), error.source().begin.line, error.description()));
  }
  return texts;
}

Result<GeneratorPrompt> MakeTurnPrompt(const TurnTexts& texts, const Prompt& base, const Target& target,
                                       const Proposal& proposal, const std::vector<GeneratorParent>& parents,
                                       bool feedback) {
  GeneratorPrompt prompt{base.system, {{Role::kUser, base.user, true}}};
  if (parents.empty()) return prompt;
  const size_t direct = parents.size() - proposal.earlier.size();
  for (size_t i = direct; i < parents.size(); ++i) {
    prompt.messages.push_back({Role::kAssistant, Shown(parents[i], target), false});
    prompt.messages.push_back({Role::kUser, feedback ? VerdictOn(parents[i]) : "Write the next version.", false});
  }
  const bool refines = proposal.kind == ProposalKind::kRefine, combines = proposal.kind == ProposalKind::kCombine;
  Placeholders values = {{"feedback", ""}, {"second", ""}, {"second_feedback", ""}};
  if (feedback) {
    const auto best = refines && direct > 1 ? BestOf(parents[1], target) : std::nullopt;
    values["feedback"] = FeedbackOn(parents[0], best);
  }
  if (combines) {
    values["second"] = Shown(parents.at(1), target);
    if (feedback) values["second_feedback"] = WithoutHeading(FeedbackOn(parents[1], std::nullopt));
  }
  const std::string& text = refines ? texts.refine : combines ? texts.combine : texts.mutate;
  KB_ASSIGN_OR_RETURN(FilledText filled, FillIn(text, values, "prompts/turns.toml"));
  filled.text.erase(0, std::min(filled.text.find_first_not_of('\n'), filled.text.size()));
  prompt.messages.push_back({Role::kAssistant, Shown(parents[0], target), false});
  prompt.messages.push_back({Role::kUser, std::move(filled.text), false});
  return prompt;
}

}  // namespace kb
