#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "cli/selection_flags.h"
#include "cli/standard_output.h"
#include "judge/evaluate.h"

namespace kb::cli {
namespace {

using nlohmann::json;

constexpr size_t kFamilyColumns = 90;  // of a window that has room for families in a list

struct ProblemFlags {
  SelectionFlags selection;
  std::string size = DefaultSize();
  bool json = false;
};

// Measured once for each problem by scripts/problem_index.py; empty for problems from elsewhere.
json ReadIndex(const std::string& problems) {
  const auto directory = ProblemDirectory(problems);
  const auto text = directory ? ReadFile(*directory / "index.json") : std::string();
  const json index = text ? json::parse(*text, nullptr, false) : json::object();
  return index.is_object() ? index : json::object();
}

nlohmann::ordered_json MetadataJson(const SelectedProblem& problem, const json& measured) {
  const ProblemMetadata& metadata = problem.metadata;
  const auto text_or_null = [](const std::string& text) { return text.empty() ? json() : json(text); };
  return {{"name", problem.file.name},
          {"file", problem.file.path.string()},
          {"title", problem.file.title},
          {"deck", text_or_null(problem.file.deck)},
          {"level", problem.file.level > 0 ? json(problem.file.level) : json()},
          {"family", text_or_null(metadata.family)},
          {"dominated_by", measured.value("dominated_by", json())},
          {"sizes", metadata.sizes},
          {"figures", measured.value("sizes", json::object())},
          {"precisions", metadata.precisions},
          {"distributions", metadata.distributions},
          {"needs_torch_rng", metadata.needs_torch_rng},
          {"collapses", text_or_null(metadata.collapses)},
          {"scored", metadata.unscored.empty()},
          {"unscored", text_or_null(metadata.unscored)},
          {"facts_differ", metadata.facts_differ}};
}

std::string Bytes(double bytes) {
  return bytes < 1e6   ? fmt::format("{:.1f} KB", bytes / 1e3)
         : bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6)
                       : fmt::format("{:.2f} GB", bytes / 1e9);
}

int List(const ProblemFlags& flags) {
  const auto problems = SelectProblems(flags.selection);
  if (!problems) return PrintError(problems.error());
  const json index = ReadIndex(flags.selection.problems);
  const bool family = ColumnsOf(STDOUT_FILENO) >= kFamilyColumns;
  for (const SelectedProblem& problem : *problems) {
    const json measured = index.value(problem.file.name, json::object());
    if (flags.json) {
      fmt::print("{}\n", MetadataJson(problem, measured).dump());
    } else {
      fmt::print("{:<7} {}{:<13} {}{}\n", problem.file.name,
                 family ? fmt::format("{:<22} ", problem.metadata.family) : "",
                 measured.value("dominated_by", std::string()), problem.file.title,
                 problem.metadata.unscored.empty() ? "" : " [unscored]");
    }
  }
  return kAllCorrect;
}

int Info(const ProblemFlags& flags) {
  const auto problems = SelectProblems(flags.selection);
  if (!problems) return PrintError(problems.error());
  const json index = ReadIndex(flags.selection.problems);
  for (const SelectedProblem& problem : *problems) {
    const ProblemMetadata& metadata = problem.metadata;
    const json measured = index.value(problem.file.name, json::object());
    fmt::print("{}  {}\n  file           {}\n", problem.file.name, problem.file.title, problem.file.path.string());
    if (!metadata.family.empty()) {
      fmt::print("  family         {}, dominated by {}\n", metadata.family,
                 measured.value("dominated_by", std::string("?")));
    }
    fmt::print("  precisions     {}\n  distributions  {}\n", fmt::join(metadata.precisions, ", "),
               metadata.distributions.empty() ? "natural only"
                                              : fmt::format("natural, {}", fmt::join(metadata.distributions, ", ")));
    for (const std::string& size : metadata.sizes) {
      const json figures = measured.value("sizes", json::object()).value(size, json::object());
      if (figures.empty()) {
        fmt::print("  {:<14} not measured\n", size);
        continue;
      }
      fmt::print("  {:<14} inputs {}, parameters {}, outputs {}; {:.3g} GFLOP in {} operators\n", size,
                 Bytes(figures.at("input_bytes")), Bytes(figures.at("parameter_bytes")),
                 Bytes(figures.at("output_bytes")), figures.at("flops").get<double>() / 1e9,
                 figures.at("operators").get<int64_t>());
    }
    if (metadata.needs_torch_rng)
      fmt::print("  generator      draws from torch's generator; native candidates are refused\n");
    if (!metadata.collapses.empty()) fmt::print("  collapses      {}\n", metadata.collapses);
    for (const auto& [part, why] : metadata.facts_differ.items()) {
      fmt::print("  differs        {}: {}\n", part, why.is_string() ? why.get<std::string>() : why.dump());
    }
    fmt::print("  scored         {}\n", metadata.unscored.empty() ? "yes" : "no: " + metadata.unscored);
  }
  return kAllCorrect;
}

int ShowSource(const ProblemFlags& flags) {
  const auto problems = SelectProblems(flags.selection);
  if (!problems) return PrintError(problems.error());
  KeepLines();
  for (const SelectedProblem& problem : *problems) {
    const auto source = ReadFile(problem.file.path);
    if (!source) return PrintError(source.error());
    fmt::print("# {}: {}\n{}", problem.file.name, problem.file.path.string(), *source);
  }
  return kAllCorrect;
}

std::string Tensors(const std::vector<ops::Tensor>& tensors) {
  std::string text;
  for (const ops::Tensor& tensor : tensors) {
    constexpr const char* kCodes[] = {"int", "uint", "float",         "?", "bfloat",     "complex", "bool", "?",
                                      "?",   "?",    "float8_e4m3fn", "?", "float8_e5m2"};
    std::string shape;
    for (const int64_t extent : tensor.shape) shape += (shape.empty() ? "" : "x") + std::to_string(extent);
    text += fmt::format("{}{}{}[{}]", text.empty() ? "" : ", ", kCodes[tensor.dtype[0]],
                        tensor.dtype[0] >= 6 ? "" : std::to_string(tensor.dtype[1]), shape);
  }
  return text.empty() ? "none" : text;
}

json TensorsJson(const std::vector<ops::Tensor>& tensors) {
  json all = tensors;
  for (json& tensor : all) {
    if (tensor.at("name") == "") tensor.erase("name");
  }
  return all;
}

int Validate(const ProblemFlags& flags) {
  const auto problems = SelectProblems(flags.selection);
  if (!problems) return PrintError(problems.error());
  auto evaluator = Evaluator::Create({});
  if (!evaluator) return PrintError(evaluator.error());
  const auto protocol = Protocol::Load((*evaluator)->installation().protocols, "strict");
  if (!protocol) return PrintError(protocol.error());
  const auto size = ChosenSize(flags.size, "cpu", FilesOf(*problems));
  if (!size) return PrintError(size.error());
  int exit_code = kAllCorrect;
  for (const SelectedProblem& problem : *problems) {
    const auto found = (*evaluator)->DescribeProblem(problem.file, *size, *protocol);
    if (!found) {
      exit_code = std::max(exit_code, PrintError(found.error()));
      if (found.error().code == ErrorCode::kInterrupted) return exit_code;
      continue;
    }
    if (flags.json) {
      fmt::print("{}\n", json{{"name", problem.file.name},
                              {"size", *size},
                              {"inputs", TensorsJson(found->form.inputs)},
                              {"outputs", TensorsJson(found->form.outputs)},
                              {"parameters", TensorsJson(found->form.parameters)},
                              {"notes", found->notes}}
                             .dump());
    } else {
      fmt::print("{} ({}) is valid\n  inputs      {}\n  outputs     {}\n  parameters  {}\n", problem.file.name, *size,
                 Tensors(found->form.inputs), Tensors(found->form.outputs), Tensors(found->form.parameters));
      for (const std::string& note : found->notes) fmt::print("  note        {}\n", note);
    }
    std::fflush(stdout);
  }
  return exit_code;
}

}  // namespace

