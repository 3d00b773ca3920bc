#include "report/score_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/view.h"

namespace kb {
namespace {

void AddSample(const ScoreRow& row, MixedProblem::Text* text) {
  text->sha256 = row.problem_sha256;
  text->newest = std::max(text->newest, row.created);
  ++text->samples;
  if (!row.run.empty() && std::find(text->runs.begin(), text->runs.end(), row.run) == text->runs.end())
    text->runs.push_back(row.run);
}

}  // namespace

std::string MixedProblem::label() const {
  std::vector<std::string> parts;
  for (const Text& text : texts) {
    const std::string in = text.runs.empty() ? "" : fmt::format(" (run {})", fmt::join(text.runs, ", "));
    parts.push_back(fmt::format("{} about text {}{}", text.samples, text.name(), in));
  }
  return fmt::format("{}: {}", problem, fmt::join(parts, ", "));
}

std::vector<MixedProblem> MixedProblems(std::span<const ScoreRow* const> samples) {
  std::map<std::string, std::map<std::string, MixedProblem::Text>> problems;
  std::set<const ScoreRow*> seen;
  for (const ScoreRow* row : samples) {
    if (row->verdict.empty() || row->problem_sha256.empty() || !seen.insert(row).second) continue;
    AddSample(*row, &problems[row->problem][row->problem_sha256]);
  }
  std::vector<MixedProblem> mixed;
  for (auto& [problem, texts] : problems) {
    if (texts.size() < 2) continue;
    MixedProblem& each = mixed.emplace_back(MixedProblem{problem, {}});
    for (auto& [sha256, text] : texts) each.texts.push_back(std::move(text));
    std::stable_sort(each.texts.begin(), each.texts.end(),
                     [](const auto& a, const auto& b) { return a.newest > b.newest; });
  }
  std::sort(mixed.begin(), mixed.end(), [](const auto& a, const auto& b) { return NaturalLess(a.problem, b.problem); });
  return mixed;
}

}  // namespace kb
