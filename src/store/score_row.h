// What scores need of an evaluation, without its text: a hundred thousand of them are read in a second.
#ifndef STORE_SCORE_ROW_H_
#define STORE_SCORE_ROW_H_

#include <cstdint>
#include <optional>
#include <string>

namespace kb {

struct ScoreRow {
  std::string id, created, run, model, problem, size, device, device_name, protocol, baseline, path, sha256, verdict;
  // `protocol` names its changed keys too: "quick, precision=fp16".
  std::string problem_sha256;  // the problem's text; empty for candidates that were rejected by their own
  std::string torch;           // the version; empty, like device_name, for candidates that were rejected by their text
  // Of a correct one: why no speedup of it counts, as a sentence; empty if there is no such reason.
  std::string reason;
  std::optional<int64_t> sample;
  std::optional<double> speedup, low, high, baseline_us, candidate_us;
  bool own = false;  // Store::OwnWork() names it
};

}  // namespace kb

#endif  // STORE_SCORE_ROW_H_
