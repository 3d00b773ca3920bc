#include "cli/generate_agents.h"

#include <fmt/format.h>

#include <cstdlib>

#include "agents/episode.h"
#include "agents/harness_episode.h"
#include "agents/text_form.h"
#include "base/cores.h"
#include "base/interrupt.h"
#include "base/temp_dir.h"
#include "cli/warm_service.h"
#include "judge/devices/device_kind.h"
#include "judge/seating.h"

namespace kb::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kHarnessPrompt =
    "Read /task/TASK.md and do what it says. If the folder holds work already, it is yours from before: go on with it. "
    "Work until the candidate is correct and as fast as you can make it, then submit it.";

// As long as measurements may freeze it.
class Frozen {
 public:
  Frozen(Freezer* freezer, Box* box, Freezer::Place place) : freezer_(*freezer), box_(box) {
    freezer_.Add(box_, std::move(place));
  }
  Frozen(const Frozen&) = delete;  // one removal
  Frozen& operator=(const Frozen&) = delete;
  ~Frozen() { freezer_.Remove(box_); }

 private:
  Freezer& freezer_;
  Box* const box_;
};

// Where a folder of ours is shown. What lies below folders that are the agent's own has another place there.
fs::path InBox(const fs::path& path) {
  for (const char* own : {"/tmp/", "/task/", "/dev/", "/proc/", "/home/agent/"}) {
    if (path.string().starts_with(own)) return fs::path("/kb/python" + path.string());
  }
  return path;
}

// Those that a service leaves to others where it judges on these devices. Verdicts tell whether it does.
Result<std::vector<int>> CoresBeside(const std::vector<std::string>& devices) {
  Seating seating(ThreadsByCore());
  for (const std::string& name : devices) {
    KB_ASSIGN_OR_RETURN(const FoundDevice device, FindDevice(name));
    if (!device.kind->on_host()) seating.Take(device.near, device.number);
  }
  return seating.Elsewhere().cores;
}

