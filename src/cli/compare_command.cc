#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/score_flags.h"
#include "report/score_compare.h"
#include "report/score_formats.h"
#include "report/text.h"

namespace kb::cli {
namespace {

const std::vector<std::string> kFormats = {"terminal", "json", "markdown"};

struct Flags {
  ScoreFlags common;
  std::string a, b, by = "model";
  std::vector<double> thresholds = {0, 1};
  size_t most = 20;
  bool ranges = false;
};

// Both names are there; a run is one model's, or else its samples of a problem would not be alike.
Status CheckNames(const Flags& flags, const std::vector<ScoreGroup>& groups) {
  std::set<std::string> names;
  for (const ScoreGroup& group : groups) {
    names.insert(group.name);
    if (flags.by == "run" && group.models.size() > 1 && (group.name == flags.a || group.name == flags.b)) {
      return Fail(ErrorCode::kUsage, fmt::format("the run {} holds several models: choose one with --model, one of {}",
                                                 group.name, fmt::join(group.models, ", ")));
    }
  }
  for (const std::string& name : {flags.a, flags.b}) {
    if (names.contains(name)) continue;
    names.erase("");  // what nobody's model wrote
    return Fail(ErrorCode::kUsage, fmt::format("no evaluation of the {} {} is in this selection of {}; there {}{}",
                                               flags.by, name, flags.common.store,
                                               names.empty()       ? "is none"
                                               : names.size() == 1 ? "is only "
                                                                   : "are ",
                                               fmt::join(names, ", ")));
  }
  return {};
}

// What differs is not known where a verdict or a time is missing, and to lack one must help nobody.
Status CheckComplete(const Flags& flags, const CompareSheet& sheet) {
  int64_t missing_a = 0, missing_b = 0;
  const MissingSample* first = nullptr;
  for (const SettingComparison& setting : sheet.settings) {
    missing_a += setting.range.missing_a;
    missing_b += setting.range.missing_b;
    for (const std::vector<MissingSample>* missing : {&setting.missing_a, &setting.missing_b}) {
      if (first == nullptr && !missing->empty()) first = &missing->front();
    }
  }
  if (flags.ranges || first == nullptr) return {};
  return Fail(
      ErrorCode::kUsage,
      fmt::format(
          "{} of {}'s and {} of {}'s candidates have no verdict or no time, such as {}. `kernelbench "
          "run` judges what has no verdict, with --again also what has no time; `kernelbench score` names all. Or give "
          "--ranges, for what holds if they fail and if they pass",
          missing_a, ModelLabel(flags.a), missing_b, ModelLabel(flags.b), OneLine(first->label(), 200)));
}

Status Compare(const Flags& flags) {
  KB_ASSIGN_OR_RETURN(const std::string format, FormatOf(flags.common, kFormats));
  KB_ASSIGN_OR_RETURN(ScoreInput input, ReadScoreInput(flags.common));
  DropWaitingCards(&input);
  CompareSheet sheet;
  sheet.by = flags.by == "run" ? GroupBy::kRun : GroupBy::kModel;
  sheet.a = flags.a;
  sheet.b = flags.b;
  sheet.thresholds = flags.thresholds;
  std::sort(sheet.thresholds.begin(), sheet.thresholds.end());
  sheet.cap = flags.common.cap;
  sheet.most = flags.most;
  const std::vector<ScoreGroup> groups = GroupRows(input.rows, input.problems, sheet.by);
  KB_RETURN_IF_ERROR(CheckNames(flags, groups));
  CompareGroups(groups, &sheet);
  if (sheet.settings.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} and {} have no problem in common that counts, on one device under one protocol, size "
                            "and baseline: `kernelbench score` shows what each was judged on",
                            flags.a, flags.b));
  }
  KB_RETURN_IF_ERROR(CheckComplete(flags, sheet));
  return WriteOutput(flags.common, format == "json"       ? CompareJson(sheet)
                                   : format == "markdown" ? CompareMarkdown(sheet)
                                                          : CompareTerminal(sheet, OutputColumns(flags.common)));
}

}  // namespace

void AddCompare(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("compare", "two models or runs on the problems that both attempted");
  auto flags = std::make_shared<Flags>();
  command->add_option("a", flags->a, "one model, or run")->required();
  command->add_option("b", flags->b, "the other")->required();
  command->add_option("--by", flags->by, "what the names are: model or run")
      ->check(CLI::IsMember({"model", "run"}))
      ->capture_default_str();
  command->add_option("--run", flags->common.runs, "only these runs")->delimiter(',')->allow_extra_args(false);
  AddScoreFlags(command, &flags->common, kFormats);
  command->add_option("--p", flags->thresholds, "thresholds of fast_p; default: 0,1")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0.0, 1e9));
  command->add_flag("--ranges", flags->ranges,
                    "where verdicts or times are missing, compare as if they fail and as if they pass");
  command->add_option("--most", flags->most, "how many problems that differ to list")->capture_default_str();
  command->callback([flags, exit_code] {
    const Status done = Compare(*flags);
    *exit_code = done ? int{kAllCorrect} : PrintError(done.error());
  });
}

}  // namespace kb::cli
