#include "cli/run_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <sstream>

#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "judge/gpus.h"

namespace kb::cli {
namespace {

using nlohmann::json;

json FailureJson(const std::string& run, const Job& job, const TaskEnd& end) {
  return {{"schema", 1},
          {"run", run},
          {"model", job.model},
          {"problem", job.problem},
          {"sample", job.sample},
          {"not_judged", end.evaluation.error().message},
          {"attempts", end.attempts}};
}

Result<int> NumberOf(const std::string& text, const std::string& whole) {
  if (!text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos) {
    return std::stoi(text);
  }
  return Fail(ErrorCode::kUsage, fmt::format("--devices {}: give cpu, cuda, cuda:0,cuda:1 or cuda:0-3", whole));
}

}  // namespace

Result<std::vector<std::string>> FindDevices(const std::string& text) {
  std::vector<std::string> devices;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    const size_t colon = part.find(':'), dash = part.find('-');
    if (colon == std::string::npos) {
      devices.push_back(part);
      continue;
    }
    KB_ASSIGN_OR_RETURN(const int first, NumberOf(part.substr(colon + 1, dash - colon - 1), text));
    KB_ASSIGN_OR_RETURN(const int last, dash == std::string::npos ? first : NumberOf(part.substr(dash + 1), text));
    for (int i = first; i <= last; ++i) devices.push_back(fmt::format("{}:{}", part.substr(0, colon), i));
  }
  std::vector<std::string> sorted = devices;
  std::sort(sorted.begin(), sorted.end());
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  const bool mixed = devices.size() > 1 && std::any_of(devices.begin(), devices.end(), [](const std::string& device) {
                       return !device.starts_with("cuda:");
                     });
  if (devices.empty() || twice || mixed) {
    return Fail(ErrorCode::kUsage, fmt::format("--devices {}: give cpu, cuda, or several GPUs such as cuda:0,cuda:1, "
                                               "each once",
                                               text));
  }
  for (const std::string& device : devices) KB_RETURN_IF_ERROR(CheckDevice(device));
  return devices;
}

const Result<ProblemFile>& ProblemFinder::Find(const std::string& name) {
  const auto found = found_.find(name);
  if (found != found_.end()) return found->second;
  return found_.emplace(name, FindProblem(directory_, name)).first->second;
}

std::string ProblemTextHash(const ProblemFile& problem) {
  const auto text = ReadFile(problem.path);
  return text ? Sha256(*text) : "";
}

const std::string& ProblemFinder::TextHash(const ProblemFile& problem) {
  const auto [text, first] = texts_.try_emplace(problem.path);
  if (first) text->second = ProblemTextHash(problem);
  return text->second;
}

Status KeepEnd(const JobEnds& ends, const Job& job, const TaskEnd& end, const json& told) {
  if (end.evaluation) {
    json evaluation = end.evaluation->ToJson();
    evaluation["run"] = ends.run;
    evaluation["model"] = job.model;
    evaluation["sample"] = job.sample;
    KB_RETURN_IF_ERROR(ends.store->FinishJob(job.id, ends.owner, evaluation));
    ends.progress->Judged(evaluation.at("verdict"));
    evaluation.update(told);
    if (ends.json) ends.progress->Print(JsonLine(evaluation));
    return {};
  }
  const Error& error = end.evaluation.error();
  const bool again = error.code == ErrorCode::kInterrupted;
  KB_RETURN_IF_ERROR(ends.store->GiveUpJob(job.id, ends.owner, error.message, again));
  if (again) return {};
  ends.progress->Failed();
  if (ends.json) {
    ends.progress->Print(JsonLine(FailureJson(ends.run, job, end)));
  } else if (!ends.quiet) {
    ends.progress->Print(fmt::format("{} sample {} could not be judged: {}\n", job.problem, job.sample, error.message));
  }
  return {};
}

Status JudgeAll(RunTasks run, const EvaluatorOptions& options, const std::vector<std::string>& devices,
                RunProgress* progress) {
  std::mutex mutex;
  Status status;  // guarded by it
  std::atomic<bool> broken = false;
  const auto fail = [&](const Error& error) {
    const std::lock_guard lock(mutex);
    if (status) status = tl::make_unexpected(error);
    broken = true;
  };
  SchedulerOptions wanted;
  wanted.evaluator = options;
  wanted.devices = devices;
  wanted.begin = [&](int64_t id) {
    if (broken) return false;
    const Result<bool> begun = run.begin(id);
    if (!begun) fail(begun.error());
    return begun.value_or(false);
  };
  wanted.end = [&](const TaskEnd& end) {
    if (const Status ended = run.end(end); !ended) fail(ended.error());
  };
  wanted.span = [&](const Span& span) { progress->Add(span); };
  KB_ASSIGN_OR_RETURN(const auto scheduler, Scheduler::Create(std::move(wanted)));
  for (Task& task : run.tasks) scheduler->Submit(std::move(task));
  run.tasks.clear();
  scheduler->Drain();
  scheduler->Stop();
  if (status && Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
  return status;
}

}  // namespace kb::cli
