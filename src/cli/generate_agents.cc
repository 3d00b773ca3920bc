#include "cli/generate_agents.h"

#include <fmt/format.h>

#include "agents/episode.h"
#include "agents/task_folder.h"
#include "agents/text_form.h"
#include "base/interrupt.h"
#include "cli/warm_service.h"

namespace kb::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// As long as measurements may freeze it.
class Frozen {
 public:
  Frozen(Freezer* freezer, Box* box) : freezer_(*freezer), box_(box) { freezer_.Add(box_); }
  Frozen(const Frozen&) = delete;  // one removal
  Frozen& operator=(const Frozen&) = delete;
  ~Frozen() { freezer_.Remove(box_); }

 private:
  Freezer& freezer_;
  Box* const box_;
};

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
  std::unique_ptr<AgentRuns> runs(new AgentRuns(plan, flags, store));
  KB_ASSIGN_OR_RETURN(runs->installation_, FindInstallation());
  KB_ASSIGN_OR_RETURN(runs->python_, FindPython(runs->installation_));
  KB_ASSIGN_OR_RETURN(runs->parts_, PromptTemplate::Load(runs->installation_.prompts, flags.custom));
  const fs::path socket = fs::absolute(ServiceSocket(flags.store));
  const auto start = [store = flags.store, devices = flags.devices]() -> Status {
    KB_RETURN_IF_ERROR(StartService(store, {"--devices", devices}));
    return {};
  };
  if (!AskService(socket)) KB_RETURN_IF_ERROR(start());
  runs->asking_ = std::make_unique<server::SocketAsk>(socket, start);
  return runs;
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

Result<Box> AgentRuns::MakeBox() const {
  BoxOptions options;
  for (const fs::path& path : python_.paths) {
    std::error_code error;
    const bool of_system = path.string().starts_with("/usr/");
    if (!of_system && fs::exists(path, error)) options.read_only.push_back({path, path});
  }
  options.path_first = fs::path(python_.executable).parent_path();
  return Box::Create(installation_, options);
}

Result<std::optional<EpisodeWorkDone>> AgentRuns::Run(const EpisodeWork& work) {
  const ProblemFile& problem = plan_.problems[work.problem].file;
  const ModelSettings& model = plan_.models[work.model].settings;
  KB_ASSIGN_OR_RETURN(Box box, MakeBox());
  const Frozen frozen(&freezer_, &box);
  AgentJudge judge({.ask = asking_->Ask(), .request = RequestOf(problem), .freezer = &freezer_, .stop = {}});
  AgentToolLimits limits{.evaluations = flags_.agent.evaluations, .device_seconds = flags_.agent.device_seconds};
  AgentToolOptions tool_options{.solution = SolutionName(plan_.target), .profiles = plan_.kind == "cuda"};
  AgentTools tools(&box, &judge, limits, tool_options);
  PromptRequest prompt{problem, plan_.size, plan_.target, plan_.protocol->precision, flags_.shots, ""};
  KB_ASSIGN_OR_RETURN(TaskFolderContents task,
                      TaskFolder({.prompt = prompt, .parts = parts_, .how = tools.HowTo()}, installation_));
  EpisodeOptions options;
  options.folder = std::move(task.files);
  options.opening = {.system = task.prompt.system, .tools = tools.Offered(), .task = TaskText(options.folder)};
  options.window = model.window;
  if (!model.tools) {
    options.text_form = true;
    options.opening.system += "\n\n" + TextFormRules(options.opening.tools);
    options.opening.tools.clear();
  }
  options.limits = {.turns = TurnsOf(flags_, problem),
                    .tokens = flags_.agent.tokens,
                    .usd = flags_.agent.usd,
                    .seconds = flags_.agent.seconds};
  options.best_counts = flags_.agent.counts == "best";
  options.solution = tool_options.solution;
  return EpisodeRun(std::move(options), work, &store_, &box, &judge, &tools).Run();
}

}  // namespace kb::cli
