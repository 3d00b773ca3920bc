// What a run may spend. A call is admitted before it is made: as long as what is spent and the most that the calls in
// flight can still spend is below every cap. So a cap is never passed by more than the last call admitted.
#ifndef GENERATE_BUDGET_H_
#define GENERATE_BUDGET_H_

#include <cstdint>
#include <optional>
#include <string>

namespace kb {

struct BudgetCaps {
  std::optional<int64_t> tokens;  // read and written, cached ones too
  std::optional<double> usd;
  std::optional<int64_t> evaluations;
  std::optional<double> seconds;  // of this command
};

// Of one call: the most it can take before it is made, what it took afterwards.
struct CallCost {
  int64_t tokens = 0;
  double usd = 0;
};

enum class Admission {
  kGranted,
  kWait,   // what is in flight may leave room: ask again when something ended
  kEnded,  // a cap is reached
};

// Not thread-safe.
class Budget {
 public:
  // `spent`: by earlier commands of the same run. Times are NowNs().
  Budget(const BudgetCaps& caps, CallCost spent, int64_t evaluations, int64_t start_ns);

  // A call, and if `evaluation` also the evaluation of what it brings. Granted: held until Settle(), and the evaluation
  // until Evaluated().
  Admission Reserve(const CallCost& most, bool evaluation, int64_t now_ns);
  // The call is over. A cost that nobody knows counts as the most it could be.
  void Settle(const CallCost& most, std::optional<int64_t> tokens, std::optional<double> usd);
  // The evaluation of a candidate that is there already. False: its cap is reached, which ends the run if `ends`.
  bool ReserveEvaluation(bool ends = true);
  // `made`: the evaluation was made; else its place is free again.
  void Evaluated(bool made);

  const std::string& ended_by() const { return ended_by_; }  // "--max-usd 2"; empty: no cap was reached
  const CallCost& spent() const { return spent_; }
  int64_t evaluations() const { return evaluations_; }

 private:
  struct Reached {
    std::string cap;       // empty: none
    bool for_now = false;  // what is in flight may take less than it could
  };
  Reached Full(bool evaluation) const;

  const BudgetCaps caps_;
  const int64_t start_ns_;
  CallCost spent_, reserved_;
  int64_t calls_ = 0, evaluations_ = 0, evaluations_reserved_ = 0;
  std::string ended_by_;
};

}  // namespace kb

#endif  // GENERATE_BUDGET_H_
