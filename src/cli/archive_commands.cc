#include <fmt/format.h>

#include "cli/commands.h"
#include "interop/run_directory.h"
#include "report/score_formats.h"
#include "report/score_texts.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

struct ArchiveFlags {
  std::string store = DefaultStore();
  std::string run, output, directory, as;
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

int Export(const ArchiveFlags& flags) {
  const auto store = OpenFilled(flags.store);
  if (!store) return PrintError(store.error());
  if (!flags.directory.empty()) return ExportDirectory(*store, flags);
  if (flags.output.empty() && flags.run.find('/') != std::string::npos) {
    return PrintError({ErrorCode::kUsage, "the run's name is no file name: give -o FILE"});
  }
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
  CLI::Option* output = command->add_option("-o,--output", flags->output, "file to write; default RUN.kbrun");
  command->add_option("--kernelbench", flags->directory, "write KernelBench's run directory instead (docs/interop.md)")
      ->excludes(output);
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
