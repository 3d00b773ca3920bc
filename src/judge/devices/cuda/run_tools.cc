// A candidate under NVIDIA's tools, in runs that are neither timed nor judged: Evaluator::Sanitize() and
// Evaluator::ReadCounters().

#include <fmt/format.h>

#include "judge/devices/cuda/counters.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/devices/cuda/sanitizer_output.h"
#include "judge/devices/cuda/tool_process.h"
#include "judge/evaluate.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr double kSlowdown = 20;  // of a call under a tool, at the least
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

std::chrono::milliseconds Patience(const Protocol& protocol) {
  return std::chrono::milliseconds(
      static_cast<int64_t>(1e3 * (protocol.LoadTimeout() + kSlowdown * protocol.call_timeout_s)));
}

}  // namespace

Result<std::optional<Prepared>> Evaluator::FillIn(Prepared built, ToolRun* run) {
  const Request& request = built.request;
  StepTimes times;
  if (!built.failure.empty()) return std::optional(std::move(built));
  KB_RETURN_IF_ERROR(services_.Ensure(request.module()));
  KB_ASSIGN_OR_RETURN(const ops::Problem problem,
                      services_.LoadProblem(request.problem, request.size, request.protocol, &times));
  KB_RETURN_IF_ERROR(preparer_->AddFirstCall(problem, &built));
  run->spec = services_.SpecOf(request, problem);
  run->spec.refused = built.refused;
  run->confinement = setup_.sandbox.ConfinementFor(Gigabytes(request.protocol.memory_gb));
  for (const auto& [key, name, file] : built.extensions) {
    run->spec.extensions.emplace_back(key, name);
    run->extensions.push_back(file);
  }
  run->folders = FoldersOf(services_.device().facts().build.libraries);
  run->kernel = built.kernel;
  run->first_call = built.first_call;
  run->holds = std::move(built.holds);
  return std::optional<Prepared>();
}

Result<json> Evaluator::Sanitize(const Request& request, const std::string& tool) {
  if (setup_.options.device != "cuda") {
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
  ToolRun run{.tool = sanitizer, .options = SanitizerOptions(tool)};
  Request unchecked = request;  // what its text shows is no matter here
  unchecked.protocol.CheckNoText();
  KB_RETURN_IF_ERROR(MakeReady(unchecked));
  KB_ASSIGN_OR_RETURN(Prepared built, Prepare(unchecked));
  if (!built.refused.empty()) built.failure = "the compiler refused it";
  KB_ASSIGN_OR_RETURN(const auto unbuilt, FillIn(std::move(built), &run));
  if (unbuilt) {
    out["reason"] = unbuilt->failure;
    out["output"] = End(unbuilt->log);
    return out;
  }
  setup_.Say(fmt::format("{}: {}", request.candidate.path.filename().string(), tool));
  KB_ASSIGN_OR_RETURN(const Completed completed, RunUnderTool(setup_.installation, setup_.sandbox, services_.python(),
                                                              std::move(run), Patience(request.protocol)));
  out.update(Described(completed));
  return out;
}

Result<json> Evaluator::ReadCounters(const Prepared& prepared, const json& kernels) {
  const Request& request = prepared.request;
  const auto nothing = [](const std::string& why) { return json{{"kernels", json::array()}, {"why", why}}; };
  const auto profiler = FindProfiler();
  if (!profiler) return nothing(profiler.error().message);
  if (setup_.sandbox.isolation() != Isolation::kNamespaces)
    return nothing("counters are read with --isolation namespaces");
  const std::vector<std::string> functions = FunctionsOf(kernels);
  if (functions.empty()) return nothing("no kernel of note has a name to ask for");
  ToolRun run{.tool = *profiler, .options = CounterOptions(functions), .profiled = true};
  KB_ASSIGN_OR_RETURN(const auto unbuilt, FillIn(prepared, &run));
  if (unbuilt) return nothing("it could not be built again");
  setup_.Say(fmt::format("{}: counters", request.candidate.path.filename().string()));
  KB_ASSIGN_OR_RETURN(const Completed completed, RunUnderTool(setup_.installation, setup_.sandbox, services_.python(),
                                                              std::move(run), Patience(request.protocol)));
  Counters counters = CountersIn(completed.output);
  if (counters.kernels.empty()) {
    if (completed.timed_out) return nothing("ncu did not end in time; use a smaller --size");
    if (!counters.complaint.empty()) return nothing(counters.complaint);
    return nothing(
        fmt::format("ncu told of no kernel ({}): {}", completed.status.Describe(), LastLine(completed.output)));
  }
  std::vector<std::string> names;
  for (const json& kernel : counters.kernels) names.push_back(kernel.at("name"));
  KB_ASSIGN_OR_RETURN(names, ReadableNames(setup_.installation, setup_.sandbox, std::move(names)));
  for (size_t i = 0; i < names.size(); ++i) counters.kernels[i]["name"] = names[i];
  return json{{"kernels", std::move(counters.kernels)}, {"why", ""}};
}

}  // namespace kb
