// Evaluator::AuditProblem(): a problem is asked the questions of python/kernelbench_torch/audit.py.
#include <fmt/format.h>

#include "base/clock.h"
#include "judge/evaluate.h"

namespace kb {

using nlohmann::json;

Result<json> Evaluator::DeviceInfo() {
  KB_RETURN_IF_ERROR(EnsureServices(false));
  return device_->info();
}

Result<json> Evaluator::AuditProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol) {
  StepTimes times;
  const int64_t start = NowNs();
  KB_RETURN_IF_ERROR(EnsureServices(false));
  KB_ASSIGN_OR_RETURN(const json loaded, LoadProblem(problem, size, protocol, &times));
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(8e3 * protocol.reference_timeout_s));
  json distributions = json::array({"natural"});
  for (const json& name : loaded.at("distributions")) distributions.push_back(name);
  json failures = json::array();
  for (const json& name : distributions) {
    KB_ASSIGN_OR_RETURN(const auto reply, device_->Ask(ops::Anchor{.distribution = name,
                                                                   .rounds = protocol.anchor_rounds,
                                                                   .tolerance = protocol.ToleranceJson()},
                                                       timeout));
    if (!reply.judgeable) {
      failures.push_back(
          fmt::format("on {} inputs the reference is further from fp64 than a tenth of its output's "
                      "standard deviation",
                      name.get<std::string>()));
    }
  }
  KB_ASSIGN_OR_RETURN(json audit, device_->Ask(ops::Audit{.tolerance = protocol.ToleranceJson()}, timeout));
  for (const json& failure : audit.at("failures")) failures.push_back(failure);
  audit["failures"] = failures;
  audit["passes"] = failures.empty();
  audit["problem"] = problem.name;
  audit["sha256"] = loaded.at("sha256");
  audit["size"] = size;
  audit["precision"] = protocol.precision;
  audit["device"] = device_->info().at("name");
  audit["torch"] = device_->info().at("torch");
  audit["seconds"] = static_cast<double>(NowNs() - start) / 1e9;
  return audit;
}

}  // namespace kb
