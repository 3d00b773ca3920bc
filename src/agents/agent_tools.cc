#include "agents/agent_tools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "agents/agent_tool_table.h"
#include "agents/search.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "judge/candidate/folder.h"
#include "judge/devices/device_kind.h"
#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kMostOfResult = 64'000;  // bytes of a text for the model

// For the model's eyes: nothing in it acts, and it is not too long.
std::string Presented(const std::string& text) {
  std::string clean = CleanText(text);
  if (clean.size() <= kMostOfResult) return clean;
  const std::string_view head = CutUtf8(clean, kMostOfResult / 2), tail = Tail(clean, kMostOfResult / 2);
  const size_t cut = clean.size() - head.size() - tail.size();
  return fmt::format("{}\n[... {} bytes cut ...]\n{}", head, cut, ValidUtf8(tail));
}

ToolOutcome Refusal(std::string text) { return {.text = std::move(text), .is_error = true}; }

// What a model did wrong is told to it; what else went wrong ends the episode.
Result<ToolOutcome> Told(Result<std::string> text) {
  if (text) return ToolOutcome{.text = std::move(*text)};
  if (text.error().code == ErrorCode::kUsage) return Refusal(text.error().message);
  return tl::make_unexpected(text.error());
}

Result<ToolOutcome> ToldOfChange(const Status& status, const std::string& done) {
  if (status) return ToolOutcome{.text = done, .touched = true};
  return Told(tl::make_unexpected(status.error()));
}

Result<ToolOutcome> ReadLines(const Folder& folder, const json& arguments) {
  auto text =
      folder.Read(arguments.at("path"), arguments.value("offset", size_t{1}), arguments.value("limit", size_t{2000}));
  if (text && text->find('\r') != std::string::npos) {
    *text +=
        "\n[lines here end in CR LF; edit_file wants \\r\\n between them, or remove the CR with bash (sed -i "
        "'s/\\r$//')]\n";
  }
  return Told(std::move(text));
}

// Of a candidate below /task/best, where it was not called so before.
std::string NameOf(const TurnVerdict& verdict, const std::string& solution) {
  const std::string ending = "." + verdict.language;
  if (std::filesystem::path(solution).extension() == ending) return std::filesystem::path(solution).filename();
  return verdict.language == "py" ? kFolderEntry : "kernel" + ending;
}

std::string SpeedText(const TurnVerdict& verdict) {
  if (!verdict.speedup) return verdict.verdict;
  return fmt::format("{}, speedup {} {}", verdict.verdict, FormatSpeedup(verdict.speedup),
                     FormatInterval(verdict.low, verdict.high));
}

}  // namespace

Result<AgentCandidate> CandidateAt(const Folder& folder, const std::string& path) {
  KB_ASSIGN_OR_RETURN(CandidateText text, folder.Candidate(path));
  if (IsPacked(text.text)) return AgentCandidate{.name = "", .text = std::move(text.text), .rejection = ""};
  const std::filesystem::path file(path);
  const std::string ending = file.extension();
  if (ending != ".py" && ending != ".cpp" && ending != ".cu") {
    return Fail(
        ErrorCode::kUsage,
        fmt::format("{} is no candidate: that is a .py, .cpp or .cu file, or a folder with {}", path, kFolderEntry));
  }
  return AgentCandidate{.name = file.filename(), .text = std::move(text.text), .rejection = ""};
}

std::vector<Tool> AgentTools::Offered() const {
  std::vector<Tool> tools;
  for (const AgentToolRow& row : AgentToolTable(limits_, options_)) tools.push_back(AsOffered(row));
  return tools;
}

std::vector<Tool> AgentTools::OfJudge() const {
  std::vector<Tool> tools;
  for (const AgentToolRow& row : AgentToolTable(limits_, options_)) {
    if (row.of_judge) tools.push_back(AsOffered(row));
  }
  return tools;
}

std::string AgentTools::HowTo(const AgentToolLimits& limits, const AgentToolOptions& options) {
  std::string text = fmt::format(
      "Write your candidate to {} and ask the judge with these tools; some clients put a name before theirs:\n\n"
      "- `compile` checks its text and builds it, without running it.\n"
      "- `evaluate` judges it by the rules above, on new inputs each time, and tells the speedup or what is wrong.\n"
      "{}"
      "- `best` says which of your evaluated candidates is the best so far, and writes it below best/.\n"
      "- `submit` hands it in and ends your work. It is judged once more, and that verdict counts.\n\n"
      "Your turns are limited, so submit in time. Nobody answers questions.",
      options.solution, options.gpu ? "- `profile` says where a correct candidate's time goes on the GPU.\n" : "");
  if (limits.evaluations > 0) {
    text += fmt::format(" You have {} evaluations{}.", limits.evaluations, options.gpu ? ", profiles among them" : "");
  }
  if (limits.device_seconds > 0) {
    text += fmt::format(" Evaluations may take {:g} seconds of a device in all.", limits.device_seconds);
  }
  return text + "\n";
}

