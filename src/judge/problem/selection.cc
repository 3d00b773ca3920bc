#include "judge/problem/selection.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <regex>
#include <set>

#include "base/file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

using Matches = std::function<bool(const ProblemFile&)>;

// A list of problems/selections.toml; nothing if there is none of that name.
Result<std::vector<std::string>> NamedList(const fs::path& directory, const std::string& name) {
  std::vector<std::string> problems;
  const auto text = ReadFile(directory / "selections.toml", 1 << 20);
  if (!text) return problems;  // problems of another origin have no lists
  const toml::table lists = toml::parse(*text);
  if (const toml::array* list = lists[name]["problems"].as_array()) {
    for (const auto& item : *list) problems.push_back(item.value_or(std::string()));
  }
  return problems;
}

Result<Matches> Meaning(const fs::path& directory, const std::string& term) {
  static const std::regex kLevel("(?:([a-z][a-z0-9]*):)?level([0-9]+)");
  static const std::regex kRange("(?:([a-z][a-z0-9]*):)?(?:(?:level)?([0-9]+)/)?([0-9]+)-([0-9]+)");
  std::smatch match;
  if (term == "all") return Matches([](const ProblemFile&) { return true; });
  if (term == "kernelbench" || term == "v3" || term == "modern") {
    return Matches([term](const ProblemFile& problem) { return problem.deck == term; });
  }
  const auto deck_of = [](const std::string& written) { return written.empty() ? "kernelbench" : written; };
  if (std::regex_match(term, match, kLevel)) {
    const std::string deck = deck_of(match[1].str());
    const int level = std::atoi(match[2].str().c_str());
    return Matches([=](const ProblemFile& problem) { return problem.deck == deck && problem.level == level; });
  }
  if (std::regex_match(term, match, kRange)) {
    const std::string deck = deck_of(match[1].str());
    const int level = std::atoi(match[2].str().c_str());
    const int first = std::atoi(match[3].str().c_str()), last = std::atoi(match[4].str().c_str());
    return Matches([=](const ProblemFile& problem) {
      return problem.deck == deck && problem.level == level && first <= problem.number && problem.number <= last;
    });
  }
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> list, NamedList(directory, term));
  if (!list.empty()) {
    return Matches([names = std::set(list.begin(), list.end())](const ProblemFile& problem) {
      return names.contains(problem.name);
    });
  }
  KB_ASSIGN_OR_RETURN(const ProblemFile one, FindProblem(directory, term));
  return Matches([path = one.path](const ProblemFile& problem) { return problem.path == path; });
}

// The problems of the catalogue, and files from elsewhere that a term names.
Result<std::vector<ProblemFile>> Known(const fs::path& directory, const std::vector<std::string>& terms) {
  std::vector<ProblemFile> known = ListProblems(directory);
  std::error_code ignored;
  for (const std::string& term : terms) {
    if (!fs::is_regular_file(term, ignored)) continue;
    KB_ASSIGN_OR_RETURN(ProblemFile file, FindProblem(directory, term));
    const bool listed =
        std::any_of(known.begin(), known.end(), [&](const auto& each) { return each.path == file.path; });
    if (!listed) known.push_back(std::move(file));
  }
  return known;
}

void KeepSample(std::vector<SelectedProblem>* problems, size_t count, uint64_t seed) {
  if (count >= problems->size()) return;
  // Not std::shuffle, whose result differs between standard libraries: the same seed must mean the same problems.
  std::mt19937_64 generator(seed);
  std::vector<size_t> order(problems->size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < count; ++i) std::swap(order[i], order[i + generator() % (order.size() - i)]);
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<SelectedProblem> sample;
  for (const size_t i : order) sample.push_back(std::move((*problems)[i]));
  *problems = std::move(sample);
}

}  // namespace

Result<std::vector<SelectedProblem>> Select(const fs::path& directory, const Selection& selection) {
  KB_ASSIGN_OR_RETURN(const std::vector<ProblemFile> known, Known(directory, selection.terms));
  if (known.empty()) return Fail(ErrorCode::kUsage, fmt::format("no problems in {}", directory.string()));
  std::vector<char> taken(known.size(), 0);
  const bool takes_any = std::any_of(selection.terms.begin(), selection.terms.end(),
                                     [](const std::string& term) { return !term.starts_with("not:"); });
  if (!takes_any) std::fill(taken.begin(), taken.end(), 1);
  for (const std::string& term : selection.terms) {
    const bool out = term.starts_with("not:");
    KB_ASSIGN_OR_RETURN(const Matches matches, Meaning(directory, out ? term.substr(4) : term));
    bool any = false;
    for (size_t i = 0; i < known.size(); ++i) {
      if (!matches(known[i])) continue;
      any = true;
      taken[i] = out ? 2 : std::max<char>(taken[i], 1);  // left out stays left out, wherever it is said
    }
    if (!any) return Fail(ErrorCode::kUsage, fmt::format("\"{}\" names no problem that is there", term));
  }
  std::vector<SelectedProblem> selected;
  for (size_t i = 0; i < known.size(); ++i) {
    if (taken[i] != 1) continue;
    KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(known[i].path, 16 << 20));
    SelectedProblem problem{known[i], ReadMetadata(source)};
    if (!selection.family.empty() && problem.metadata.family != selection.family) continue;
    if (selection.scored && !problem.metadata.unscored.empty()) continue;
    selected.push_back(std::move(problem));
  }
  if (selected.empty()) return Fail(ErrorCode::kUsage, "the selection is empty");
  if (selection.sample > 0) KeepSample(&selected, static_cast<size_t>(selection.sample), selection.seed);
  return selected;
}

}  // namespace kb
