// What a run of agents needs beside its plan: a service that judges on the way, and a box for each agent.
#ifndef CLI_GENERATE_AGENTS_H_
#define CLI_GENERATE_AGENTS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "agents/episode_account.h"
#include "agents/freezer.h"
#include "agents/harness_install.h"
#include "agents/task_folder.h"
#include "cli/generate_plan.h"
#include "judge/process/device_process.h"
#include "model/gate.h"
#include "prompt/template.h"
#include "server/socket_ask.h"

namespace kb::cli {

class AgentRuns {
 public:
  // Starts a service if none is warm. `plan` and `flags` outlive it. Errors: kUsage where nothing can judge here.
  static Result<std::unique_ptr<AgentRuns>> Start(const GeneratePlan& plan, const GenerateFlags& flags, Store* store);
  // GeneratorOptions::judging.
  void Judging(bool begins);
  // GeneratorOptions::work.
  Result<std::optional<EpisodeWorkDone>> Run(const EpisodeWork& work);

 private:
  AgentRuns(const GeneratePlan& plan, const GenerateFlags& flags, Store* store)
      : plan_(plan), flags_(flags), store_(*store) {}
  BoxOptions OptionsOfBox() const;
  Result<std::optional<EpisodeWorkDone>> RunLoop(const EpisodeWork& work);
  Result<std::optional<EpisodeWorkDone>> RunHarness(const EpisodeWork& work);
  AgentJudgeOptions JudgeOf(const EpisodeWork& work);
  AgentToolLimits ToolLimits() const;
  AgentToolOptions ToolOptions() const;
  EpisodeLimits LimitsOf(const EpisodeWork& work) const;
  EpisodeCounts Counts() const;
  Result<TaskFolderContents> TaskOf(const EpisodeWork& work, const std::string& how) const;
  nlohmann::json RequestOf(const ProblemFile& problem) const;

  const GeneratePlan& plan_;
  const GenerateFlags& flags_;
  Store& store_;
  Installation installation_;
  PythonIdentity python_;
  PromptTemplate parts_;
  std::vector<int> cores_;  // of boxes; empty: all
  Freezer freezer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Freezer::Hold>> holds_;  // of candidates of the run that are judged
  std::unique_ptr<server::SocketAsk> asking_;
  std::optional<Harness> harness_;  // instead of our loop
  HarnessInstallation program_;     // of it
  Gates gates_;
};

}  // namespace kb::cli

#endif  // CLI_GENERATE_AGENTS_H_
