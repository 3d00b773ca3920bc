#include "cli/baseline_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cores.h"
#include "base/interrupt.h"
#include "jobs/prepare_pool.h"

namespace kb::cli {

CompilesAhead::CompilesAhead(Evaluator* evaluator, std::vector<const BaselineTask*> tasks, int jobs)
    : evaluator_(evaluator),
      tasks_(std::move(tasks)),
      jobs_(static_cast<size_t>(jobs > 0 ? jobs : std::max(1, CoreCount() / 2))) {
  std::erase_if(tasks_, [](const BaselineTask* task) {
    const std::string& kind = task->protocol.baseline;
    return !task->protocol.CompilesBaseline() || kind == "compile-max-autotune" || kind == "library";
  });
}

bool CompilesAhead::Compile(const BaselineTask& task) {
  const auto next = tasks_.begin() + static_cast<std::ptrdiff_t>(next_);
  if (std::find(next, tasks_.end(), &task) != tasks_.end()) CompileNext();
  const auto found = compiled_.find(&task);
  return found == compiled_.end() || found->second.ready;
}

std::optional<double> CompilesAhead::SecondsOf(const BaselineTask& task) const {
  const auto found = compiled_.find(&task);
  return found == compiled_.end() ? std::nullopt : found->second.seconds;
}

void CompilesAhead::CompileNext() {
  const size_t end = std::min(tasks_.size(), next_ + jobs_);
  if (end - next_ < 2) {  // beside none
    next_ = end;
    return;
  }
  std::vector<std::pair<const BaselineTask*, BaselineBuild>> builds;
  for (; next_ < end && !Interrupted(); ++next_) {
    const BaselineTask& task = *tasks_[next_];
    auto build = evaluator_->PrepareAhead(task.problem, task.size, task.protocol);
    if (build) builds.emplace_back(&task, std::move(*build));  // else measuring it fails alike, and says why
  }
  PreparePool pool;  // after what its threads use
  for (auto& each : builds) {
    CompiledAhead& compiled = compiled_[each.first];
    pool.Submit(each.first->problem.name,
                [this, &compiled, &build = each.second] { compiled = evaluator_->CompileAhead(std::move(build)); });
  }
}

}  // namespace kb::cli
