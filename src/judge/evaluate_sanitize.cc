// Evaluator::Sanitize(): a candidate under compute-sanitizer, in a run that is neither timed nor judged.

#include <fmt/format.h>

#include "judge/evaluate.h"
#include "judge/process/sanitizer_process.h"
#include "judge/sanitize/sanitizer_output.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr double kSlowdown = 20;  // of a call, at the least
constexpr size_t kMostText = 16'000;

std::string End(std::string text) {
  if (text.size() > kMostText) text.erase(0, text.size() - kMostText);
  return text;
}

// What the tool said of a run. `clean` is null where it did not come to say.
json Described(const Completed& completed) {
  const SanitizerOutput said = ReadSanitizerOutput(completed.output);
  json out = {{"clean", nullptr},
              {"errors", nullptr},
              {"findings", json::array()},
              {"reason", ""},
              {"output", End(WithoutSanitizerLines(completed.output))}};
  for (const SanitizerFinding& finding : said.findings) out["findings"].push_back(finding.ToJson());
  if (said.errors >= 0) out["errors"] = said.errors;
  if (completed.timed_out) {
    out["reason"] = "the run did not end in time; use a smaller --size";
  } else if (!said.findings.empty() || said.errors > 0) {
    out["clean"] = false;
  } else if (!said.complaint.empty()) {
    out["reason"] = said.complaint;
  } else if (said.errors < 0) {
    out["reason"] = "compute-sanitizer printed no summary: " + completed.status.Describe();
  } else if (!completed.status.ok()) {
    out["reason"] = "nothing was found, but the call did not end well: " + completed.status.Describe();
  } else {
    out["clean"] = true;
  }
  return out;
}

}  // namespace

Result<json> Evaluator::Sanitize(const Request& request, const std::string& tool) {
  if (options_.device != "cuda") {
    return Fail(ErrorCode::kUsage,
                "--sanitize checks code of an NVIDIA GPU: add --device cuda, on a machine that has one");
  }
  KB_ASSIGN_OR_RETURN(const std::filesystem::path sanitizer, FindSanitizer());
  json out = {{"schema", 1},
              {"problem", request.problem.name},
              {"size", request.size},
              {"tool", tool},
              {"candidate", request.candidate.path.string()},
              {"clean", nullptr},
              {"errors", nullptr},
              {"findings", json::array()},
              {"reason", request.candidate.rejection},
              {"output", ""}};
  if (!request.candidate.rejection.empty()) return out;
  StepTimes times;
  KB_RETURN_IF_ERROR(EnsureServices(request.candidate.kind == CandidateKind::kModule));
  KB_ASSIGN_OR_RETURN(const json problem, LoadProblem(request.problem, request.size, request.protocol, &times));
  KB_ASSIGN_OR_RETURN(const Built built, Build(request, problem));
  if (!built.ok) {
    out["reason"] = built.timed_out ? "the build did not end in time" : "the compiler refused it";
    out["output"] = End(built.log);
    return out;
  }
  SanitizedRun run{sanitizer,       tool, CandidateSpec(request, problem), built.kernel, {}, built.first_call,
                   options_.threads};
  run.spec["events"] = false;
  run.spec["source"] = request.candidate.source;
  run.spec["extensions"] = json::array();
  for (const auto& [key, name, file] : built.extensions) {
    run.spec["extensions"].push_back({key, name});
    run.extensions.push_back(file);
  }
  Say(fmt::format("{}: {}", request.candidate.path.filename().string(), tool));
  const double seconds = request.protocol.load_timeout_s + kSlowdown * request.protocol.call_timeout_s;
  KB_ASSIGN_OR_RETURN(const Completed completed,
                      RunSanitized(installation_, sandbox_, *python_, std::move(run),
                                   std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3))));
  out.update(Described(completed));
  return out;
}

}  // namespace kb
