// Measures a device's floors (floors.h): evaluations whose true ratio is known.
#ifndef JUDGE_CALIBRATE_H_
#define JUDGE_CALIBRATE_H_

#include <functional>
#include <string>
#include <vector>

#include "judge/evaluate.h"
#include "judge/floors.h"

namespace kb {

// One candidate that was judged several times: modules that are their reference itself, whose ratio is 1, and native
// examples, whose ratio is the median of them all.
struct Calibrated {
  std::string name;  // "1/19@small, module"
  bool module = false;
  double candidate_us = 0;  // the median
  std::vector<double> off;  // by how much each ratio was off, relative
};

// The least floor that allows for what was seen: the relative part is the largest distance of candidates of 0.5 ms and
// more, or of the longest; the rest of shorter ones gives the microseconds. At least 0.5%.
Floor FloorOf(const std::vector<Calibrated>& seen);

// Judges each candidate `times` times under `quick` and tells `say` of each. kUnavailable where other programs use the
// machine.
Result<std::vector<Calibrated>> Calibrate(Evaluator* evaluator, int times,
                                          const std::function<void(const std::string& line)>& say);

}  // namespace kb

#endif  // JUDGE_CALIBRATE_H_
