// Evaluator::CompileToTriton(): the reference as Inductor has it (kernelbench_torch/inductor_capture.py).
#include <fmt/format.h>

#include "judge/evaluate.h"

namespace kb {
namespace {

using nlohmann::json;

Result<InductorText> Read(const std::string& answer) {
  const json told = json::parse(answer, nullptr, false);
  InductorText text;
  try {
    text.why = told.value("why", "");
    if (!text.why.empty()) return text;
    const std::pair<const char*, std::string*> fields[] = {{"entry_point", &text.entry_point},
                                                           {"python", &text.python},
                                                           {"candidate", &text.candidate},
                                                           {"original", &text.original},
                                                           {"triton", &text.triton}};
    for (const auto& [name, field] : fields) *field = told.at(name);
  } catch (const json::exception& error) {
    return Fail(ErrorCode::kEngine,
                fmt::format("the process that compiles to Triton gave no answer: {}", error.what()));
  }
  return text;
}

}  // namespace

Result<InductorText> Evaluator::CompileToTriton(const ProblemFile& problem, const std::string& size,
                                                const Protocol& protocol) {
  KB_ASSIGN_OR_RETURN(const ops::Problem loaded, DescribeProblem(problem, size, protocol));
  KB_ASSIGN_OR_RETURN(std::string source, ReadFile(problem.path, 16 << 20));
  Request request{.problem = problem, .size = size, .protocol = protocol};
  request.candidate.source = std::move(source);
  KB_ASSIGN_OR_RETURN(const BuildResult made,
                      preparer_->CompileToTriton(services_.SpecOf(request, loaded), problem.path, size));
  if (made.artifact.empty()) return InductorText{.why = "Inductor does not compile it: " + LastLine(made.log)};
  KB_ASSIGN_OR_RETURN(const std::string answer, ReadFile(made.artifact));
  return Read(answer);
}

}  // namespace kb
