#include <algorithm>

#include "base/cores.h"
#include "jobs/judge.h"
#include "judge/prepare/unjudged.h"

namespace kb {
namespace {

class EvaluatorJudge : public Judge {
 public:
  EvaluatorJudge(std::string device, std::unique_ptr<Evaluator> evaluator, bool counters)
      : device_(std::move(device)), evaluator_(std::move(evaluator)), counters_(counters) {}

  Result<Prepared> Prepare(const Request& request) override { return evaluator_->Prepare(request); }
  Status AddLacking(Prepared* prepared) override { return evaluator_->AddLacking(prepared); }

  Evaluation Unjudged(const Prepared& prepared) override { return kb::Unjudged(prepared); }

  Status MakeReady(const Request& request) override { return evaluator_->MakeReady(request); }

  Result<Evaluation> Evaluate(Prepared* prepared, std::span<const Request* const> ahead) override {
    std::vector<RunnerNeeds> needs;
    std::string reference = ReferenceOf(prepared->request);
    for (const Request* later : ahead) {
      if (later->problem.from_client) continue;  // it has runners of its own
      needs.push_back(NeedsOf(*later));
      const std::string next = ReferenceOf(*later);
      if (!next.empty() && next != reference) needs.push_back(ReferenceNeeds());
      reference = next;
    }
    needs.resize(std::min(needs.size(), KindOfDevice(device_)->runners_ahead));
    auto evaluation = evaluator_->Evaluate(prepared, needs);
    if (counters_ && evaluation && evaluation->verdict == Verdict::kCorrect) ReadCounters(*prepared, &*evaluation);
    return evaluation;
  }

  Result<Evaluation> Charge(const Request& request, const Error& error) override {
    return evaluator_->Charge(request, error);
  }

  Status Lend(const std::function<void(const LentDevice&)>& use) override {
    return evaluator_->Lend([&](const MemoryGauge& memory) {
      use({.name = device_, .cores = evaluator_->setup().device.seat.cores, .memory = memory});
    });
  }

 private:
  // Where they cannot be read there are none, and no later candidate waits for them.
  void ReadCounters(const Prepared& prepared, Evaluation* evaluation) {
    nlohmann::json& authorship = evaluation->measured.authorship;
    const bool traced = authorship.is_object() && authorship.contains("kernels") && authorship["kernels"].is_array();
    if (!traced || authorship["kernels"].empty()) return;
    const auto counted = evaluator_->ReadCounters(prepared, authorship["kernels"]);
    counters_ = counted && !counted->at("kernels").empty();
    if (counters_) authorship["counters"] = counted->at("kernels");
  }

  const std::string device_;
  const std::unique_ptr<Evaluator> evaluator_;
  bool counters_;
};

}  // namespace

JudgeMaker EvaluatorJudges(EvaluatorOptions options, bool counters) {
  return [options = std::move(options), counters](const std::string& device,
                                                  const Shares& shares) -> Result<std::shared_ptr<Judge>> {
    EvaluatorOptions own = options;
    own.device = device;
    own.compilations = shares.compilations;
    own.seating = shares.seating;
    KB_ASSIGN_OR_RETURN(std::unique_ptr<Evaluator> evaluator, Evaluator::Create(own));
    return std::make_shared<EvaluatorJudge>(device, std::move(evaluator), counters);
  };
}

}  // namespace kb
