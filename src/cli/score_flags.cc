#include "cli/score_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/number_checks.h"
#include "cli/screen.h"
#include "store/store.h"

namespace kb::cli {

void AddScoreFlags(CLI::App* command, ScoreFlags* flags, const std::vector<std::string>& formats) {
  flags->store = DefaultStore();
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command->add_option("--model", flags->models, "only these models")->delimiter(',')->allow_extra_args(false);
  command->add_option("--level", flags->levels, "only these levels: 2, v3:level4, modern, other")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--device", flags->device,
                      "only this device: its kind, such as cuda, its name, or a card, such as h100");
  command->add_option("--protocol", flags->protocol, "only this protocol");
  command->add_option("--size", flags->size, "only this size");
  command->add_option("--cap", flags->cap, "in means a speedup above this counts as this; KernelBench's level 3: 50")
      ->check(AboveZero());
  command->add_flag(
      "--audited", flags->audited,
      "a speedup above 1 counts only if its candidate passed as many audits as the protocol wants, at least "
      "one, and failed none (kernelbench audit); the lowest audited speedup counts, and mechanical findings do not");
  command
      ->add_option("--arithmetic", flags->arithmetic,
                   "fp32: a speedup counts only if the names of its kernels tell no type below fp32")
      ->check(CLI::IsMember({"fp32"}));
  AddSelectionFlags(command, &flags->selection, "--select");
  command->add_option("--format", flags->format, "how to write it; default: as the output's extension says")
      ->check(CLI::IsMember(formats));
  command->add_flag("--json", flags->json, "the same as --format json");
  command->add_option("-o,--output", flags->output, "file to write; default: stdout");
}

Result<ScoreInput> ReadScoreInput(const ScoreFlags& flags) {
  ScoreQuery query{.runs = flags.runs,
                   .problems = {},
                   .selection = flags.selection.selection,
                   .models = flags.models,
                   .levels = flags.levels,
                   .device = flags.device,
                   .protocol = flags.protocol,
                   .size = flags.size,
                   .audited = flags.audited,
                   .arithmetic = flags.arithmetic};
  if (flags.selection.without_metr) query.selection.terms.emplace_back("not:metr-removed");
  KB_ASSIGN_OR_RETURN(query.problems, ProblemDirectory(flags.selection.problems));
  KB_ASSIGN_OR_RETURN(ProblemTable problems, ReadProblemTable(query.problems));
  std::error_code ignored;
  if (!std::filesystem::exists(flags.store, ignored)) {
    KB_RETURN_IF_ERROR(CheckRuns(flags.runs, {}, flags.store));
    return ScoreInput{.rows = {}, .jobs = {}, .problems = std::move(problems), .spent = {}};
  }
  KB_ASSIGN_OR_RETURN(const Store store, Store::Open(flags.store, {.create = false}));
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> runs, store.Runs());
  KB_RETURN_IF_ERROR(CheckRuns(flags.runs, runs, flags.store));
  return ReadScoreInput(store, query, std::move(problems));
}

Result<std::string> FormatOf(const ScoreFlags& flags, const std::vector<std::string>& formats) {
  if (flags.json) return std::string("json");
  if (!flags.format.empty()) return flags.format;
  if (flags.output.empty()) return std::string("terminal");
  static const std::map<std::string, std::string> kExtensions = {{".json", "json"},   {".csv", "csv"},
                                                                 {".md", "markdown"}, {".html", "html"},
                                                                 {".htm", "html"},    {".txt", "terminal"}};
  const auto found = kExtensions.find(std::filesystem::path(flags.output).extension().string());
  if (found != kExtensions.end() && std::find(formats.begin(), formats.end(), found->second) != formats.end())
    return found->second;
  return Fail(ErrorCode::kUsage, fmt::format("the name {} does not say which format to write: give --format, one of {}",
                                             flags.output, fmt::join(formats, ", ")));
}

size_t OutputColumns(const ScoreFlags& flags) { return flags.output.empty() ? ColumnsOf(STDOUT_FILENO) : kNoLimit; }

Status WriteOutput(const ScoreFlags& flags, const std::string& text) {
  if (!flags.output.empty()) return WriteFileAtomic(flags.output, text);
  fmt::print("{}", text);
  return {};
}

}  // namespace kb::cli
