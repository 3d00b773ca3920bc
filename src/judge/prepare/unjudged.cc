#include "judge/prepare/unjudged.h"

namespace kb {

Evaluation Unjudged(const Prepared& prepared) {
  const Request& request = prepared.request;
  Evaluation evaluation;
  evaluation.problem = request.problem.name;
  evaluation.problem_source = request.problem.from_client ? "client" : "file";
  evaluation.size = request.size;
  evaluation.protocol = request.protocol;
  for (const std::string& note : prepared.notes) evaluation.measured.AddNote(note);
  if (!prepared.static_findings.is_null()) evaluation.evidence["static_findings"] = prepared.static_findings;
  if (const std::string said = CompilerOutput(prepared); !said.empty()) evaluation.evidence["compiler_output"] = said;
  if (!prepared.rejection.empty()) {
    evaluation.verdict = Verdict::kStaticRejected;
    evaluation.reason = prepared.rejection;
  } else if (!prepared.failure.empty() || !prepared.refused.empty()) {
    evaluation.verdict = Verdict::kBuildFailed;
    evaluation.reason = prepared.failure.empty() ? "the compiler refused an extension" : prepared.failure;
  } else if (request.module() && CompilesWhenCalled(request.candidate)) {
    evaluation.measured.AddNote("what it compiles at its first call is not built: an evaluation does that");
  } else if (request.module() && prepared.extensions.empty()) {
    evaluation.measured.AddNote("there was nothing to build: it is Python without an extension");
  }
  return evaluation;
}

}  // namespace kb