// What the model is told first.
std::string TaskText(const Snapshot& folder) {
  for (const Snapshot::File& file : folder.files) {
    if (file.path == "TASK.md") return folder.contents.at(file.sha256);
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<AgentRuns>> AgentRuns::Start(const GeneratePlan& plan, const GenerateFlags& flags,
                                                    Store* store) {
  if (plan.devices.empty()) {
    return Fail(ErrorCode::kUsage, "agents have candidates judged as they work: name a device of this machine");
  }
  if (flags.no_service) {
    return Fail(ErrorCode::kUsage, "agents are judged by a service: leave out --no-service");
  }
  for (const PlannedModel& model : plan.models) {
    if (flags.agent.usd == 0 || model.price) continue;
    return Fail(ErrorCode::kUsage,
                fmt::format("--agent-usd needs the price of {}, which is not known: give it in models.toml, or limit "
                            "tokens with --agent-tokens",
                            model.settings.name));
  }
  std::unique_ptr<AgentRuns> runs(new AgentRuns(plan, flags, store));
  KB_ASSIGN_OR_RETURN(runs->installation_, FindInstallation());
  KB_ASSIGN_OR_RETURN(runs->python_, FindPython(runs->installation_));
  KB_ASSIGN_OR_RETURN(runs->parts_, PromptTemplate::Load(runs->installation_.prompts, flags.custom));
  if (!flags.agent.harness.empty() || !flags.agent.harness_command.empty()) {
    KB_ASSIGN_OR_RETURN(runs->harness_, flags.agent.harness.empty()
                                            ? HarnessOfCommand(flags.agent.harness_command)
                                            : FindHarness(flags.agent.harness, runs->installation_));
    for (const PlannedModel& model : plan.models) {
      KB_RETURN_IF_ERROR(CheckWire(*runs->harness_, WireName(model.settings.wire)));
    }
    KB_ASSIGN_OR_RETURN(runs->program_, FindHarnessProgram(*runs->harness_));
  }
  KB_ASSIGN_OR_RETURN(runs->cores_, CoresBeside(plan.devices));
  const fs::path socket = fs::absolute(ServiceSocket(flags.store));
  const auto start = [store = flags.store, devices = flags.devices]() -> Status {
    KB_RETURN_IF_ERROR(StartService(store, {"--devices", devices}));
    return {};
  };
  if (!AskService(socket)) KB_RETURN_IF_ERROR(start());
  runs->asking_ = std::make_unique<server::SocketAsk>(socket, start);
  return runs;
}

void AgentRuns::Judging(bool begins) {
  auto hold = begins ? std::make_unique<Freezer::Hold>(&freezer_) : nullptr;
  const std::lock_guard lock(mutex_);
  if (begins) return holds_.push_back(std::move(hold));
  if (!holds_.empty()) holds_.pop_back();
}

// As the run's own jobs are judged.
json AgentRuns::RequestOf(const ProblemFile& problem) const {
  const json keys = plan_.protocol->ToJson();
  json request = {{"problem", fs::absolute(problem.path).string()},
                  {"problem_name", problem.name},
                  {"size", plan_.size},
                  {"protocol", plan_.protocol->name},
                  {"device", plan_.kind}};
  for (const std::string& key : plan_.protocol->changed) request["keys"][key] = keys.at(key);
  return request;
}

BoxOptions AgentRuns::OptionsOfBox() const {
  BoxOptions options;
  std::error_code error;
  for (const fs::path& path : python_.paths) {
    const bool of_system = path.string().starts_with("/usr/");
    if (!of_system && fs::exists(path, error)) options.read_only.push_back({path, InBox(path)});
  }
  const char* weights = std::getenv("KERNELBENCH_WEIGHTS");  // of the models of level 4
  if (weights != nullptr && fs::is_directory(weights, error)) {
    const fs::path path = fs::canonical(weights, error);
    options.read_only.push_back({path, InBox(path)});
    options.environment.push_back("KERNELBENCH_WEIGHTS=" + InBox(path).string());
  }
  options.environment.push_back("HF_HUB_OFFLINE=1");  // transformers says at once that there is no network
  options.seat.cores = cores_;
  options.path_first = InBox(fs::path(python_.executable).parent_path());
  return options;
}

AgentJudgeOptions AgentRuns::JudgeOf(const EpisodeWork& work) {
  return {
      .ask = asking_->Ask(), .request = RequestOf(plan_.problems[work.problem].file), .freezer = &freezer_, .stop = {}};
}

AgentToolLimits AgentRuns::ToolLimits() const {
  return {.evaluations = flags_.agent.evaluations,
          .device_seconds = flags_.agent.device_seconds,
          .gpu_seconds = flags_.agent.gpu_seconds,
          .gpu_memory = flags_.agent.gpu_memory};
}

AgentToolOptions AgentRuns::ToolOptions() const {
  return {.solution = SolutionName(plan_.target), .gpu = plan_.kind == "cuda"};
}

EpisodeLimits AgentRuns::LimitsOf(const EpisodeWork& work) const {
  return {.turns = TurnsOf(flags_, plan_.problems[work.problem].file),
          .tokens = flags_.agent.tokens,
          .usd = flags_.agent.usd,
          .seconds = flags_.agent.seconds};
}

EpisodeCounts AgentRuns::Counts() const {
  return {.best = flags_.agent.counts == "best", .solution = SolutionName(plan_.target)};
}

Result<TaskFolderContents> AgentRuns::TaskOf(const EpisodeWork& work, const std::string& how) const {
  PromptRequest prompt{plan_.problems[work.problem].file, plan_.size,   plan_.target,
                       plan_.protocol->precision,         flags_.shots, ""};
  return TaskFolder({.prompt = prompt, .parts = parts_, .how = how}, installation_);
}

Result<std::optional<EpisodeWorkDone>> AgentRuns::Run(const EpisodeWork& work) {
  return harness_ ? RunHarness(work) : RunLoop(work);
}

Result<std::optional<EpisodeWorkDone>> AgentRuns::RunLoop(const EpisodeWork& work) {
  const ModelSettings& model = plan_.models[work.model].settings;
  KB_ASSIGN_OR_RETURN(Box box, Box::Create(installation_, OptionsOfBox()));
  AgentJudge judge(JudgeOf(work));
  const Frozen frozen(&freezer_, &box, {&judge, cores_});
  AgentTools tools(&box, &judge, ToolLimits(), ToolOptions());
  KB_ASSIGN_OR_RETURN(TaskFolderContents task, TaskOf(work, AgentTools::HowTo(ToolLimits(), ToolOptions())));
  EpisodeOptions options;
  options.folder = std::move(task.files);
  options.opening = {.system = task.prompt.system, .tools = tools.Offered(), .task = TaskText(options.folder)};
  options.window = model.window;
  if (!model.tools) {
    options.text_form = true;
    options.opening.system += "\n\n" + TextFormRules(options.opening.tools);
    options.opening.tools.clear();
  }
  options.limits = LimitsOf(work);
  options.counts = Counts();
  return EpisodeRun(std::move(options), work, &store_, &box, &judge, &tools).Run();
}

Result<std::optional<EpisodeWorkDone>> AgentRuns::RunHarness(const EpisodeWork& work) {
  const ModelSettings& model = plan_.models[work.model].settings;
  KB_ASSIGN_OR_RETURN(const TempDir sockets, TempDir::Create("kernelbench-agent"));
  KB_ASSIGN_OR_RETURN(TaskFolderContents task,
                      TaskOf(work, HowToJudge(*harness_) + "\n" + AgentTools::HowTo(ToolLimits(), ToolOptions())));
  AgentJudge judge(JudgeOf(work));
  HarnessEpisodeOptions options{.harness = harness_->name, .limits = LimitsOf(work), .counts = Counts()};
  options.folder = std::move(task.files);
  options.opening = {.system = task.prompt.system, .tools = {}, .task = kHarnessPrompt};
  HarnessEpisode episode(std::move(options), work, &store_, &judge);
  HarnessRunOptions wanted{.harness = *harness_, .program = program_, .box = OptionsOfBox()};
  wanted.model_socket = sockets.path() / "model.sock";
  wanted.values = {.prompt = kHarnessPrompt,
                   .model = model.model,
                   .wire = WireName(model.wire),
                   .turns = LimitsOf(work).turns,
                   .context_tokens = model.window,
                   .output_tokens = work.defaults.max_tokens};
  wanted.over = [&] { return episode.Over(); };
  wanted.model_error = [&] { return episode.ModelError(); };
  KB_ASSIGN_OR_RETURN(auto relay, Relay::Start({.settings = model, .socket = wanted.model_socket}, &episode, &gates_));
  KB_ASSIGN_OR_RETURN(HarnessRun run, HarnessRun::Create(installation_, std::move(wanted)));
  const Frozen frozen(&freezer_, &run.box(), {&judge, cores_});
  AgentTools tools(&run.box(), &judge, ToolLimits(), ToolOptions());
  return episode.Run(&run, &tools, [&] { relay.reset(); });
}

}  // namespace kb::cli
