#include "jobs/executor.h"

namespace kb {
namespace {

class LocalExecutor : public Executor {
 public:
  explicit LocalExecutor(std::unique_ptr<Scheduler> scheduler) : scheduler_(std::move(scheduler)) {}

  void Submit(Task task) override { scheduler_->Submit(std::move(task)); }
  bool Cancel(int64_t id) override { return scheduler_->Cancel(id); }
  void Drain() override { scheduler_->Drain(); }
  void Interrupt() override { scheduler_->Interrupt(); }
  bool interrupted() const override { return scheduler_->interrupted(); }
  void Stop() override { scheduler_->Stop(); }
  std::vector<DeviceTime> Times() const override { return scheduler_->Times(); }

 private:
  const std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace

Result<std::unique_ptr<Executor>> MakeLocalExecutor(SchedulerOptions options, ExecutorCalls calls) {
  options.begin = std::move(calls.begin);
  options.judging = std::move(calls.judging);
  options.put_off = std::move(calls.put_off);
  options.span = std::move(calls.span);
  options.end = [end = std::move(calls.end)](TaskEnd task) {
    Result<nlohmann::json> evaluation = nlohmann::json();
    if (task.evaluation) {
      *evaluation = task.evaluation->ToJson();
    } else {
      evaluation = tl::make_unexpected(std::move(task.evaluation.error()));
    }
    end({task.id, task.device, std::move(evaluation)});
  };
  KB_ASSIGN_OR_RETURN(auto scheduler, Scheduler::Create(std::move(options)));
  return std::make_unique<LocalExecutor>(std::move(scheduler));
}

}  // namespace kb
