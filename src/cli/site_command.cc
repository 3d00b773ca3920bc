// `site` and `report`: results as pages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/make_pages.h"
#include "cli/number_checks.h"
#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/stored_selection.h"
#include "pages/site.h"
#include "report/terminal.h"

namespace kb::cli {
namespace {

struct PageFlags {
  std::string store = DefaultStore(), output;
  PagesView view;
  bool quiet = false, doctor = false;
};

// What was not let through, as a sentence.
std::string ScopeOf(const PagesView& view) {
  std::string scope;
  const auto add = [&](const std::string& part) { scope += (scope.empty() ? "only " : ", ") + part; };
  if (!view.runs.empty()) add(fmt::format("the run{} {}", view.runs.size() > 1 ? "s" : "", fmt::join(view.runs, ", ")));
  if (!view.problem.empty()) add("the problem " + view.problem);
  if (!view.verdict.empty()) add("the verdict " + view.verdict);
  if (view.limit > 0) add(fmt::format("the newest {} entries", view.limit));
  if (!view.verdict.empty() || view.limit > 0)
    scope += "; scores and comparisons also count entries that are not shown";
  return scope.empty() ? "store" : scope;
}

void PrintLeftOut(const SiteWritten& written) {
  if (!written.left_out.empty()) fmt::print("left out: {}\n", fmt::join(written.left_out, ", "));
  if (written.not_compared > 0) {
    fmt::print("each two of the {} models with most entries are compared, {} others are not\n", kMostCompared,
               written.not_compared);
  }
}

using Write = Result<SiteWritten> (*)(Pages* pages, const std::filesystem::path& web, const std::filesystem::path& to,
                                      const SiteOptions& options);

Result<SiteWritten> WritePages(const PageFlags& flags, Write write) {
  KB_RETURN_IF_ERROR(CheckVerdict(flags.view.verdict));
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const OpenPages open, OpenPages::Open(flags.store, ScopeOf(flags.view)));
  KB_RETURN_IF_ERROR(open.CheckRuns(flags.view.runs));
  if (flags.doctor) {  // machine.json then holds what it said
    if (const auto said = open.pages->Document("doctor.json"); !said) return tl::make_unexpected(said.error());
  }
  Progress progress(flags.quiet, 0);
  SiteOptions options{.view = flags.view, .start = ""};
  options.progress = [&](size_t done, size_t all) -> Status {
    if (done % 100 == 0) progress.Say(fmt::format("{} of {} documents", done, all));
    return {};
  };
  return write(open.pages.get(), installation.web, flags.output, options);
}

int MakeSite(const PageFlags& flags) {
  const auto written = WritePages(flags, WriteSite);
  if (!written) return PrintError(written.error());
  fmt::print("{} entries in {} documents, {:.1f} MB, written to {}\n", written->entries, written->documents,
             static_cast<double>(written->bytes) / 1e6, flags.output);
  PrintLeftOut(*written);
  return kAllCorrect;
}

int MakeReport(const PageFlags& flags) {
  const auto written = WritePages(flags, WritePage);
  if (!written) return PrintError(written.error());
  fmt::print("{} evaluations written to {}; kernelbench score tells the scores\n", written->entries, flags.output);
  PrintLeftOut(*written);
  return kAllCorrect;
}

void AddPageFlags(CLI::App* command, PageFlags* flags) {
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command->add_option("--run", flags->view.runs, "only these runs")->delimiter(',')->allow_extra_args(false);
  command->add_option("--problem", flags->view.problem, "only this problem, as in 1/19");
  command->add_option("--verdict", flags->view.verdict, "only this verdict");
  command->add_option("--limit", flags->view.limit, "at most so many entries, the newest; 0: all")->check(AtLeast(0));
  command
      ->add_option("--without", flags->view.left_out,
                   "leave out what takes most room: rounds, conversations or sources")
      ->check(CLI::IsMember({"rounds", "conversations", "sources"}))
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--quiet", flags->quiet, "no progress");
}

}  // namespace

void AddSite(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("site", "results as a folder of files for any web server");
  auto flags = std::make_shared<PageFlags>();
  command->add_option("folder", flags->output, "a new or empty one, or one that this wrote: then it is replaced")
      ->required();
  AddPageFlags(command, flags.get());
  command->add_flag("--doctor", flags->doctor, "also what `kernelbench doctor` says of this machine: some seconds");
  command->callback([flags, exit_code] { *exit_code = MakeSite(*flags); });
}

void AddReport(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("report", "results as one page that needs nothing else");
  auto flags = std::make_shared<PageFlags>();
  flags->output = "report.html";
  flags->view.used_problems = true;
  AddPageFlags(command, flags.get());
  command->add_option("-o,--output", flags->output, "file to write")->capture_default_str();
  command->callback([flags, exit_code] { *exit_code = MakeReport(*flags); });
}

}  // namespace kb::cli
