#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/card.h"
#include "cli/commands.h"
#include "cli/score_flags.h"
#include "interop/atif.h"
#include "interop/inspect_log.h"
#include "interop/run_directory.h"
#include "report/score_formats.h"
#include "report/score_groups.h"
#include "report/score_texts.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

struct ArchiveFlags {
  std::string store = DefaultStore();
  std::string run, output, directory, inspect, as;
  bool atif = false;
  std::vector<std::string> files;
};

Result<Store> OpenFilled(const std::string& path) {
  if (std::filesystem::exists(path)) return Store::Open(path, {.create = false});
  return Fail(ErrorCode::kUsage, "the store " + path + " does not exist yet; kernelbench run and eval fill it");
}

int ExportDirectory(const Store& store, const ArchiveFlags& flags) {
  const auto written = WriteRunDirectory(store, flags.run, flags.directory);
  if (!written) return PrintError(written.error());
  for (const std::string& note : written->notes) fmt::print(stderr, "kernelbench: {}\n", CleanText(note));
  std::vector<const ScoreRow*> verdicts;
  for (const ScoreRow& row : written->verdicts) verdicts.push_back(&row);
  fmt::print(stderr, "{}", MixedText(MixedProblems(verdicts)));
  fmt::print("{} candidates and {} results written to", written->candidates, written->evaluations);
  for (const auto& directory : written->directories) fmt::print(" {}", CleanText(directory.string()));
  fmt::print("\n");
  return kAllCorrect;
}

// A log shows all samples, so that a problem counts with the share of its samples that pass: those of k = 1.
std::vector<InspectMetric> MetricsOf(const std::vector<AtK>& at_k, const std::vector<double>& thresholds) {
  std::vector<InspectMetric> metrics;
  if (at_k.empty() || at_k.front().k != 1) return metrics;
  for (size_t i = 0; i < thresholds.size(); ++i) {
    const double share = at_k.front().fast[i].value;
    if (thresholds[i] == 0) metrics.push_back({"correct", "", {}, share});
    metrics.push_back({ThresholdName(thresholds[i]), "fast_p", thresholds[i], share});
  }
  return metrics;
}

// One log for each model and setting, without the candidates that are still to be judged, which are counted.
std::vector<InspectLog> MakeInspectLogs(const std::string& run, const ScoreInput& input, int64_t* unfinished) {
  using Key = std::tuple<std::string, std::string, int64_t, std::string>;
  std::multimap<Key, std::string> failed;  // to their jobs' devices
  for (const auto& [of, job, why] : input.jobs) {
    if (job.state == "failed") failed.emplace(Key(job.model, job.problem, job.sample, job.size), job.device);
  }
  const auto waits = [&](const ScoreRow& row) {
    const auto [first, last] = failed.equal_range({row.model, row.problem, row.sample.value_or(0), row.size});
    return row.verdict.empty() && std::none_of(first, last, [&](const auto& each) {
             return each.second == row.device || MayBeOn(each.second, row.device, row.device_name);
           });
  };
  const ScoreSheet sheet = MakeScoreSheet(input.rows, input.jobs, input.problems, {});
  const std::vector<ScoreGroup> groups = GroupRows(input.rows, input.problems, GroupBy::kModel);  // in the same order
  std::vector<InspectLog> logs;
  for (size_t i = 0; i < groups.size(); ++i) {
    const Setting& in = groups[i].setting;
    InspectLog log{run, groups[i].name, in.device, in.device_name, in.protocol, in.size, in.baseline, {}, {}, {}, {}};
    for (const ProblemSamples& problem : groups[i].problems) {
      if (!problem.facts.unscored.empty()) log.unscored[problem.problem] = problem.facts.unscored;
      for (const ScoreRow* row : problem.samples) {
        if (waits(*row)) {
          ++*unfinished;
        } else {
          log.rows.push_back(*row);
        }
      }
    }
    log.metrics = MetricsOf(sheet.models[i].at_k, sheet.options.thresholds);
    log.if_all_pass = MetricsOf(sheet.models[i].at_k_if_all_pass, sheet.options.thresholds);
    if (!log.rows.empty()) logs.push_back(std::move(log));
  }
  return logs;
}

int ExportInspect(const Store& store, const ArchiveFlags& flags) {
  ScoreFlags scored;
  scored.store = flags.store;
  scored.runs = {flags.run};
  const auto input = ReadScoreInput(scored);
  if (!input) return PrintError({input.error().code, CleanText(input.error().message)});
  int64_t unfinished = 0;
  const auto written = WriteInspectLogs(store, MakeInspectLogs(flags.run, *input, &unfinished), flags.inspect);
  if (!written) return PrintError({written.error().code, CleanText(written.error().message)});
  if (unfinished > 0) {
    fmt::print(stderr, "kernelbench: {} candidates are left out, for they have no verdict yet\n", unfinished);
  }
  std::vector<const ScoreRow*> verdicts;
  for (const ScoreRow& row : input->rows) verdicts.push_back(&row);
  fmt::print(stderr, "{}", MixedText(MixedProblems(verdicts)));
  fmt::print("{} samples, {} of them errors of the engine, written to", written->samples, written->errors);
  for (const auto& file : written->files) fmt::print(" {}", CleanText(file.string()));
  fmt::print("\n");
  return kAllCorrect;
}

