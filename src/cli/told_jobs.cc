#include "cli/told_jobs.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/commands.h"
#include "report/text.h"

namespace kb::cli {

using nlohmann::json;

void TellJobs::operator()(const JobEnd& end, const json& more) const {
  if (end.elsewhere) return;
  if (end.evaluation) {
    progress->Judged(*end.evaluation);
    if (!as_json) return;
    json told = *end.evaluation;
    told.update(more);
    return progress->Print(JsonLine(told));
  }
  const Error& error = end.evaluation.error();
  if (error.code == ErrorCode::kInterrupted) return;
  progress->Failed();
  const Job& job = end.job;
  if (as_json) {
    progress->Print(JsonLine({{"schema", 1},
                              {"run", run},
                              {"model", job.model},
                              {"problem", job.problem},
                              {"sample", job.sample},
                              {"not_judged", error.message},
                              {"attempts", job.attempts + 1}}));
  } else if (!quiet) {
    progress->Print(fmt::format("{} sample {} could not be judged: {}\n", job.problem, job.sample, error.message));
  }
}

json DeviceTimesJson(const std::vector<DeviceTime>& times) {
  const auto rounded = [](double seconds) { return std::round(seconds * 1e3) / 1e3; };
  json all = json::array();
  for (const DeviceTime& time : times) {
    all.push_back(
        {{"device", time.device},
         {"judging_s", rounded(time.judging)},
         {"idle_s",
          {{"builds", rounded(time.builds)}, {"no_task", rounded(time.no_task)}, {"engine", rounded(time.engine)}}}});
  }
  return all;
}

}  // namespace kb::cli