Result<ToolOutcome> AgentTools::Call(const ToolCall& call) {
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<AgentToolRow> table = AgentToolTable(limits_, options_);
  const auto row = std::find_if(table.begin(), table.end(), [&](const auto& each) { return call.name == each.name; });
  ToolOutcome outcome;
  if (row == table.end()) {
    std::vector<std::string> names;
    for (const AgentToolRow& each : table) names.emplace_back(each.name);
    outcome =
        Refusal(fmt::format("there is no tool {}; there are: {}", OneLine(call.name, 64), fmt::join(names, ", ")));
  } else if (const auto arguments = ReadArguments(*row, call.arguments); !arguments) {
    outcome = Refusal(arguments.error().message);
  } else {
    KB_ASSIGN_OR_RETURN(outcome, Do(call.name, *arguments));
  }
  outcome.text = Presented(outcome.text);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return outcome;
}

// `arguments` are as the tool's table says.
Result<ToolOutcome> AgentTools::Do(const std::string& name, const json& arguments) {
  Folder& folder = box_->folder();
  if (name == "list") return Told(folder.List(arguments.value("path", ".")));
  if (name == "read_file") return ReadLines(folder, arguments);
  if (name == "search") {
    return Told(Search(box_, {.pattern = arguments.at("pattern"),
                              .plain = arguments.value("plain", false),
                              .path = arguments.value("path", ".")}));
  }
  if (name == "write_file") {
    const std::string path = arguments.at("path"), content = arguments.at("content");
    return ToldOfChange(folder.Write(path, content), fmt::format("{} has {} bytes now", path, content.size()));
  }
  if (name == "edit_file") {
    const std::string path = arguments.at("path"), before = arguments.at("old_str"), after = arguments.at("new_str");
    return ToldOfChange(folder.Edit(path, before, after), fmt::format("{} is changed", path));
  }
  if (name == "bash") return Bash(arguments);
  if (name == "best") return Best();
  const auto candidate =
      CandidateAt(folder, arguments.value(name == "submit" ? "solution_path" : "path", options_.solution));
  if (!candidate) return Refusal(candidate.error().message);
  if (name != "submit") return Judge(name, *candidate);
  ToolOutcome outcome{.text = fmt::format("{} is submitted, {} bytes",
                                          candidate->name.empty() ? "the folder" : candidate->name,
                                          candidate->text.size())};
  outcome.submitted = *candidate;
  return outcome;
}

// How a command ended comes first, where nothing that it printed can stand.
std::string CommandText(const CommandResult& result, const CommandLimits& limits, const std::string& device = "") {
  std::string text = result.Ending();
  if (result.timed_out) text += fmt::format(" of {:g} s", static_cast<double>(limits.timeout.count()) / 1000);
  return text + device + (result.output.empty() ? "\n[no output]" : "\n" + result.output);
}

Result<ToolOutcome> AgentTools::Bash(const json& arguments) {
  CommandLimits limits = limits_.command;
  if (arguments.contains("timeout")) {
    limits.timeout = std::chrono::milliseconds(static_cast<int64_t>(arguments["timeout"].get<double>() * 1000));
  }
  if (arguments.value("gpu", false)) return BashOnDevice(arguments.at("command"), std::move(limits));
  const auto result = box_->Run(arguments.at("command"), limits);
  if (!result) return Told(tl::make_unexpected(result.error()));
  return ToolOutcome{.text = CommandText(*result, limits), .is_error = result->timed_out, .touched = true};
}

// The device is the command's own. When the box's processes have ended it is given back.
Result<ToolOutcome> AgentTools::BashOnDevice(const std::string& command, CommandLimits limits) {
  if (!options_.gpu) {
    return Refusal("there is no GPU: candidates are judged on the CPU here. Call bash without gpu; nothing was run");
  }
  if (const auto why = UsedUp(false)) return Refusal(*why);
  constexpr double kToStartAndEnd = 20;
  double most = limits_.gpu_seconds;
  if (limits_.device_seconds > 0) most = std::min(most, limits_.device_seconds - device_seconds_);
  limits.timeout = std::min(limits.timeout, std::chrono::milliseconds(static_cast<int64_t>(std::ceil(most * 1000))));
  const double seconds = static_cast<double>(limits.timeout.count()) / 1000;
  auto lease = judge_->Lend(seconds + kToStartAndEnd, limits_.gpu_memory);
  if (!lease) return Told(tl::make_unexpected(lease.error()));
  const auto found = FindDevice(lease->device());
  if (!found) return Refusal("the judge's GPU is not this machine's: " + found.error().message);
  const BoxDevice device{found->access, found->environment, lease->cores()};
  limits.stop = [&] { return !lease->Over().empty(); };
  const auto result = [&] {
    const Freezer::Awake awake(judge_->freezer(), box_);
    return box_->Run(command, limits, &device);
  }();
  const std::string over = lease->Over();
  ToolOutcome outcome{.touched = true};
  outcome.verdict = TurnVerdict{.tool = "bash", .source_sha256 = Sha256(""), .view = "{}"};
  outcome.verdict->device_seconds = lease->GiveBack();
  device_seconds_ += outcome.verdict->device_seconds;
  if (!result) {
    KB_ASSIGN_OR_RETURN(ToolOutcome told, Told(tl::make_unexpected(result.error())));
    told.verdict = std::move(outcome.verdict);
    return told;
  }
  std::string had = fmt::format("; it had the GPU for {:.1f} s", outcome.verdict->device_seconds);
  if (result->stopped && !over.empty()) had = fmt::format(": {}{}", over, had);
  outcome.text = CommandText(*result, limits, had);
  outcome.is_error = result->timed_out || result->stopped;
  return outcome;
}

