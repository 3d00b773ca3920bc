// What an answer may err: asked of the reference before there is a candidate.

#include "judge/trial/anchors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "base/clock.h"
#include "judge/trial/measurer.h"

namespace kb {

using nlohmann::json;

// A fixed tolerance refuses nothing where all answers are small, or hardly differ: then the result says so.
static Status TellWhoPasses(const Request& request, const ops::Problem& problem, Services* services,
                            Evaluation* evaluation) {
  const Protocol& protocol = request.protocol;
  const auto timeout = Seconds(8 * protocol.reference_timeout_s);
  const std::vector<std::string> distributions = DistributionsOf(SettingOf(services, request, problem), protocol);
  KB_ASSIGN_OR_RETURN(const auto reply, services->device().Ask(ops::Impostors{.distributions = distributions,
                                                                              .tolerance = protocol.ToleranceJson()},
                                                               timeout));
  if (reply.passing.empty()) return {};
  evaluation->measured.AddNote(
      fmt::format("weak_comparison: on this protocol's inputs and with its tolerance {} would be correct, too",
                  fmt::join(reply.passing, ", ")));
  return {};
}

Status AnchorBudgets(const Request& request, const ops::Problem& problem, Services* services, Evaluation* evaluation) {
  const Protocol& protocol = request.protocol;
  if (protocol.comparison == "allclose") return TellWhoPasses(request, problem, services, evaluation);
  if (protocol.anchor_rounds == 0) return {};
  const int64_t start = NowNs();
  std::vector<std::string> notes;
  for (const std::string& name : DistributionsOf(SettingOf(services, request, problem), protocol)) {
    const auto timeout = Seconds(4 * protocol.reference_timeout_s);
    KB_ASSIGN_OR_RETURN(const auto reply,
                        services->device().Ask(ops::Anchor{.distribution = name,
                                                           .rounds = name == "natural" ? protocol.anchor_rounds : 1,
                                                           .tolerance = protocol.ToleranceJson()},
                                               timeout));
    if (!reply.judgeable) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format(
              "{} cannot be judged in {} on {} inputs: the reference itself is further from fp64 than a tenth of "
              "its output's standard deviation",
              request.problem.name, protocol.precision, name));
    }
    notes = reply.notes;
  }
  for (const std::string& note : notes) evaluation->measured.AddNote(note);
  evaluation->engine_us["anchors"] += static_cast<double>(NowNs() - start) / 1e3;
  return {};
}

}  // namespace kb
