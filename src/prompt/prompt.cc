#include "prompt/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "judge/problem/metadata.h"
#include "judge/problem/problem_index.h"
#include "prompt/problem_text.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string WithoutEdges(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1));
}

std::string Bytes(double bytes) {
  return bytes < 1e6   ? fmt::format("{:.4g} KB", bytes / 1e3)
         : bytes < 1e9 ? fmt::format("{:.4g} MB", bytes / 1e6)
                       : fmt::format("{:.4g} GB", bytes / 1e9);
}

// One sentence from problems/index.json; empty for a problem that no index knows.
std::string FiguresText(const PromptRequest& request) {
  const json figures = MeasuredFigures(request.problem.path, request.problem.name, request.size);
  if (!figures.is_object() || !figures.contains("flops")) return "";
  const auto number = [&](const char* key) { return figures.value(key, 0.0); };
  const double parameters = number("parameter_bytes");
  return fmt::format(
      "At this size, in fp32, inputs have {}, {}outputs {}; the reference does {:.4g} GFLOP in {} operator{}.",
      Bytes(number("input_bytes")), parameters > 0 ? fmt::format("parameters {}, ", Bytes(parameters)) : "",
      Bytes(number("output_bytes")), number("flops") / 1e9, figures.value("operators", int64_t{0}),
      figures.value("operators", int64_t{0}) == 1 ? "" : "s");
}

Status CheckProblem(const PromptRequest& request, const ProblemMetadata& metadata) {
  const auto& precisions = metadata.precisions;
  if (std::find(precisions.begin(), precisions.end(), request.precision) == precisions.end()) {
    return Fail(ErrorCode::kUsage, fmt::format("problem {} makes sense in {}, not in {}", request.problem.name,
                                               fmt::join(precisions, ", "), request.precision));
  }
  if (metadata.needs_torch_rng && request.target.backend == Backend::kNative) {
    return Fail(ErrorCode::kUsage, fmt::format("problem {} draws from PyTorch's generator, so native candidates are "
                                               "refused; ask for another backend with --backend",
                                               request.problem.name));
  }
  return {};
}

// The same task: the problem itself, under another name or in another deck.
bool SameTask(const PromptRequest& request, const std::string& source, const ProblemFile& example,
              const std::string& example_source) {
  return example.name == request.problem.name || source == example_source ||
         TaskName(example.path) == TaskName(request.problem.path);
}

class PromptBuilder {
 public:
  PromptBuilder(const PromptTemplate& parts, const PromptRequest& request, const Installation& installation)
      : parts_(parts), request_(request), installation_(installation) {}

  Result<Prompt> Build() {
    KB_ASSIGN_OR_RETURN(source_, ReadFile(request_.problem.path));
    KB_RETURN_IF_ERROR(CheckProblem(request_, ReadMetadata(source_)));
    KB_ASSIGN_OR_RETURN(const ProblemText problem, ShowProblem(source_, request_.problem.name, request_.size));
    KB_ASSIGN_OR_RETURN(std::string header, ReadFile(installation_.include / "kernelbench" / "kernel.h"));
    values_ = {
        {"problem", request_.problem.name},
        {"problem_title", request_.problem.title},
        {"problem_source", WithoutEdges(problem.source)},
        {"size", request_.size},
        {"size_note", problem.sizes.empty() ? "" : " " + problem.sizes},
        {"figures", FiguresText(request_)},
        {"backend", std::string(Name(request_.target.backend))},
        {"backend_title", std::string(Title(request_.target))},
        {"device", request_.target.gpu ? "a GPU" : "the CPU"},
        {"entry_point", std::string(EntryPoint(request_.target))},
        {"precision", request_.precision},
        {"hardware", WithoutEdges(request_.hardware)},
        {"header", WithoutEdges(header)},
    };
    KB_RETURN_IF_ERROR(AddNested("contract", "contracts", parts_.contracts, TargetName(request_.target)));
    const std::string extension(FileExtension(request_.target).substr(1));
    KB_RETURN_IF_ERROR(AddNested("answer_format", "answers", parts_.answers, extension));
    KB_RETURN_IF_ERROR(AddNested("precision_note", "precisions", parts_.precisions, request_.precision));
    KB_ASSIGN_OR_RETURN(values_["examples"], Examples());
    if (request_.target.backend == Backend::kHip) {
      prompt_.notes.emplace_back("candidates for hip cannot be judged here yet: they need an AMD GPU");
    }
    KB_ASSIGN_OR_RETURN(const FilledText system, FillIn(parts_.system, values_, "system"));
    prompt_.system = WithoutEdges(system.text);
    for (const std::string& name : parts_.order) {
      KB_ASSIGN_OR_RETURN(const FilledText part, FillIn(parts_.parts.at(name), values_, "parts." + name));
      const bool empty = part.placeholders > 0 && part.placeholders == part.empty;
      if (const std::string text = WithoutEdges(part.text); !empty && !text.empty()) {
        prompt_.user += (prompt_.user.empty() ? "" : "\n\n") + text;
      }
    }
    prompt_.user += '\n';
    return std::move(prompt_);
  }

