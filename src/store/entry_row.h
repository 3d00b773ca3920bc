// What pages show of evaluations and runs in a line each, read without what is long.
#ifndef STORE_ENTRY_ROW_H_
#define STORE_ENTRY_ROW_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/score_row.h"

namespace kb {

struct EntryRow {
  int64_t sequence = 0;  // larger than those of evaluations that were stored before
  ScoreRow row;
  std::string backend;             // of the candidate
  std::string authorship;          // its class; empty: not known
  std::optional<double> own;       // custom / (custom + library)
  std::optional<double> fraction;  // of the speed of light
  std::vector<std::string>
      doubts;  // words of its notes that the times contradict each other (docs/reference/evaluation.md)
};

// A job that the engine failed at, unless somebody cancelled it.
struct FailedJob {
  int64_t id = 0;
  std::string run, created;  // of the run: a job has no time of its own
  std::string model, problem, size, device, protocol, path, sha256, error;
  int64_t sample = 0;
};

// A run without its evaluations.
struct RunSummary {
  std::string name, created;
  nlohmann::json settings;              // how it is generated; null: it is not
  std::vector<std::string> models;      // that were asked
  std::map<std::string, int64_t> jobs;  // by state
  struct Judging {
    std::string problem, path;
    int64_t since = 0;  // seconds since 1970; 0: it is not known
  };
  std::vector<Judging> judging;  // some of those that run
};

// Which parts of a stored evaluation are wanted beside its text.
struct EvaluationParts {
  bool samples = true, source = true, measurements = true;
};

}  // namespace kb

#endif  // STORE_ENTRY_ROW_H_
