#include "cli/told_jobs.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/commands.h"
#include "cli/screen.h"
#include "report/terminal.h"
#include "report/text.h"

namespace kb::cli {

using nlohmann::json;

std::string TellJobs::NameOf(const Job& job) const {
  const std::string model = models ? OneLine(job.model, 24) + " " : "";
  return fmt::format("{} {}sample {}", job.problem, model, job.sample);
}

void TellJobs::operator()(const JobEnd& end, const json& more) const {
  progress->Ended(end.job.id);
  if (end.elsewhere) return;
  if (end.evaluation) {
    progress->Judged(*end.evaluation);
    if (quiet && !as_json) return;
    if (!as_json) return progress->Print(ResultLine(*end.evaluation, NameOf(end.job), OnScreen()));
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
    progress->Print(fmt::format("{:<15}  {}  {}\n", "not judged", NameOf(job), OneLine(error.message, kNoLimit)));
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