int ExportAtif(const Store& store, const ArchiveFlags& flags) {
  const auto written =
      WriteAtif(store, flags.run, flags.output.empty() ? flags.run + ".atif" : flags.output, KB_VERSION);
  if (!written) return PrintError({written.error().code, CleanText(written.error().message)});
  fmt::print("{} episode{} with {} steps written to", written->files.size(), written->files.size() == 1 ? "" : "s",
             written->steps);
  for (const auto& file : written->files) fmt::print(" {}", CleanText(file.string()));
  fmt::print("\n");
  return kAllCorrect;
}

int Export(const ArchiveFlags& flags) {
  const auto store = OpenFilled(flags.store);
  if (!store) return PrintError(store.error());
  if (!flags.directory.empty()) return ExportDirectory(*store, flags);
  if (!flags.inspect.empty()) return ExportInspect(*store, flags);
  if (flags.output.empty() && flags.run.find('/') != std::string::npos) {
    return PrintError({ErrorCode::kUsage, "the run's name is no file name: give -o FILE"});
  }
  if (flags.atif) return ExportAtif(*store, flags);
  const std::string output = flags.output.empty() ? flags.run + ".kbrun" : flags.output;
  const auto exported = store->ExportRun(flags.run, output);
  if (!exported) return PrintError(exported.error());
  if (exported->jobs_without_source > 0) {
    fmt::print(stderr, "kernelbench: {} jobs without a verdict go without their source: its file is gone or changed\n",
               exported->jobs_without_source);
  }
  fmt::print("{} evaluations and {} jobs written to {}\n", exported->evaluations, exported->jobs, CleanText(output));
  return kAllCorrect;
}

int Import(const ArchiveFlags& flags) {
  for (const std::string& file : flags.files) {
    if (!std::filesystem::is_directory(file)) continue;
    return PrintError({ErrorCode::kUsage, CleanText(file) +
                                              " is a directory; import takes what export wrote (.kbrun), and "
                                              "kernelbench run a directory of candidates"});
  }
  auto store = Store::Open(flags.store);
  if (!store) return PrintError(store.error());
  for (const std::string& file : flags.files) {
    const auto imported = store->ImportRun(file, flags.as);
    if (!imported) return PrintError({imported.error().code, CleanText(imported.error().message)});
    fmt::print("{}: run {}, {} evaluations ({} were here already), {} jobs ({} were here already)\n", CleanText(file),
               CleanText(imported->run), imported->evaluations, imported->known_evaluations, imported->jobs,
               imported->known_jobs);
    for (const auto& [run, evaluations] : imported->elsewhere) {
      fmt::print("  {} more evaluations are here already, in {}, and stay there\n", evaluations,
                 run.empty() ? "no run" : "the run " + CleanText(run));
    }
    if (imported->jobs_elsewhere > 0) {
      fmt::print("  {} jobs were not imported, since their evaluations are in another run\n", imported->jobs_elsewhere);
    }
    std::fflush(stdout);
  }
  return kAllCorrect;
}

}  // namespace

void AddExport(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("export", "a run as one file for another machine, or as KernelBench has it");
  auto flags = std::make_shared<ArchiveFlags>();
  command->add_option("run", flags->run, "its name")->required();
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  CLI::Option* output = command->add_option("-o,--output", flags->output,
                                            "file to write; default RUN.kbrun, with --atif the directory RUN.atif");
  CLI::Option* directory = command
                               ->add_option("--kernelbench", flags->directory,
                                            "write KernelBench's run directory instead (docs/reference/interop.md)")
                               ->excludes(output);
  CLI::Option* inspect =
      command
          ->add_option("--inspect", flags->inspect,
                       "write logs of Inspect (.eval) into this directory instead (docs/guide/inspect.md)")
          ->excludes(output)
          ->excludes(directory);
  command
      ->add_flag(
          "--atif", flags->atif,
          "write agents' transcripts as ATIF instead: a file for each episode into the directory -o, or the only "
          "one into the file -o (docs/reference/transcripts.md)")
      ->excludes(directory)
      ->excludes(inspect);
  command->callback([flags, exit_code] { *exit_code = Export(*flags); });
}

void AddImport(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("import", "merges what export wrote into the store");
  auto flags = std::make_shared<ArchiveFlags>();
  command->add_option("files", flags->files, "archives (.kbrun)")->required();
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command->add_option("--as", flags->as, "file them under this run name instead of their own");
  command->callback([flags, exit_code] { *exit_code = Import(*flags); });
}

}  // namespace kb::cli
