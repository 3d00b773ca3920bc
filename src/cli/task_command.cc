// kernelbench task: a folder in which any agent, or a person, works on a problem.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "agents/client_settings.h"
#include "agents/folder.h"
#include "agents/harness.h"
#include "agents/task_folder.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/selection_flags.h"
#include "judge/protocol/protocol.h"
#include "prompt/hardware.h"

namespace kb::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".kernelbench-task";  // in a folder that this command made
constexpr const char* kCheck = "check";

struct TaskFlags {
  std::string problem, directory, problems, size = DefaultSize(), backend = "native", device, precision = "fp32",
                                            protocol = "strict";
  bool mcp = false;
};

// What of a command's words is the same wherever the folder goes.
struct TaskPlan {
  TaskFolderRequest request;
  std::string program, problem, solution, device;
};

Result<std::string> OwnPath() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) return Fail(ErrorCode::kEngine, "cannot read /proc/self/exe: mount /proc");
  return path.string();
}

std::string HowText(const TaskPlan& plan, const std::string& protocol, bool mcp) {
  std::string text = fmt::format(
      "Write your candidate to `{0}`. `./check` judges it by the rules above, on new inputs each time, and tells the "
      "speedup or what is wrong; `./check FILE` judges another file. It takes the flags of `kernelbench eval`, too: "
      "`--protocol quick` is a quicker judgement that counts less. Exit code 0: it is correct. 1: it is not. Every "
      "other one says nothing about it.\n\n"
      "What is in `{0}` at the end is your result.\n",
      plan.solution);
  if (mcp) {
    text += fmt::format(
        "\nThe MCP server `kernelbench` has the same judge: its tools `compile`, `evaluate` and `profile` take the "
        "text of a candidate. Give them problem `{}`, size `{}`, protocol `{}` and, as `name`, `{}`.\n",
        plan.problem, plan.request.prompt.size, protocol, plan.solution);
  }
  return text;
}

Result<TaskPlan> MakePlan(const TaskFlags& flags, const Installation& installation) {
  TaskPlan plan;
  KB_ASSIGN_OR_RETURN(plan.program, OwnPath());
  KB_ASSIGN_OR_RETURN(const Protocol protocol, Protocol::Load(installation.protocols, flags.protocol));
  KB_ASSIGN_OR_RETURN(const fs::path problems, ProblemDirectory(flags.problems));
  PromptRequest& prompt = plan.request.prompt;
  prompt.precision = flags.precision;
  KB_ASSIGN_OR_RETURN(prompt.problem, FindProblem(problems, flags.problem));
  KB_ASSIGN_OR_RETURN(prompt.target, MakeTarget(flags.backend, flags.device));
  KB_ASSIGN_OR_RETURN(plan.request.parts, PromptTemplate::Load(installation.prompts));
  const bool elsewhere = prompt.problem.deck.empty() || !flags.problems.empty();
  plan.problem = elsewhere ? fs::absolute(prompt.problem.path).string() : prompt.problem.name;
  plan.solution = SolutionName(prompt.target);
  plan.device = !flags.device.empty() ? flags.device : prompt.target.gpu ? "cuda" : "cpu";
  KB_ASSIGN_OR_RETURN(prompt.size, SizeToAsk(flags.size, plan.device, {prompt.problem}));
  plan.request.how = HowText(plan, flags.protocol, flags.mcp);
  return plan;
}

// Flags that its caller gives count instead.
std::string CheckScript(const TaskPlan& plan, const TaskFlags& flags) {
  std::string usual;
  const std::pair<const char*, std::string> all[] = {{"--size", plan.request.prompt.size},
                                                     {"--device", plan.device},
                                                     {"--protocol", flags.protocol},
                                                     {"--precision", flags.precision == "fp32" ? "" : flags.precision}};
  for (const auto& [flag, value] : all) {
    if (!value.empty()) usual += fmt::format("given {0} || set -- {0} {1} \"$@\"\n", flag, ShellWord(value));
  }
  return fmt::format(R"(#!/bin/sh
# ./check [FILE] [flags of kernelbench eval]: judges {0}, or FILE.
case ${{1-}} in
  "" | -*) file=$(dirname "$0")/{0} ;;
  *) file=$1 && shift ;;
