#include <fmt/format.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/selection_flags.h"
#include "cli/standard_output.h"
#include "judge/evaluate.h"
#include "prompt/hardware.h"
#include "prompt/prompt.h"

namespace kb::cli {
namespace {

struct PromptFlags {
  std::string problem, problems, size = DefaultSize(), backend = "native", device, precision = "fp32", custom,
                                 hardware = "none";
  int shots = 1;
  bool json = false;
};

// Starts the device process, which measures its device: that takes some seconds.
Result<nlohmann::json> MeasureDevice(const PromptFlags& flags, const Target& target) {
  EvaluatorOptions options;
  options.device = target.gpu ? (flags.device.empty() ? "cuda" : flags.device) : "cpu";
  KB_ASSIGN_OR_RETURN(const auto evaluator, Evaluator::Create(options));
  return evaluator->DeviceInfo();
}

Result<Prompt> MakePrompt(const PromptFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const PromptTemplate parts, PromptTemplate::Load(installation.prompts, flags.custom));
  KB_ASSIGN_OR_RETURN(const std::filesystem::path problems, ProblemDirectory(flags.problems));
  PromptRequest request{.precision = flags.precision, .shots = flags.shots};
  KB_ASSIGN_OR_RETURN(request.problem, FindProblem(problems, flags.problem));
  KB_ASSIGN_OR_RETURN(request.target, MakeTarget(flags.backend, flags.device));
  KB_ASSIGN_OR_RETURN(request.size, SizeToAsk(flags.size, request.target.gpu ? "cuda" : "cpu", {request.problem}));
  KB_ASSIGN_OR_RETURN(request.hardware, HardwareText(installation.prompts, flags.hardware, request.target,
                                                     [&] { return MeasureDevice(flags, request.target); }));
  return BuildPrompt(parts, request, installation);
}

int PrintPrompt(const PromptFlags& flags) {
  const auto prompt = MakePrompt(flags);
  if (!prompt) return PrintError(prompt.error());
  if (flags.json) {
    fmt::print("{}", JsonLine(nlohmann::json{{"system", prompt->system},
                                             {"user", prompt->user},
                                             {"examples", prompt->examples},
                                             {"notes", prompt->notes}}));
    return kAllCorrect;
  }
  KeepLines();
  for (const std::string& note : prompt->notes) fmt::print(stderr, "kernelbench: note: {}\n", note);
  fmt::print("----- system -----\n{}\n\n----- user -----\n{}", prompt->system, prompt->user);
  return kAllCorrect;
}

}  // namespace

void AddPrompt(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<PromptFlags>();
  CLI::App* command = app->add_subcommand("prompt", "what a model is asked for a problem");
  command->add_option("problem", flags->problem, "a number such as 1/19, or the path of a problem file")->required();
  AddProblemsFlag(command, &flags->problems);
  AddSizeFlag(command, &flags->size);
  command->add_option("--backend", flags->backend, "native, cpp, cuda, triton, tilelang, cute, thunderkittens or hip")
      ->capture_default_str();
  command->add_option("--device", flags->device, "cpu or cuda; default: what the backend runs on, for native the CPU");
  command->add_option("--shots", flags->shots, "worked examples: 0, 1 or more")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command->add_option("--precision", flags->precision, "fp32, fp16 or bf16")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  command
      ->add_option("--hardware", flags->hardware,
                   "describe the device: none, auto (measured here, in some seconds), or a GPU by name such as H100")
      ->capture_default_str();
  command->add_option("--custom", flags->custom, "a TOML file laid over the prompt (docs/reference/prompts.md)");
  command->add_flag("--json", flags->json, "one line of JSON (docs/reference/prompts.md)");
  command->callback([flags, exit_code] { *exit_code = PrintPrompt(*flags); });
}

}  // namespace kb::cli
