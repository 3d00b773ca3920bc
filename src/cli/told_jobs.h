// What `run` and `generate` print of their jobs.
#ifndef CLI_TOLD_JOBS_H_
#define CLI_TOLD_JOBS_H_

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_progress.h"
#include "jobs/job_loop.h"

namespace kb::cli {

struct TellJobs {
  std::string run;
  bool as_json = false, quiet = false;  // a line of JSON each, or one for people, or nothing
  bool models = false;                  // of several models, which a line for people names
  RunProgress* progress = nullptr;

  void Judging(const Job& job) const { progress->Judging(job.id, NameOf(job)); }
  std::string NameOf(const Job& job) const;  // "1/19 sample 0", or "1/19 MODEL sample 0"

  // `more`: what a printed evaluation says besides.
  void operator()(const JobEnd& end, const nlohmann::json& more = nlohmann::json::object()) const;
};

// What the devices' time went into, as a member of a summary: [{"device", "judging_s", "idle_s": {...}}, ...].
nlohmann::json DeviceTimesJson(const std::vector<DeviceTime>& times);

}  // namespace kb::cli

#endif  // CLI_TOLD_JOBS_H_