void AddProblems(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("problems", "list, show, validate or audit problems");
  command->require_subcommand(1);
  auto flags = std::make_shared<ProblemFlags>();
  const auto add = [&](const char* name, const char* help, int (*run)(const ProblemFlags&)) {
    CLI::App* sub = command->add_subcommand(name, help);
    AddSelectionFlags(sub, &flags->selection);
    sub->callback([flags, exit_code, run] { *exit_code = run(*flags); });
    return sub;
  };
  add("list", "every problem by name, family and what dominates its time", List)
      ->add_flag("--json", flags->json,
                 "one line of JSON for each, with all its metadata (docs/reference/problems.md)");
  add("info", "what a problem says about itself", Info);
  add("show", "the source of problems", ShowSource)->get_option("selection")->required();
  CLI::App* validate = add("validate", "run the reference and say what it takes and returns", Validate);
  AddSizeFlag(validate, &flags->size);
  validate->add_flag("--json", flags->json, "one line of JSON for each");
  AddAudit(command, exit_code);
}

void AddProtocols(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("protocols", "the rules of judgement by name");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "show every key of this one");
  command->callback([name, exit_code] {
    const auto installation = FindInstallation();
    if (!installation) return void(*exit_code = PrintError(installation.error()));
    if (!name->empty()) {
      auto protocol = Protocol::Load(installation->protocols, *name);
      if (!protocol) return void(*exit_code = PrintError(protocol.error()));
      protocol->ApplyPrecision();
      const json keys = protocol->ToJson();
      for (const Protocol::Key& key : Protocol::Keys()) {
        fmt::print("{:<22} {:<24} {}\n", key.name, keys.at(key.name).dump(), key.help);
      }
      return;
    }
    for (const std::string& each : Protocol::List(installation->protocols)) {
      const auto protocol = Protocol::Load(installation->protocols, each);
      if (!protocol) return void(*exit_code = PrintError(protocol.error()));
      fmt::print("{:<12} {}\n", each, protocol->description);
    }
  });
}

}  // namespace kb::cli
