// What judges the tasks of one device, as far as the scheduler knows it: so a test needs no engine. Each function is
// as Evaluator's, or its own; EvaluatorJudges() makes those.
#ifndef JOBS_JUDGE_H_
#define JOBS_JUDGE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/lease.h"
#include "judge/evaluate.h"

namespace kb {

class Judge {
 public:
  virtual ~Judge() = default;
  // On any thread, beside what the device does.
  virtual Result<Prepared> Prepare(const Request& request) = 0;
  virtual Status AddLacking(Prepared* prepared) = 0;
  virtual Evaluation Unjudged(const Prepared& prepared) = 0;
  // The others are called on one thread, that of the device.
  virtual Status MakeReady(const Request& request) = 0;
  // `ahead`: the requests that will probably follow, in that order.
  virtual Result<Evaluation> Evaluate(Prepared* prepared, std::span<const Request* const> ahead) = 0;
  virtual Result<Evaluation> Charge(const Request& request, const Error& error) = 0;
  // The device is another process's until `use` returns.
  virtual Status Lend(const std::function<void(const LentDevice& device)>& use) = 0;
};

// How the devices of a scheduler share this machine.
struct Shares {
  int devices = 1;                      // that judge at the same time
  std::shared_ptr<Slots> compilations;  // of all of them
  std::shared_ptr<Seating> seating;
};
using JudgeMaker = std::function<Result<std::shared_ptr<Judge>>(const std::string& device, const Shares& shares)>;

// An evaluator for each device, which is not that of the options. `counters`: a correct candidate's traced kernels are
// counted, too (Evaluator::ReadCounters()), where this machine lets them: `counters` of `authorship`.
JudgeMaker EvaluatorJudges(EvaluatorOptions options, bool counters = false);

}  // namespace kb

#endif  // JOBS_JUDGE_H_
