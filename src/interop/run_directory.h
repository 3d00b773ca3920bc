// A run of the store as KernelBench keeps one: runs/{run}/ with the candidates' files, generation_config.yaml,
// eval_results.json and pass_at_k_results.json.
#ifndef INTEROP_RUN_DIRECTORY_H_
#define INTEROP_RUN_DIRECTORY_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kb {

struct WrittenRun {
  std::vector<std::filesystem::path> directories;
  int64_t evaluations = 0, candidates = 0;
  std::vector<ScoreRow> verdicts;  // those that were written
  std::vector<std::string> notes;  // what there is no place for, and candidates without a verdict
};

// Writes to `directory`, which must be empty or not there. KernelBench's run is one model on one level: where the run
// holds more than that, or several sizes, devices, protocols or baselines, each combination gets a directory in it,
// named after what differs. kUsage if the run is not there or the directory is not empty.
Result<WrittenRun> WriteRunDirectory(const Store& store, const std::string& run,
                                     const std::filesystem::path& directory);

}  // namespace kb

#endif  // INTEROP_RUN_DIRECTORY_H_
