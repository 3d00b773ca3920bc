#include "judge/problem/problem_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "base/file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::vector<ProblemFile> ListProblems(const fs::path& directory) {
  std::vector<std::pair<std::pair<int, int>, ProblemFile>> found;
  std::error_code ignored;
  for (const auto& level : fs::directory_iterator(directory, ignored)) {
    const std::string name = level.path().filename();
    if (!name.starts_with("level") || !level.is_directory()) continue;
    const int number = Leading(name.substr(5));
    for (const auto& file : fs::directory_iterator(level.path(), ignored)) {
      const std::string stem = file.path().stem();
      if (file.path().extension() != ".py" || Leading(stem) == 0) continue;
      found.push_back(
          {{number, Leading(stem)}, {fmt::format("{}/{}", number, Leading(stem)), file.path(), Title(file.path())}});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ProblemFile> problems;
  for (auto& [key, problem] : found) problems.push_back(std::move(problem));
  return problems;
}

Result<ProblemFile> FindProblem(const fs::path& directory, const std::string& name) {
  std::error_code ignored;
  static const std::regex kNumbered("(?:level)?([0-9]+)[/:]([0-9]+)");
  std::smatch match;
  const std::vector<ProblemFile> problems = ListProblems(directory);
  std::string wanted = name;
  if (std::regex_match(name, match, kNumbered)) wanted = match[1].str() + "/" + match[2].str();
  for (const ProblemFile& problem : problems) {
    if (problem.name == wanted || problem.path.stem() == name || problem.path.filename() == name) return problem;
  }
  if (fs::is_regular_file(name, ignored)) {
    const fs::path path = fs::absolute(name);
    for (const ProblemFile& problem : problems) {
      if (fs::equivalent(problem.path, path, ignored)) return problem;
    }
    return ProblemFile{name, path, Title(path)};
  }
  if (fs::is_directory(name, ignored))
    return Fail(ErrorCode::kUsage, fmt::format("{} is a directory; name a problem file", name));
  return Fail(ErrorCode::kUsage,
              fmt::format("no problem \"{}\": give a number such as 1/19 (kernelbench problems list shows "
                          "them all) or the path of a problem file",
                          name));
}

}  // namespace kb
