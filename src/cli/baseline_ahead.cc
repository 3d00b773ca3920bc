#include "cli/baseline_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cores.h"
#include "base/slots.h"
#include "jobs/prepare_pool.h"

namespace kb::cli {

CompilesAhead::CompilesAhead(Evaluator* evaluator, std::vector<const BaselineTask*> tasks, int jobs)
    : evaluator_(evaluator),
      tasks_(std::move(tasks)),
      jobs_(static_cast<size_t>(jobs > 0 ? jobs : std::max(1, CoreCount() / 2))) {
  std::erase_if(tasks_, [](const BaselineTask* task) { return !task->protocol.CompilesBaseline(); });
}

std::optional<double> CompilesAhead::SecondsOf(const BaselineTask& task) {
  const auto next = tasks_.begin() + static_cast<std::ptrdiff_t>(next_);
  if (std::find(next, tasks_.end(), &task) != tasks_.end()) CompileNext();
  const auto found = seconds_.find(&task);
  return found == seconds_.end() ? std::nullopt : found->second;
}

void CompilesAhead::CompileNext() {
  Slots slots(static_cast<int>(jobs_));
  const size_t end = std::min(tasks_.size(), next_ + 2 * jobs_);
  PreparePool pool;  // after what its threads use
  for (; next_ < end && !Interrupted(); ++next_) {
    const BaselineTask& task = *tasks_[next_];
    std::optional<double>& seconds = seconds_[&task];
    auto spec = evaluator_->SpecOfBaseline(task.problem, task.size, task.protocol);
    if (!spec) continue;  // measuring it fails alike, and says why
    pool.Submit(task.problem.name, [this, &slots, &seconds, spec = std::move(*spec)] {
      if (!slots.Take()) return;
      seconds = evaluator_->CompileAhead(spec);
      slots.GiveBack();
    });
  }
}

}  // namespace kb::cli
