// Evaluator::AuditProblem(): a problem is asked the questions of python/kernelbench_torch/audit.py.
#include <fmt/format.h>

#include "base/clock.h"
#include "judge/evaluate.h"

namespace kb {

using nlohmann::json;

Result<json> Evaluator::DeviceInfo() {
  KB_RETURN_IF_ERROR(services_.Ensure(false));
  return services_.device().facts().Info();
}

Result<json> Evaluator::AuditProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol) {
  StepTimes times;
  const int64_t start = NowNs();
  KB_RETURN_IF_ERROR(services_.Ensure(false));
  KB_ASSIGN_OR_RETURN(const ops::Problem loaded, services_.LoadProblem(problem, size, protocol, &times));
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(8e3 * protocol.reference_timeout_s));
  std::vector<std::string> distributions = {"natural"}, failures;
  distributions.insert(distributions.end(), loaded.distributions.begin(), loaded.distributions.end());
  for (const std::string& name : distributions) {
    KB_ASSIGN_OR_RETURN(const auto reply, services_.device().Ask(ops::Anchor{.distribution = name,
                                                                             .rounds = protocol.anchor_rounds,
                                                                             .tolerance = protocol.ToleranceJson()},
                                                                 timeout));
    if (!reply.judgeable) {
      failures.push_back(
          fmt::format("on {} inputs the reference is further from fp64 than a tenth of its output's "
                      "standard deviation",
                      name));
    }
  }
  KB_ASSIGN_OR_RETURN(const auto report,
                      services_.device().Ask(ops::Audit{.tolerance = protocol.ToleranceJson()}, timeout));
  failures.insert(failures.end(), report.failures.begin(), report.failures.end());
  json audit = report;
  audit["failures"] = failures;
  audit["passes"] = failures.empty();
  audit["problem"] = problem.name;
  audit["sha256"] = loaded.sha256;
  audit["size"] = size;
  audit["precision"] = protocol.precision;
  audit["device"] = services_.device().facts().name;
  audit["torch"] = services_.device().facts().torch;
  audit["seconds"] = static_cast<double>(NowNs() - start) / 1e9;
  return audit;
}

}  // namespace kb
