#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/score_flags.h"
#include "interop/folder_files.h"
#include "report/score_groups.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct BestFlags {
  ScoreFlags common;
  std::string directory;
};

// Correct, and the slow end of its speedup's interval is the largest.
const ScoreRow* WinnerOf(const ProblemSamples& problem) {
  const ScoreRow* winner = nullptr;
  for (const ScoreRow* row : problem.samples) {
    if (row->verdict != "correct" || !row->speedup || !row->low) continue;
    if (winner == nullptr || *row->low > *winner->low) winner = row;
  }
  return winner;
}

json LineOf(const ScoreRow& row) {
  return {{"schema", 1},
          {"problem", row.problem},
          {"id", row.id},
          {"run", row.run},
          {"model", row.model},
          {"sample", row.sample ? json(*row.sample) : json(nullptr)},
          {"verdict", row.verdict},
          {"speedup", *row.speedup},
          {"speedup_interval", {*row.low, row.high ? json(*row.high) : json(nullptr)}},
          {"baseline", row.baseline},
          {"baseline_us", row.baseline_us ? json(*row.baseline_us) : json(nullptr)},
          {"candidate_us", row.candidate_us ? json(*row.candidate_us) : json(nullptr)},
          {"device", row.device_name},
          {"protocol", row.protocol},
          {"size", row.size},
          {"torch", row.torch},
          {"source_sha256", row.sha256}};
}

// What stands above a candidate: what it is and what it achieved, in comments of its language.
std::string HeaderOf(const ScoreRow& row, const char* comment) {
  const std::vector<std::string> lines = {
      "SPDX-License-Identifier: NOASSERTION",
      fmt::format("Written by {} for problem {} (run {}, sample {}); nobody else claims a right in it.",
                  row.model.empty() ? "an unnamed author" : row.model, row.problem, row.run,
                  row.sample ? std::to_string(*row.sample) : "-"),
      fmt::format("{}, {:.3f} times as fast as {} [{:.3f}, {:.3f}], 95%", row.verdict, *row.speedup, row.baseline,
                  *row.low, row.high.value_or(*row.speedup)),
      fmt::format("on {}, protocol {}, size {}, PyTorch {}", row.device_name, row.protocol, row.size, row.torch),
      fmt::format("evaluation {}, source sha256 {}", row.id, row.sha256)};
  std::string header;
  for (const std::string& line : lines) header += fmt::format("{} {}\n", comment, OneLine(line, 300));
  return header + "\n";
}

std::string NameOf(const std::string& problem) {
  std::string name = problem.find(".py") == std::string::npos ? problem : fs::path(problem).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':'; }, '_');
  return name;
}

// The file's or folder's name.
Result<std::string> WriteCandidate(const Store& store, const ScoreRow& row, const fs::path& directory) {
  auto source = store.Source(row.sha256);
  if (!source) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: the store has no source of it: {}", row.id, source.error().message));
  }
  const std::string name = NameOf(row.problem);
  if (auto files = Unpack(*source)) {
    (*files)[kFolderEntry] = HeaderOf(row, "#") + (*files)[kFolderEntry];
    KB_RETURN_IF_ERROR(WriteFolder(directory / name, *files));
    return name;
  }
  const std::string extension = fs::path(row.path).extension().string();
  const bool native = extension == ".cu" || extension == ".cpp";
  const std::string file = name + (native ? extension : ".py");
  KB_RETURN_IF_ERROR(WriteFileAtomic(directory / file, HeaderOf(row, native ? "//" : "#") + *source));
  return file;
}

Status Best(const BestFlags& flags) {
  KB_ASSIGN_OR_RETURN(ScoreInput input, ReadScoreInput(flags.common));
  DropWaitingCards(&input);
  const std::vector<ScoreGroup> groups = GroupRows(input.rows, input.problems, GroupBy::kRun);
  if (groups.empty()) return Fail(ErrorCode::kUsage, "no evaluation is in this selection");
  if (groups.size() > 1) {
    std::string settings;
    for (const ScoreGroup& group : groups) settings += "\n  " + group.setting.label();
    return Fail(ErrorCode::kUsage,
                "the run was judged in several settings, which are not mixed; choose one with "
                "--device, --protocol or --size:" +
                    settings);
  }
  std::vector<const ScoreRow*> winners;
  for (const ProblemSamples& problem : groups.front().problems) {
    if (const ScoreRow* winner = WinnerOf(problem)) winners.push_back(winner);
  }
  if (winners.empty()) return Fail(ErrorCode::kUsage, "no candidate is correct and has a speedup");
  KB_ASSIGN_OR_RETURN(const Store store, Store::Open(flags.common.store, {.create = false}));
  KB_RETURN_IF_ERROR(MakeNewDirectory(flags.directory));
  json list = json::array();
  for (const ScoreRow* row : winners) {
    KB_ASSIGN_OR_RETURN(const std::string file, WriteCandidate(store, *row, flags.directory));
    json line = LineOf(*row);
    line["file"] = file;
    if (flags.common.json) fmt::print("{}", JsonLine(line));
    list.push_back(std::move(line));
  }
  KB_RETURN_IF_ERROR(WriteFileAtomic(fs::path(flags.directory) / "best.json", list.dump(1) + "\n"));
  if (flags.common.json) return {};
  for (const json& line : list) {
    fmt::print("{:<12} {:>7.3f}x [{:.3f}, {:.3f}]  {}  {}\n", line.at("problem").get<std::string>(),
               line.at("speedup").get<double>(), line.at("speedup_interval").at(0).get<double>(),
               line.at("speedup_interval").at(1).is_number() ? line.at("speedup_interval").at(1).get<double>() : 0.0,
               line.at("file").get<std::string>(), OneLine(line.at("model").get<std::string>(), 40));
  }
  const size_t problems = groups.front().problems.size();
  fmt::print("{} of {} problems have a winner: {}\n  {}\n", winners.size(), problems, CleanText(flags.directory),
             groups.front().setting.label());
  return {};
}

}  // namespace

void AddBest(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "best",
      "the winner of each problem of a run as a file: correct, and the slow end of its interval is the fastest");
  auto flags = std::make_shared<BestFlags>();
  flags->common.store = DefaultStore();
  flags->common.runs.resize(1);
  command->add_option("run", flags->common.runs[0], "its name")->required();
  command->add_option("-o,--output", flags->directory, "directory to write, new or empty")->required();
  command->add_option("--store", flags->common.store, "where results are kept")->capture_default_str();
  command->add_option("--model", flags->common.models, "only of these models")->delimiter(',')->allow_extra_args(false);
  command->add_option("--device", flags->common.device,
                      "only this device: its kind, such as cuda, its name, or a card, such as h100");
  command->add_option("--protocol", flags->common.protocol, "only this protocol");
  command->add_option("--size", flags->common.size, "only this size");
  command->add_flag("--audited", flags->common.audited, "only speedups that audits confirm (docs/reference/scores.md)");
  command->add_flag("--json", flags->common.json, "a line of JSON for each winner, as in DIRECTORY/best.json");
  command->callback([flags, exit_code] {
    const Status done = Best(*flags);
    *exit_code = done ? int{kAllCorrect} : PrintError(done.error());
  });
}

}  // namespace kb::cli
