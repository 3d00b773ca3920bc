#include "cli/stored_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/suggest.h"
#include "judge/problem/problem_catalog.h"
#include "judge/verdict/verdict.h"

namespace kb::cli {
namespace {

using nlohmann::json;

constexpr size_t kMostNamed = 12;

std::string TextOf(const json& summary, const char* key) {
  const json& value = summary.at(key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::vector<std::string> ValuesOf(const std::vector<json>& summaries, const char* key) {
  std::set<std::string> values;
  for (const json& summary : summaries) {
    if (std::string value = TextOf(summary, key); !value.empty()) values.insert(std::move(value));
  }
  return {values.begin(), values.end()};
}

// The name of a problem as evaluations have it: one that is stored, else the one that the catalogue finds.
Result<std::string> ProblemName(const std::string& problem, const std::vector<json>& summaries) {
  const std::vector<std::string> stored = ValuesOf(summaries, "problem");
  if (problem.empty() || std::find(stored.begin(), stored.end(), problem) != stored.end()) return problem;
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const ProblemFile found, FindProblem(installation.problems, problem));
  return found.name;
}

}  // namespace

bool StoredSelection::any() const {
  return sample.has_value() || !(run + model + problem + verdict + authorship).empty();
}

void AddStoredSelection(CLI::App* command, StoredSelection* selection) {
  command->add_option("--run", selection->run, "only of this run; kernelbench runs lists them");
  command->add_option("--model", selection->model, "only of this model");
  command->add_option("--problem", selection->problem, "only this problem, such as 1/19 or relu");
  command->add_option("--sample", selection->sample, "only the sample of this number");
  command->add_option("--verdict", selection->verdict, "only this verdict");
  command->add_option("--authorship", selection->authorship,
                      "only candidates whose work was done by their own kernels (custom), by a library, or by both "
                      "(mixed)");
}

Status CheckName(const std::string& what, const std::string& name, const std::vector<std::string>& known,
                 const std::string& where) {
  if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return {};
  const std::vector<std::string> some(known.begin(),
                                      known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kMostNamed)));
  const std::string others =
      known.empty()
          ? "there is none"
          : fmt::format("there {} {}{}", known.size() == 1 ? "is" : "are", fmt::join(some, ", "),
                        known.size() > some.size() ? fmt::format(" and {} others", known.size() - some.size()) : "");
  return Fail(ErrorCode::kUsage,
              fmt::format("there is no {} \"{}\"{}{}; {}", what, name, where, DidYouMean(name, known), others));
}

Status CheckVerdict(const std::string& verdict) {
  return CheckName("verdict", verdict, {kVerdictNames.begin(), kVerdictNames.end()});
}

Result<std::vector<json>> SelectStored(const Store& store, const StoredSelection& selection) {
  KB_RETURN_IF_ERROR(CheckVerdict(selection.verdict));
  KB_RETURN_IF_ERROR(CheckName("authorship", selection.authorship, {"custom", "mixed", "library"}));
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> runs, store.Runs());
  KB_RETURN_IF_ERROR(CheckName("run", selection.run, runs, " in the store"));
  KB_ASSIGN_OR_RETURN(std::vector<json> summaries, store.List({.run = selection.run}));
  KB_RETURN_IF_ERROR(CheckName("model", selection.model, ValuesOf(summaries, "model"), " in the store"));
  KB_ASSIGN_OR_RETURN(const std::string problem, ProblemName(selection.problem, summaries));
  std::map<std::string, std::string> authorships;  // by id
  if (!selection.authorship.empty()) {
    KB_ASSIGN_OR_RETURN(const std::vector<EntryRow> rows, store.EntryRows());
    for (const EntryRow& row : rows) authorships[row.row.id] = row.authorship;
  }
  const auto fits = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  std::erase_if(summaries, [&](const json& summary) {
    return !fits(selection.model, TextOf(summary, "model")) || !fits(problem, TextOf(summary, "problem")) ||
           !fits(selection.verdict, TextOf(summary, "verdict")) ||
           (selection.sample && summary.at("sample") != *selection.sample) ||
           (!selection.authorship.empty() && authorships[TextOf(summary, "id")] != selection.authorship);
  });
  return summaries;
}

}  // namespace kb::cli