// Why nothing more is measured, if so.
std::optional<std::string> AgentTools::UsedUp(bool evaluates) const {
  const char* const kNext = "compile still works; submit your best candidate (best tells which that is)";
  if (evaluates && limits_.evaluations > 0 && evaluations_ >= limits_.evaluations) {
    return fmt::format("your {} evaluations are used up; {}", limits_.evaluations, kNext);
  }
  if (limits_.device_seconds > 0 && device_seconds_ >= limits_.device_seconds) {
    return fmt::format("your {:g} seconds of a device are used up; {}", limits_.device_seconds, kNext);
  }
  return std::nullopt;
}

// What follows a verdict: which it was, and what is left.
std::string AgentTools::Account(const TurnVerdict& verdict) const {
  std::string text;
  if (verdict.tool == "evaluate") {
    text = fmt::format("\nThis was evaluation {}.", tries_);
    if (best_ && best_->number == tries_) text += " It is the best so far.";
    if (best_ && best_->number != tries_) {
      text += fmt::format(" The best so far is evaluation {}: {}.", best_->number, SpeedText(best_->verdict));
    }
  }
  if (limits_.evaluations > 0) text += fmt::format(" Used: {} of {} evaluations.", evaluations_, limits_.evaluations);
  if (limits_.device_seconds > 0) {
    text += fmt::format(" Device time: {:.1f} of {:g} s.", device_seconds_, limits_.device_seconds);
  }
  return text + "\n";
}

Result<ToolOutcome> AgentTools::Judge(const std::string& name, const AgentCandidate& candidate) {
  if (name != "compile") {
    if (const auto why = UsedUp(true)) return Refusal(*why);
  }
  Result<AgentVerdict> verdict = name == "compile"    ? judge_->Compile(candidate)
                                 : name == "evaluate" ? judge_->Evaluate(candidate)
                                                      : judge_->Profile(candidate);
  if (!verdict) return tl::make_unexpected(verdict.error());
  ToolOutcome outcome{.text = std::move(verdict->text), .is_error = verdict->is_error};
  if (verdict->stored.tool.empty()) return outcome;
  Remember(verdict->stored);
  if (name != "compile") outcome.text += Account(verdict->stored);
  outcome.verdict = std::move(verdict->stored);
  return outcome;
}

void AgentTools::Remember(const TurnVerdict& verdict) {
  device_seconds_ += verdict.device_seconds;
  if (verdict.tool != "evaluate" && verdict.tool != "profile") return;
  ++evaluations_;
  if (verdict.tool != "evaluate") return;
  ++tries_;
  const Fitness fitness = FitnessOf(verdict.verdict, verdict.low);
  if (fitness.rank > 0 && (!best_ || fitness >= best_->fitness)) best_ = AgentTry{tries_, verdict, fitness};
}

// A folder for each, so that files of two of them never meet.
Result<ToolOutcome> AgentTools::Best() {
  if (!best_) return ToolOutcome{.text = "nothing was evaluated so far that is worth anything; call evaluate first"};
  const TurnVerdict& verdict = best_->verdict;
  const std::string folder = fmt::format("best/evaluation_{}", best_->number);
  FolderFiles files = {{NameOf(verdict, options_.solution), verdict.source}};
  std::string path = fmt::format("{}/{}", folder, files.begin()->first);
  if (IsPacked(verdict.source)) {
    files = Unpack(verdict.source).value_or(FolderFiles());
    path = folder;
  }
  std::string text = fmt::format("evaluation {} is the best so far: {}\n", best_->number, SpeedText(verdict));
  for (const auto& [name, contents] : files) {
    if (const Status written = box_->folder().Write(folder + "/" + name, contents); !written) {
      return ToolOutcome{.text = fmt::format("{}it could not be written: {}", text, written.error().message),
                         .is_error = true,
                         .touched = true};
    }
  }
  return ToolOutcome{.text = fmt::format("{}it is in {}, which can be submitted as it is", text, path),
                     .touched = true};
}

std::string AgentTools::LeftText() const {
  std::string text;
  if (limits_.evaluations > 0) {
    text += fmt::format("; {} of {} evaluations left", std::max(limits_.evaluations - evaluations_, 0),
                        limits_.evaluations);
  }
  if (limits_.device_seconds > 0) {
    text += fmt::format("; {:.0f} of {:.0f} s of the device left",
                        std::max(limits_.device_seconds - device_seconds_, 0.0), limits_.device_seconds);
  }
  return text;
}

}  // namespace kb
