#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/selection_flags.h"
#include "judge/devices/cuda/kernel_profile.h"
#include "judge/evaluate.h"
#include "judge/problem/problem_index.h"
#include "report/profile.h"
#include "report/terminal.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct ProfileFlags {
  std::string problem, problems, candidate, size = DefaultSize(), precision = "fp32";
  int threads = 0;
  BuildFlags builds;
  bool no_counters = false, json = false, quiet = false;
};

// Compared, since the profile of a wrong candidate is of no use, and timed in none.
Result<Request> MakeRequest(const ProfileFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(installation.protocols, "quick"));
  const std::pair<const char*, std::string> keys[] = {{"measure", "false"}, {"precision", flags.precision}};
  for (const auto& [key, value] : keys) KB_RETURN_IF_ERROR(protocol.Set(key, value));
  protocol.ApplyPrecision();
  KB_RETURN_IF_ERROR(protocol.Validate());
  KB_ASSIGN_OR_RETURN(const std::filesystem::path problems, ProblemDirectory(flags.problems));
  KB_ASSIGN_OR_RETURN(const ProblemFile problem, FindProblem(problems, flags.problem));
  KB_ASSIGN_OR_RETURN(Candidate candidate, ReadCandidate(flags.candidate, "cuda"));
  KB_ASSIGN_OR_RETURN(std::string size, ChosenSize(flags.size, "cuda", {problem}));
  return Request{problem, std::move(size), std::move(candidate), protocol};
}

// {"schema", "problem", "size", "candidate", "device_info", "verdict", "reason", "notes", "profile": null or an object}
json ProfileJson(const json& evaluation, json profile) {
  json out = {{"profile", std::move(profile)}};
  for (const char* key : {"schema", "problem", "size", "candidate", "device_info", "verdict", "reason", "notes"}) {
    out[key] = evaluation.at(key);
  }
  out["candidate"].erase("source");
  return out;
}

void Print(const json& profile, const json& evaluation) {
  if (evaluation.at("verdict") != "correct" || profile.at("profile").is_null()) {
    fmt::print("{}", Describe(evaluation, OnScreen()));
    if (evaluation.at("verdict") == "correct") fmt::print("no kernel could be traced; the notes say why\n");
  } else {
    fmt::print("{} {}, size {}, on {}\n{}", evaluation.at("problem").get<std::string>(),
               evaluation.at("candidate").at("path").get<std::string>(), evaluation.at("size").get<std::string>(),
               evaluation.at("device_info").value("name", "?"), DescribeProfile(profile.at("profile")));
  }
}

int Profile(const ProfileFlags& flags) {
  const auto request = MakeRequest(flags);
  if (!request) return PrintError(request.error());
  Progress progress(flags.quiet || flags.json, 1);
  EvaluatorOptions options;
  options.device = "cuda";
  options.threads = flags.threads;
  SetBuilds(flags.builds, &options);
  options.progress = [&](const std::string& line) { progress.Say(line); };
  const auto evaluator = Evaluator::Create(options);
  if (!evaluator) return progress.Clear(), PrintError(evaluator.error());
  if (const Status ready = (*evaluator)->MakeReady(*request); !ready) {
    return progress.Clear(), PrintError(ready.error());
  }
  auto prepared = (*evaluator)->Prepare(*request);
  if (!prepared) return progress.Clear(), PrintError(prepared.error());
  const auto evaluated = (*evaluator)->EvaluateToTheEnd(&*prepared);
  if (!evaluated) return progress.Clear(), PrintError(evaluated.error());
  const json evaluation = evaluated->ToJson();
  json kernels =
      KernelProfile(evaluation, MeasuredFigures(request->problem.path, request->problem.name, request->size));
  if (kernels.is_object() && !flags.no_counters) {
    const auto counters = (*evaluator)->ReadCounters(*prepared, kernels.at("kernels"));
    if (!counters && counters.error().code == ErrorCode::kInterrupted) {
      return progress.Clear(), PrintError(counters.error());
    }
    const json none = {{"kernels", json::array()}, {"why", counters ? "" : counters.error().message}};
    AddCounters(counters ? *counters : none, evaluation.at("device_info"), &kernels);
  }
  progress.Clear();
  const json profile = ProfileJson(evaluation, std::move(kernels));
  if (flags.json) {
    fmt::print("{}", JsonLine(profile));
  } else {
    Print(profile, evaluation);
  }
  return profile.at("profile").is_null() ? kNotAllCorrect : kAllCorrect;
}

}  // namespace

void AddProfile(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command =
      app->add_subcommand("profile", "where a candidate's time goes on an NVIDIA GPU, and what to do about it");
  command->add_option("problem", flags->problem, "a number such as 1/19, or the path of a problem file")->required();
  command->add_option("candidate", flags->candidate, "a .cu or .py file")->required();
  AddProblemsFlag(command, &flags->problems);
  AddSizeFlag(command, &flags->size);
  command->add_option("--precision", flags->precision, "fp32, fp16 or bf16")->capture_default_str();
  command->add_option("--threads", flags->threads, "cores for either side; 0: all")->check(CLI::Range(0, 1024));
  AddBuildFlags(command, &flags->builds);
  command->add_flag("--no-counters", flags->no_counters, "do not read the GPU's counters (ncu), which takes seconds");
  command->add_flag("--json", flags->json, "one line of JSON (docs/reference/gpu.md)");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->callback([flags, exit_code] { *exit_code = Profile(*flags); });
}

}  // namespace kb::cli
