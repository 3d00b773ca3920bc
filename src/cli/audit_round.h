// Asking models about fast candidates, for `audit`.
#ifndef CLI_AUDIT_ROUND_H_
#define CLI_AUDIT_ROUND_H_

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "generate/budget.h"
#include "model/open_model.h"
#include "model/price.h"
#include "prompt/prompt.h"
#include "store/store.h"

namespace kb::cli {

struct Auditor {
  ModelSettings settings;
  std::unique_ptr<Provider> provider;
  std::optional<Price> price;
};

// `names`: as --auditors gives them. Errors (usage): the same one twice, one that no model may be called; with a cap
// one without a price.
Result<std::vector<Auditor>> OpenAuditors(const std::vector<std::string>& names, const std::string& models_file,
                                          bool capped, const Installation& installation);

// A fast candidate and what is asked about it.
struct AuditQuestion {
  std::string evaluation_id, replay_as;
  int sample = 0;
  double speedup = 0;
  Prompt prompt;
};

// Asks auditors, each on a thread of its own, storing each answer before the next is asked for.
class AuditRound {
 public:
  // `cap`: of speedups, 0: none. Both pointers outlive it.
  AuditRound(double cap, std::optional<double> max_usd, const std::vector<AuditQuestion>* questions, Store* store);

  // One auditor about all but those that it knows.
  void Ask(const Auditor& auditor, const std::set<std::string>& known);
  Status status() const { return status_; }
  const std::string& ended_by() const { return budget_.ended_by(); }

 private:
  bool Fine();
  // False: the cap is reached.
  bool Reserve(const CallCost& most);
  Status AskOne(const Auditor& auditor, const AuditQuestion& question);

  const double cap_;
  const std::vector<AuditQuestion>& questions_;
  Store* const store_;
  std::mutex mutex_;
  Budget budget_;
  Status status_;
};

}  // namespace kb::cli

#endif  // CLI_AUDIT_ROUND_H_
