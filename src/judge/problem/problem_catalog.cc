#include "judge/problem/problem_catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <tuple>

#include "base/client_problem.h"
#include "base/file.h"
#include "base/suggest.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFirstDeck = "kernelbench";
constexpr const char* kOtherDecks[] = {"v3", "modern"};

std::string Title(const fs::path& path) {
  const auto source = ReadFile(path, 1 << 20);
  if (!source) return path.stem();
  const size_t open = source->find("\"\"\"");
  if (open == std::string::npos || open > 200) return path.stem();
  const size_t start = source->find_first_not_of(" \n", open + 3);
  if (start == std::string::npos) return path.stem();
  std::string line = source->substr(start, source->find_first_of("\n\"", start) - start);
  while (line.ends_with('.') || line.ends_with(' ')) line.pop_back();
  return line;
}

int Leading(const std::string& text) { return std::atoi(text.c_str()); }

std::string NameOf(const ProblemFile& problem) {
  const std::string number =
      problem.level > 0 ? fmt::format("{}/{}", problem.level, problem.number) : std::to_string(problem.number);
  return problem.deck == kFirstDeck ? number : fmt::format("{}:{}", problem.deck, number);
}

void AddFiles(const fs::path& directory, const std::string& deck, int level, std::vector<ProblemFile>* problems) {
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(directory, ignored)) {
    const int number = Leading(file.path().stem());
    if (file.path().extension() != ".py" || number == 0) continue;
    ProblemFile problem{"", file.path(), Title(file.path()), deck, level, number};
    problem.name = NameOf(problem);
    problems->push_back(std::move(problem));
  }
}

void AddDeck(const fs::path& directory, const std::string& deck, std::vector<ProblemFile>* problems) {
  std::error_code ignored;
  for (const auto& level : fs::directory_iterator(directory, ignored)) {
    const std::string name = level.path().filename();
    const int number = name.starts_with("level") ? Leading(name.substr(5)) : 0;
    if (number > 0 && level.is_directory(ignored)) AddFiles(level.path(), deck, number, problems);
  }
  if (deck != kFirstDeck) AddFiles(directory, deck, 0, problems);
}

}  // namespace

std::vector<ProblemFile> ListProblems(const fs::path& directory) {
  std::vector<ProblemFile> problems;
  AddDeck(directory, kFirstDeck, &problems);
  for (const char* deck : kOtherDecks) AddDeck(directory / deck, deck, &problems);
  const auto rank = [](const ProblemFile& problem) {
    const auto deck = std::find(std::begin(kOtherDecks), std::end(kOtherDecks), problem.deck);
    return deck == std::end(kOtherDecks) ? 0 : 1 + std::distance(std::begin(kOtherDecks), deck);
  };
  std::sort(problems.begin(), problems.end(), [&](const ProblemFile& a, const ProblemFile& b) {
    return std::tuple(rank(a), a.level, a.number, a.path) < std::tuple(rank(b), b.level, b.number, b.path);
  });
  return problems;
}

namespace {

// By the name of its file, with its number or without, however it is written.
Result<ProblemFile> FindByTitle(const std::vector<ProblemFile>& problems, const std::string& name) {
  std::vector<ProblemFile> alike;
  std::vector<std::string> stems;
  const std::string wanted = Folded(name);
  for (const ProblemFile& problem : problems) {
    const std::string stem = problem.path.stem();
    stems.push_back(stem);
    const size_t title = stem.find_first_not_of("0123456789_");
    if (!wanted.empty() && (Folded(stem) == wanted || Folded(stem.substr(std::min(title, stem.size()))) == wanted))
      alike.push_back(problem);
  }
  if (alike.size() == 1) return alike.front();
  std::vector<std::string> numbered;
  for (const ProblemFile& problem : alike)
    numbered.push_back(fmt::format("{} ({})", problem.name, problem.path.stem().string()));
  if (!alike.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("\"{}\" may be {}: give the number", name, fmt::join(numbered, ", ")));
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("no problem \"{}\"{}: give a number such as 1/19 (kernelbench problems list shows "
                          "them all) or the path of a problem file",
                          name, DidYouMean(name, stems)));
}

}  // namespace

Result<ProblemFile> FindProblem(const fs::path& directory, const std::string& name) {
  std::error_code ignored;
  static const std::regex kNumbered("([a-z][a-z0-9]*:)?(?:level)?([0-9]+)[/:-]([0-9]+)");
  std::smatch match;
  const std::vector<ProblemFile> problems = ListProblems(directory);
  std::string wanted = name;
  if (std::regex_match(name, match, kNumbered)) wanted = match[1].str() + match[2].str() + "/" + match[3].str();
  for (const ProblemFile& problem : problems) {
    if (problem.name == wanted || problem.path.stem() == name || problem.path.filename() == name) return problem;
  }
  if (fs::is_regular_file(name, ignored)) {
    const fs::path path = fs::absolute(name);
    for (const ProblemFile& problem : problems) {
      if (fs::equivalent(problem.path, path, ignored)) return problem;
    }
    return ProblemFile{name, path, Title(path), "", 0, 0};
  }
  if (fs::is_directory(name, ignored))
    return Fail(ErrorCode::kUsage, fmt::format("{} is a directory; name a problem file", name));
  return FindByTitle(problems, name);
}

Result<std::string> TextOf(const ProblemFile& problem) {
  if (problem.from_client) return problem.text;
  return ReadFile(problem.path, 16 << 20);
}

ProblemFile ClientsProblem(const std::string& sha256, std::string text) {
  ProblemFile problem;
  problem.name = fmt::format("{}{}", kClientsProblem, sha256);
  problem.path = fmt::format("problem-{}.py", sha256.substr(0, 12));
  problem.title = problem.path;
  problem.from_client = true;
  problem.text = std::move(text);
  return problem;
}

bool IsClientsProblem(const std::string& name) { return name.starts_with(kClientsProblem); }

}  // namespace kb
