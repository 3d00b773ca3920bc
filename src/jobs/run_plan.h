// A run: which candidates of a directory or list are judged, and the jobs that stand for them in the store.
#ifndef JOBS_RUN_PLAN_H_
#define JOBS_RUN_PLAN_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "interop/candidates.h"
#include "jobs/scheduler.h"
#include "judge/problem/problem_finder.h"
#include "judge/protocol/protocol.h"
#include "store/store.h"

namespace kb {

// What is wanted. Empty texts and lists, and 0, leave nothing out.
struct RunWanted {
  std::string source;  // as ReadCandidates() takes it
  std::string run;     // its name; empty: that of the directory or file
  std::string model;
  std::vector<int> samples;
  int limit = 0;
  std::optional<std::set<std::string>> problems;  // by name
  std::filesystem::path problem_directory;
  std::string rules;  // the protocol's name and every key that was changed
  // Of all its problems, each once.
  std::function<Result<std::string>(const std::string& run, const std::vector<ProblemFile>& problems)> size;
  std::shared_ptr<const Protocol> protocol;
  std::vector<std::string> devices;
};

class RunPlan {
 public:
  // What is left out is told in `notes`, also where nothing is left, which is a usage error.
  static Result<RunPlan> Make(const RunWanted& wanted, std::vector<std::string>* notes);

  // Puts the jobs into the store; those that another command could not judge, or left behind, or all if `again`, are
  // queued anew.
  Status Queue(Store* store, bool again) const;
  // The plan's jobs as the store has them.
  Result<std::vector<Job>> Stored(const Store& store) const;
  // How a job of Stored(), at that place there, is judged.
  Task TaskOf(size_t at) const;

  const std::string& run() const { return run_; }
  const std::string& size() const { return size_; }  // of all its jobs

 private:
  Status Choose(const RunWanted& wanted, std::vector<RunCandidate> all, std::vector<std::string>* notes);

  Status SetSize(const RunWanted& wanted);

  std::string run_, size_;
  std::shared_ptr<const Protocol> protocol_;
  std::vector<RunCandidate> candidates_;
  std::vector<Job> jobs_;              // of the candidates, in the same order
  std::vector<ProblemFile> problems_;  // likewise
};

}  // namespace kb

#endif  // JOBS_RUN_PLAN_H_
