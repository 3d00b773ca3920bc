#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/make_pages.h"
#include "cli/score_flags.h"
#include "interop/baseline_rows.h"
#include "report/score_formats.h"

namespace kb::cli {
namespace {

const std::vector<std::string> kFormats = {"terminal", "json", "csv", "markdown", "html"};

struct Flags {
  ScoreFlags common;
  std::vector<double> thresholds;
  std::vector<int64_t> ks;
  bool with_unscored = false, published = false;
};

// What others published for level 3, and what the shipped baselines say of it.
Result<Published> PublishedOfLevel3(const std::filesystem::path& directory, const ProblemTable& problems) {
  KB_ASSIGN_OR_RETURN(Published published, ReadPublished(directory / "level3.toml"));
  KB_ASSIGN_OR_RETURN(std::vector<nlohmann::json> rows, ReadAllBaselineRows(directory / "baselines"));
  std::set<std::string> unscored;
  for (const auto& [name, facts] : problems) {
    if (!facts.unscored.empty()) unscored.insert(name);
  }
  std::erase_if(rows, [](const nlohmann::json& row) {
    return !row.at("problem").get<std::string>().starts_with("3/") || row.at("size") != "standard" ||
           row.at("precision") != "fp32";
  });
  AddMeasured(rows, unscored, "measured here: kernelbench baseline list --shipped", &published);
  return published;
}

Status Score(const Flags& flags) {
  KB_ASSIGN_OR_RETURN(const std::string format, FormatOf(flags.common, kFormats));
  KB_ASSIGN_OR_RETURN(const ScoreInput input, ReadScoreInput(flags.common));
  ScoreOptions options;
  if (!flags.thresholds.empty()) options.thresholds = flags.thresholds;
  std::sort(options.thresholds.begin(), options.thresholds.end());
  options.ks = flags.ks;
  options.cap = flags.common.cap;
  options.with_unscored = flags.with_unscored;
  ScoreSheet sheet = MakeScoreSheet(input.rows, input.jobs, input.problems, options, input.spent);
  if (flags.published) {
    if (format != "terminal" && format != "json") {
      return Fail(ErrorCode::kUsage, "--published is for --format terminal and json");
    }
    KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
    KB_ASSIGN_OR_RETURN(sheet.published, PublishedOfLevel3(installation.published, input.problems));
  }
  if (format == "html") return WriteScorePage(flags.common);
  if (format == "csv") fmt::print(stderr, "{}", MixedText(sheet.mixed_texts));  // the others say it themselves
  return WriteOutput(flags.common, format == "json"       ? ScoreJson(sheet)
                                   : format == "csv"      ? ScoreCsv(sheet)
                                   : format == "markdown" ? ScoreMarkdown(sheet)
                                                          : ScoreTerminal(sheet, OutputColumns(flags.common)));
}

}  // namespace

void AddScore(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("score", "fast_p, means and failures of all models in the store");
  auto flags = std::make_shared<Flags>();
  command->add_option("run", flags->common.runs, "only these runs; none: all evaluations");
  AddScoreFlags(command, &flags->common, kFormats);
  command->add_option("--p", flags->thresholds, "thresholds of fast_p; default: 0,0.5,0.8,1,1.5,2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0.0, 1e9));
  command->add_flag("--with-unscored", flags->with_unscored,
                    "beside the score one over all problems, also those that count for none, as published for level 3");
  command->add_flag(
      "--published", flags->published,
      "below the scores what others published for level 3, and what was measured of torch.compile, with source "
      "and date");
  command
      ->add_option(
          "--k", flags->ks,
          "numbers of samples for best-of-k; each problem then counts with the best of its first max(k) samples")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  command->callback([flags, exit_code] {
    const Status done = Score(*flags);
    *exit_code = done ? int{kAllCorrect} : PrintError(done.error());
  });
}

}  // namespace kb::cli
