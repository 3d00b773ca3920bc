// A run of the store as logs of Inspect (https://inspect.aisi.org.uk): `.eval` files, zip archives of JSON, which
// `inspect view`, `inspect log` and read_eval_log() open.
#ifndef INTEROP_INSPECT_LOG_H_
#define INTEROP_INSPECT_LOG_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kb {

// A figure over the log's samples: "fast_1" is of the group "fast_p" and has p = 1.
struct InspectMetric {
  std::string name, group;
  std::optional<double> p;
  double value = 0;
};

// One model in one setting. A row without a verdict is a candidate at which the engine failed, `reason` says how; it
// becomes a sample with an error.
struct InspectLog {
  std::string run, model, device, device_name, protocol, size, baseline;
  std::vector<ScoreRow> rows;
  std::map<std::string, std::string> unscored;  // problems that count for no score, and why
  // Where something is missing, `metrics` are what they are if all that is missing fails, and the other ones if it
  // passes.
  std::vector<InspectMetric> metrics, if_all_pass;
};

struct WrittenInspectLogs {
  std::vector<std::filesystem::path> files;
  int64_t samples = 0, errors = 0;  // errors: those of the samples that have one
};

// Writes one file for each log into the directory, which is made if it is not there: all of them or none. A file has
// the same name each time that the same log is written, and takes the place of an earlier one. kUsage if there is no
// log, or the directory cannot be written.
Result<WrittenInspectLogs> WriteInspectLogs(const Store& store, std::span<const InspectLog> logs,
                                            const std::filesystem::path& directory);

}  // namespace kb

#endif  // INTEROP_INSPECT_LOG_H_