esac
flags=" $* "
given() {{
  case $flags in *" $1 "* | *" $1="*) ;; *) return 1 ;; esac
}}
{1}exec {2} eval {3} "$file" "$@"
)",
                     plan.solution, usual, ShellWord(plan.program), ShellWord(plan.problem));
}

// An empty folder, or one that this command made.
Result<Fd> OpenDirectory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot make the folder {}: {}", directory.string(), strerror(errno)));
  }
  const bool empty = fs::is_empty(directory, error);
  struct stat mark {};
  if (!empty && ::fstatat(fd.get(), kMark, &mark, AT_SYMLINK_NOFOLLOW) != 0) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is not empty, and no folder of kernelbench task: name another one",
                                               directory.string()));
  }
  return fd;
}

// The folder may have been an agent's: no link in it is followed.
Status WriteAll(const std::vector<Harness::File>& files, const fs::path& directory) {
  KB_ASSIGN_OR_RETURN(Fd fd, OpenDirectory(directory));
  const Fd again(::dup(fd.get()));
  Folder folder(std::move(fd), 0);
  for (const auto& [path, text] : files) {
    if (const Status written = folder.Write(path, text); !written) {
      return Fail(written.error().code, fmt::format("{}: {}", directory.string(), written.error().message));
    }
  }
  const Fd check(::openat(again.get(), kCheck, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!check.valid() || ::fchmod(check.get(), 0755) != 0) {
    return Fail(ErrorCode::kUsage,
                fmt::format("cannot make {}/{} executable: {}", directory.string(), kCheck, strerror(errno)));
  }
  return {};
}

McpServerCommand ServerCommand(const TaskPlan& plan) {
  McpServerCommand server{.command = {plan.program, "mcp"}};
  server.command.insert(server.command.end(), {"--devices", plan.device});
  for (const char* name : {"KERNELBENCH_STORE", "KERNELBENCH_PYTHON", "KERNELBENCH_CACHE"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      server.environment.emplace_back(name, value);
    }
  }
  return server;
}

Status MakeTask(const TaskFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const TaskPlan plan, MakePlan(flags, installation));
  KB_ASSIGN_OR_RETURN(const TaskFolderContents contents, TaskFolder(plan.request, installation));
  std::vector<Harness::File> files = {{kMark, plan.problem + "\n"}, {kCheck, CheckScript(plan, flags)}};
  for (const Snapshot::File& file : contents.files.files) {
    files.push_back({file.path, contents.files.contents.at(file.sha256)});
  }
  if (flags.mcp) {
    for (Harness::File& file : ClientSettings(ServerCommand(plan))) files.push_back(std::move(file));
  }
  KB_RETURN_IF_ERROR(WriteAll(files, flags.directory));
  for (const std::string& note : contents.prompt.notes) fmt::print(stderr, "kernelbench: note: {}\n", note);
  fmt::print("{}: the task is in TASK.md; write {}, then ./check\n", flags.directory, plan.solution);
  return {};
}

}  // namespace

void AddTask(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<TaskFlags>();
  CLI::App* command =
      app->add_subcommand("task", "a folder in which any agent, or you, can work on a problem (docs/guide/tasks.md)");
  command->add_option("problem", flags->problem, "a number such as 1/19, or the path of a problem file")->required();
  command->add_option("directory", flags->directory, "the folder: a new one, an empty one, or one of this command's")
      ->required();
  AddProblemsFlag(command, &flags->problems);
  AddSizeFlag(command, &flags->size);
  command->add_option("--backend", flags->backend, "native, cpp, cuda, triton, tilelang, cute, thunderkittens or hip")
      ->capture_default_str();
  command->add_option("--device", flags->device, "cpu or cuda; default: what the backend runs on, for native the CPU");
  command->add_option("--precision", flags->precision, "fp32, fp16 or bf16")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  command->add_option("--protocol", flags->protocol, "rules of judgement; kernelbench protocols lists them")
      ->capture_default_str();
  command->add_flag("--mcp", flags->mcp, "with settings of common clients, which start kernelbench mcp");
  command->callback([flags, exit_code] {
    const Status made = MakeTask(*flags);
    *exit_code = made ? int{kAllCorrect} : PrintError(made.error());
  });
}

}  // namespace kb::cli