 private:
  // A text of the template that is a placeholder in others.
  Status AddNested(const std::string& placeholder, const std::string& table,
                   const std::map<std::string, std::string>& texts, const std::string& entry) {
    const auto text = texts.find(entry);
    if (text == texts.end()) return Fail(ErrorCode::kUsage, fmt::format("the prompt has no {}.{}", table, entry));
    KB_ASSIGN_OR_RETURN(const FilledText filled, FillIn(text->second, values_, table + "." + entry));
    values_[placeholder] = WithoutEdges(filled.text);
    return {};
  }

  Result<std::string> Examples() {
    std::string text;
    const std::string wanted = TargetName(request_.target);
    for (const PromptExample& example : parts_.examples) {
      if (example.target != wanted || static_cast<int>(prompt_.examples.size()) >= request_.shots) continue;
      KB_ASSIGN_OR_RETURN(const std::string shown, Example(example));
      if (!shown.empty()) text += (text.empty() ? "" : "\n\n") + shown;
    }
    const auto found = static_cast<int>(prompt_.examples.size());
    if (found < request_.shots) {
      // The same words for every problem, so that whoever asks for many can say it once.
      prompt_.notes.push_back(fmt::format("{} example{} for {} where {} {} asked for (never one for the same problem)",
                                          found, found == 1 ? "" : "s", wanted, request_.shots,
                                          request_.shots == 1 ? "was" : "were"));
    }
    return text;
  }

  // Empty if the example gives the problem's own answer away.
  Result<std::string> Example(const PromptExample& example) {
    KB_ASSIGN_OR_RETURN(const ProblemFile problem, FindProblem(installation_.problems, example.problem));
    KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.path));
    if (SameTask(request_, source_, problem, source)) return "";
    KB_ASSIGN_OR_RETURN(const ProblemText shown, ShowProblem(source, example.problem, example.size));
    const fs::path file = installation_.examples / example.candidate;
    KB_ASSIGN_OR_RETURN(const std::string candidate, ReadFile(file));
    const std::string extension = file.extension().string();
    prompt_.examples.push_back(example.candidate);
    const Placeholders values = {
        {"example_number", std::to_string(prompt_.examples.size())},
        {"example_problem", WithoutEdges(shown.source)},
        {"example_candidate", WithoutEdges(candidate)},
        {"example_size", example.size},
        {"example_language", extension == ".py"   ? "python"
                             : extension == ".cu" ? "cuda"
                                                  : "cpp"},
    };
    KB_ASSIGN_OR_RETURN(const FilledText text, FillIn(parts_.example, values, "example"));
    return WithoutEdges(text.text);
  }

  const PromptTemplate& parts_;
  const PromptRequest& request_;
  const Installation& installation_;
  std::string source_;  // of the problem, as it is
  Placeholders values_;
  Prompt prompt_;
};

}  // namespace

std::string TargetName(const Target& target) {
  if (target.backend != Backend::kNative) return std::string(Name(target.backend));
  return target.gpu ? "native-cuda" : "native-cpu";
}

Result<Prompt> BuildPrompt(const PromptTemplate& parts, const PromptRequest& request,
                           const Installation& installation) {
  return PromptBuilder(parts, request, installation).Build();
}

}  // namespace kb
