#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "judge/evaluate.h"
#include "judge/problem/problem_catalog.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct ProblemFlags {
  std::vector<std::string> names;
  std::string size = "small";
  bool json = false;
};

int ListAll(bool as_json) {
  const auto installation = FindInstallation();
  if (!installation) return Report(installation.error());
  for (const ProblemFile& problem : ListProblems(installation->problems)) {
    if (as_json) {
      fmt::print("{}\n",
                 json{{"name", problem.name}, {"file", problem.path.string()}, {"title", problem.title}}.dump());
    } else {
      fmt::print("{:<6} {:<44} {}\n", problem.name, problem.path.filename().string(), problem.title);
    }
  }
  return kAllCorrect;
}

int ShowSource(const ProblemFlags& flags) {
  const auto installation = FindInstallation();
  if (!installation) return Report(installation.error());
  for (const std::string& name : flags.names) {
    const auto problem = FindProblem(installation->problems, name);
    if (!problem) return Report(problem.error());
    const auto source = ReadFile(problem->path);
    if (!source) return Report(source.error());
    fmt::print("# {}: {}\n{}", problem->name, problem->path.string(), *source);
  }
  return kAllCorrect;
}

std::string Tensors(const json& specs) {
  std::string text;
  for (const json& spec : specs) {
    const auto dtype = spec.at("dtype").get<std::vector<int>>();
    constexpr const char* kCodes[] = {"int", "uint", "float", "?", "bfloat", "complex", "bool"};
    std::string shape;
    for (const json& extent : spec.at("shape"))
      shape += (shape.empty() ? "" : "x") + std::to_string(extent.get<int64_t>());
    text += fmt::format("{}{}{}[{}]", text.empty() ? "" : ", ", kCodes[dtype[0]],
                        dtype[0] == 6 ? "" : std::to_string(dtype[1]), shape);
  }
  return text.empty() ? "none" : text;
}

int Validate(const ProblemFlags& flags) {
  auto evaluator = Evaluator::Create({});
  if (!evaluator) return Report(evaluator.error());
  const Installation& installation = (*evaluator)->installation();
  const auto protocol = Protocol::Load(installation.protocols, "strict");
  if (!protocol) return Report(protocol.error());
  std::vector<std::string> names = flags.names;
  if (names.empty()) {
    for (const ProblemFile& problem : ListProblems(installation.problems)) names.push_back(problem.name);
  }
  int exit_code = kAllCorrect;
  for (const std::string& name : names) {
    const auto problem = FindProblem(installation.problems, name);
    const auto found = problem ? (*evaluator)->DescribeProblem(*problem, flags.size, *protocol)
                               : Result<json>(tl::make_unexpected(problem.error()));
    if (!found) {
      exit_code = std::max(exit_code, Report(found.error()));
      if (found.error().code == ErrorCode::kInterrupted) return exit_code;
      continue;
    }
    if (flags.json) {
      fmt::print("{}\n", json{{"name", problem->name},
                              {"size", flags.size},
                              {"inputs", found->at("inputs")},
                              {"outputs", found->at("outputs")},
                              {"parameters", found->at("parameters")},
                              {"notes", found->at("notes")}}
                             .dump());
    } else {
      fmt::print("{} ({}) is valid\n  inputs      {}\n  outputs     {}\n  parameters  {}\n", problem->name, flags.size,
                 Tensors(found->at("inputs")), Tensors(found->at("outputs")), Tensors(found->at("parameters")));
      for (const json& note : found->at("notes")) fmt::print("  note        {}\n", note.get<std::string>());
    }
  }
  return exit_code;
}

}  // namespace

void AddProblems(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("problems", "list, show or validate problems");
  command->require_subcommand(1);
  auto flags = std::make_shared<ProblemFlags>();
  CLI::App* list = command->add_subcommand("list", "every problem by name");
  list->add_flag("--json", flags->json, "one line of JSON for each");
  list->callback([flags, exit_code] { *exit_code = ListAll(flags->json); });
  CLI::App* show = command->add_subcommand("show", "the source of problems");
  show->add_option("names", flags->names, "1/19, or paths")->required();
  show->callback([flags, exit_code] { *exit_code = ShowSource(*flags); });
  CLI::App* validate = command->add_subcommand("validate", "run the reference and say what it takes and returns");
  validate->add_option("names", flags->names, "1/19, or paths; none: all");
  validate->add_option("--size", flags->size, "standard, or a name from SIZES")->capture_default_str();
  validate->add_flag("--json", flags->json, "one line of JSON for each");
  validate->callback([flags, exit_code] { *exit_code = Validate(*flags); });
}

void AddProtocols(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("protocols", "the rules of judgement by name");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "show every key of this one");
  command->callback([name, exit_code] {
    const auto installation = FindInstallation();
    if (!installation) return void(*exit_code = Report(installation.error()));
    if (!name->empty()) {
      auto protocol = Protocol::Load(installation->protocols, *name);
      if (!protocol) return void(*exit_code = Report(protocol.error()));
      protocol->ApplyPrecision();
      const json keys = protocol->ToJson();
      for (const Protocol::Key& key : Protocol::Keys()) {
        fmt::print("{:<22} {:<24} {}\n", key.name, keys.at(key.name).dump(), key.help);
      }
      return;
    }
    for (const std::string& each : Protocol::List(installation->protocols)) {
      const auto protocol = Protocol::Load(installation->protocols, each);
      if (!protocol) return void(*exit_code = Report(protocol.error()));
      fmt::print("{:<12} {}\n", each, protocol->description);
    }
  });
}

}  // namespace kb::cli
