#include "cli/selection_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/subprocess.h"
#include "cli/number_checks.h"
#include "judge/problem/problem_source.h"
#include "judge/process/device_process.h"

namespace kb::cli {
namespace {

constexpr size_t kMostExportBytes = size_t{256} << 20;

Result<std::string> RowsOfParquet(const Installation& installation, const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const PythonIdentity python, FindPython(installation));
  SpawnOptions options{.argv = {python.executable, "-m", "kernelbench_torch.parquet", path.string()},
                       .environment = {"PYTHONPATH=" + installation.python.string(), "PATH=/usr/bin:/bin"}};
  KB_ASSIGN_OR_RETURN(const Completed done, RunToEnd(options, std::chrono::minutes(5), kMostExportBytes));
  if (!done.status.ok()) return Fail(ErrorCode::kUsage, done.output.substr(0, done.output.find_last_not_of('\n') + 1));
  return done.output;
}

}  // namespace

void AddProblemsFlag(CLI::App* command, std::string* problems) {
  command->add_option("--problems", *problems,
                      "problems from elsewhere: a KernelBench checkout, or its dataset as .jsonl or .parquet");
}

void AddSelectionFlags(CLI::App* command, SelectionFlags* flags, const std::string& terms) {
  CLI::Option* option =
      command->add_option(terms, flags->selection.terms,
                          "1/19, 1/20-35, level2, kernelbench, v3, v3:4/1, modern, subset, metr-removed, files; "
                          "not:... leaves out. None: all");
  if (terms.starts_with('-')) option->delimiter(',')->allow_extra_args(false);  // positionals may follow
  command->add_option("--family", flags->selection.family, "only this operator family, such as convolution");
  command->add_flag("--scored", flags->selection.scored, "only problems that may count for a score");
  command->add_flag("--without-metr", flags->without_metr, "without the problems that METR's filter removed");
  command->add_option("--sample", flags->selection.sample, "that many of them, drawn at random")->check(AtLeast(1));
  command->add_option("--seed", flags->selection.seed, "of --sample: the same seed, the same problems")
      ->capture_default_str();
  AddProblemsFlag(command, &flags->problems);
}

void AddSizeFlag(CLI::App* command, std::string* size) {
  command
      ->add_option(
          "--size", *size,
          "standard, or a name from the problem's SIZES; auto: standard on a GPU with 64 GiB, else small where "
          "every problem has it")
      ->capture_default_str();
}

std::vector<ProblemFile> FilesOf(const std::vector<SelectedProblem>& problems) {
  std::vector<ProblemFile> files;
  for (const SelectedProblem& problem : problems) files.push_back(problem.file);
  return files;
}

Result<std::filesystem::path> ProblemDirectory(const std::string& problems) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  if (problems.empty()) return installation.problems;
  return OpenProblems(problems, CacheDirectory(),
                      [&](const std::filesystem::path& path) { return RowsOfParquet(installation, path); });
}

Result<std::vector<SelectedProblem>> SelectProblems(const SelectionFlags& flags) {
  KB_ASSIGN_OR_RETURN(const std::filesystem::path directory, ProblemDirectory(flags.problems));
  Selection selection = flags.selection;
  if (flags.without_metr) selection.terms.emplace_back("not:metr-removed");
  return Select(directory, selection);
}

}  // namespace kb::cli
