// What tests of the store put into it.
#ifndef STORE_STORE_TEST_UTIL_H_
#define STORE_STORE_TEST_UTIL_H_

#include <nlohmann/json.hpp>
#include <string>

#include "base/hash.h"
#include "store/job.h"

namespace kb {

// A correct evaluation of run "r", model "m", with source and samples.
inline nlohmann::json RunEvaluation(const std::string& id, int sample = 0, const std::string& run = "r") {
  const std::string source = "source " + id;
  return {{"id", id},
          {"created", "2026-01-01T10:00:0" + std::to_string(sample) + "Z"},
          {"run", run},
          {"model", "m"},
          {"sample", sample},
          {"problem", "1/19"},
          {"problem_sha256", "p"},
          {"size", "small"},
          {"device", "cpu"},
          {"device_info", {{"name", "Some CPU"}, {"cores", 8}}},
          {"protocol", "quick"},
          {"baseline", "eager"},
          {"undisturbed_baseline_us", 149.0},
          {"candidate", {{"path", "a.py"}, {"sha256", Sha256(source)}, {"source", source}}},
          {"verdict", "correct"},
          {"reason", ""},
          {"speedup", 1.5},
          {"speedup_interval", {1.4, 1.6}},
          {"samples", {{{"index", 0}, {"candidate_us", 100.0}}}},
          {"engine_us", {{"build", 1e6}}}};
}

// A job of that run.
inline Job QueuedJob(int sample, const std::string& sha256 = "s", const std::string& path = "a.py") {
  Job job;
  job.model = "m";
  job.problem = "1/19";
  job.size = "small";
  job.device = "cpu";
  job.protocol = "quick";
  job.sample = sample;
  job.path = path;
  job.sha256 = sha256;
  return job;
}

// The same, about this text of the problem; RunEvaluation() is about "p".
inline Job QueuedJobAbout(const std::string& problem_sha256, int sample = 0) {
  Job job = QueuedJob(sample);
  job.problem_sha256 = problem_sha256;
  return job;
}

}  // namespace kb

#endif  // STORE_STORE_TEST_UTIL_H_
