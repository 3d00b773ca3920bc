#include "server/faces/kernelgym_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>

#include "base/json.h"

namespace kb::server::kernelgym {
namespace {

using nlohmann::json;

constexpr int kComparedAnyway = 5;  // rounds, by every protocol
constexpr size_t kMostNamed = 50;   // of options that are not honoured

// What changes nothing about a verdict here.
constexpr std::array<std::string_view, 22> kWithoutMeaning = {"uuid",
                                                              "use_reference_cache",
                                                              "is_valid",
                                                              "verbose_errors",
                                                              "device_preference",
                                                              "enable_profiling",
                                                              "enable_triton_detection",
                                                              "run_triton_detection",
                                                              "enable_ncu",
                                                              "enable_compute_sanitizer",
                                                              "compute_sanitizer_mode",
                                                              "memory_ratio_warning_threshold",
                                                              "split_compile_and_execute",
                                                              "enable_compile_artifact_cache",
                                                              "task_stage",
                                                              "required_resource",
                                                              "assigned_worker",
                                                              "compile_artifact",
                                                              "target_node_id",
                                                              "target_hostname",
                                                              "task_timeout",
                                                              "task_timeout_in_client"};

tl::unexpected<Error> Refuse(const char* field, const std::string& why) {
  return Fail(ErrorCode::kUsage, fmt::format("/{}: {}", field, why));
}

json ValueOf(const json& task, const char* key) {
  const auto found = task.find(key);
  return found == task.end() ? json() : *found;
}

bool IsFalse(const json& task, const char* key) { return ValueOf(task, key) == false; }

// What a verdict of ours never is, or never is without.
Status CheckPossible(const json& task) {
  for (const char* key : {"toolkit", "backend_adapter", "workflow"}) {
    const json value = ValueOf(task, key);
    if (!value.is_null() && value != "kernelbench") return Refuse(key, "there is kernelbench alone");
  }
  const json entry = ValueOf(task, "entry_point");
  if (!entry.is_null() && entry != "Model" && entry != "ModelNew") {
    return Refuse("entry_point", "the reference's class is Model, and the candidate's is ModelNew");
  }
  if (IsFalse(task, "run_correctness")) return Refuse("run_correctness", "every candidate is compared");
  if (ValueOf(task, "pure_compile_task") == true) return Refuse("pure_compile_task", "every candidate is compared");
  for (const char* key : {"cases", "cases_code"}) {
    if (!ValueOf(task, key).is_null()) return Refuse(key, "inputs are those of reference_code: its get_inputs()");
  }
  const json resources = ValueOf(task, "resources");
  if (resources.is_object() && resources.contains("gpus") && resources["gpus"] != 1) {
    return Refuse("resources", "a candidate is judged on one GPU");
  }
  return {};
}

Status ReadBackend(const json& task, json* request) {
  const std::string backend = ValueOf(task, "backend").is_null() ? "auto" : task["backend"].get<std::string>();
  constexpr std::array<std::string_view, 5> kOfGpus = {"cuda", "triton", "tilelang", "cute", "thunderkittens"};
  if (std::find(kOfGpus.begin(), kOfGpus.end(), backend) != kOfGpus.end()) {
    (*request)["device"] = "cuda";
  } else if (backend == "cpp") {
    (*request)["device"] = "cpu";
  } else if (backend != "auto") {
    return Refuse("backend", fmt::format("there are auto, cpp, {}; kernel_code is a Python file that defines ModelNew",
                                         fmt::join(kOfGpus, ", ")));
  }
  return {};
}

Status ReadKeys(const json& task, json* request) {
  json keys = json::object();
  const json performance = ValueOf(task, "run_performance");
  const bool measure = !(performance.is_null() ? IsFalse(task, "measure_performance") : performance == false);
  if (!measure) keys["measure"] = false;
  const json trials = ValueOf(task, "num_correct_trials");
  if (trials.is_number() && trials > kComparedAnyway) {
    const int compared = trials.get<int>();
    keys["warmup_rounds"] = measure ? std::max(2, compared - kComparedAnyway) : compared;
  }
  if (const json timeout = ValueOf(task, "timeout"); !timeout.is_null()) keys["evaluation_timeout_s"] = timeout;
  if (const json precision = ValueOf(task, "precision"); !precision.is_null()) keys["precision"] = precision;
  if (!keys.empty()) (*request)["keys"] = keys;
  const json reference = ValueOf(task, "reference_backend");
  if (reference == "torch_compile") {
    (*request)["baseline"] = "compile-default";
  } else if (!reference.is_null() && reference != "pytorch" && reference != "") {
    return Refuse("reference_backend", "there are pytorch and torch_compile");
  }
  return {};
}

std::vector<std::string> NotHonoured(const json& task) {
  std::vector<std::string> names;
  for (const auto& [key, value] : task.items()) {
    const bool known = std::any_of(kTask.fields.begin(), kTask.fields.end(),
                                   [&name = key](const Field& field) { return field.name == name; });
    const bool counts =
        !value.is_null() && std::find(kWithoutMeaning.begin(), kWithoutMeaning.end(), key) == kWithoutMeaning.end();
    if (!known && counts && names.size() < kMostNamed) names.push_back(key.substr(0, 50));
  }
  return names;
}

struct Meaning {
  const char* verdict;
  const char* status;
  const char* code;  // nullptr: none
  bool compiled, correct;
};

constexpr Meaning kMeanings[] = {
    {"not_run", "completed", "UNKNOWN_ERROR", false, false},
    {"static_rejected", "completed", "VALIDATION_ERROR", false, false},
    {"build_failed", "completed", "COMPILATION_ERROR", false, false},
    {"load_failed", "completed", "INSTANTIATION_ERROR", false, false},
    {"crashed", "completed", "RUNTIME_ERROR", true, false},
    {"timed_out", "timeout", "TIMEOUT_ERROR", true, false},
    {"out_of_memory", "completed", "RUNTIME_ERROR", true, false},
    {"wrong_form", "completed", "CORRECTNESS_ERROR", true, false},
    {"non_finite", "completed", "CORRECTNESS_ERROR", true, false},
    {"incorrect", "completed", "CORRECTNESS_ERROR", true, false},
    {"tampered", "completed", "VALIDATION_ERROR", true, false},
    {"correct", "completed", nullptr, true, true},
};

const Meaning& MeaningOf(const json& evaluation) {
  const std::string verdict = ValueOf(evaluation, "verdict").is_string() ? evaluation["verdict"] : "";
  const auto* found = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                   [&](const Meaning& meaning) { return verdict == meaning.verdict; });
  return found == std::end(kMeanings) ? kMeanings[0] : *found;
}

std::string CodeOf(const Meaning& meaning, const std::string& reason) {
  if (meaning.verdict != std::string_view("load_failed")) return meaning.code;
  for (const char* error : {"SyntaxError", "IndentationError", "TabError"}) {
    if (reason.find(error) != std::string::npos) return "SYNTAX_ERROR";
  }
  for (const char* error : {"ImportError", "ModuleNotFoundError"}) {
    if (reason.find(error) != std::string::npos) return "IMPORT_ERROR";
  }
  return meaning.code;
}

std::string StatusNameOf(const json& evaluation) {
  const std::string state = evaluation["state"];
  if (state == "queued") return "pending";
  if (state == "preparing" || state == "judging") return "processing";
  if (state != "done") return state;  // failed, cancelled
  return IsSpoilt(evaluation) ? "failed" : MeaningOf(evaluation).status;
}

// Of an evaluation without a verdict, or whose speedup other programs have spoilt.
const char* CodeOfFault(const json& fault) {
  if (fault == "machine") return "RESOURCE_ERROR";
  return fault == "caller" ? "VALIDATION_ERROR" : "SYSTEM_ERROR";
}

json MilliSeconds(const json& us) { return us.is_number() ? json(us.get<double>() / 1000) : json(); }

// Of a traced call on a GPU. Copies and fills are no kernels.
void AddKernels(const json& measured, json* metadata) {
  const json kernels = ValueOf(ValueOf(measured, "authorship"), "kernels");
  if (!kernels.is_array()) return;
  int64_t own = 0, all = 0;
  double own_us = 0, all_us = 0;
  for (const json& kernel : kernels) {
    const auto calls = kernel.value("calls", int64_t{0});
    const double us = kernel.value("us", 0.0);
    all += calls;
    all_us += us;
    if (kernel.value("origin", "") != "custom") continue;
    own += calls;
    own_us += us;
  }
  (*metadata)["num_custom_kernels"] = own;
  (*metadata)["num_total_kernels"] = all;
  (*metadata)["custom_kernel_cuda_time_in_profiling_us"] = own_us;
  (*metadata)["total_kernel_run_time_in_profiling_us"] = all_us;
  if (all_us > 0) (*metadata)["custom_kernel_cuda_time_coverage"] = own_us / all_us;
}

// What ReadTask() left for later in what the evaluation repeats; a client may have put anything there.
json LeftOf(const json& evaluation) {
  const json left = ValueOf(evaluation, "client_data");
  json read = left.is_string() ? json::parse(left.get<std::string>(), nullptr, false) : json();
  return read.is_object() ? read : json::object();
}

json MetadataOf(const json& evaluation) {
  json metadata = json::object();
  for (const char* key : {"verdict", "problem", "size", "protocol", "device", "speedup_interval", "no_speedup",
                          "authorship", "isolation", "fault", "retryable", "evaluation_id"}) {
    metadata[key] = ValueOf(evaluation, key);
  }
  metadata["id"] = evaluation["id"];
  metadata["not_honoured"] = ValueOf(LeftOf(evaluation), "not_honoured");
  const json measured = ValueOf(evaluation, "evaluation");
  if (!measured.is_object()) return metadata;
  metadata["backend"] = ValueOf(ValueOf(measured, "candidate"), "backend");
  metadata["gpu_name"] = ValueOf(ValueOf(measured, "device_info"), "name");
  metadata["baseline"] = ValueOf(measured, "baseline");
  AddKernels(measured, &metadata);
  return metadata;
}

double SecondsIn(const json& steps) {
  double us = 0;
  for (const auto& [step, spent] : steps.items()) us += spent.is_number() ? spent.get<double>() : 0;
  return us / 1e6;
}

// Who sent the candidate knows its text and its problem's under other names.
std::string InTheirNames(std::string detail) {
  for (const auto& [ours, theirs] :
       {std::pair("/source", "/kernel_code"), {"/problem_text", "/reference_code"}, {"/device", "/backend"}}) {
    if (detail.starts_with(ours)) detail.replace(0, std::string_view(ours).size(), theirs);
  }
  return detail;
}

json RefusalOf(const std::string& task_id, const char* code, const std::string& why, const json& fault,
               const json& retryable) {
  json refused = {{"status", "failed"},
                  {"error_message", why},
                  {"error_code", code},
                  {"metadata", {{"fault", fault}, {"retryable", retryable}}}};
  if (!task_id.empty()) refused["task_id"] = task_id;
  return refused;
}

}  // namespace

Result<Task> ReadTask(const json& sent, const std::string& id) {
  KB_RETURN_IF_ERROR(Check(kTask, sent));
  KB_RETURN_IF_ERROR(CheckPossible(sent));
  Task task;
  task.id = ValueOf(sent, "task_id").is_null() ? id : sent["task_id"].get<std::string>();
  task.reference = sent["reference_code"];
  task.anew = ValueOf(sent, "force_refresh") == true;
  if (const json timeout = ValueOf(sent, "timeout"); !timeout.is_null()) task.wait_s = timeout;
  task.wait_s = std::min(task.wait_s, kLongestWait);
  json& request = task.request;
  request = {{"source", sent["kernel_code"]}, {"name", "candidate.py"}, {"protocol", "quick"}};
  KB_RETURN_IF_ERROR(ReadBackend(sent, &request));
  KB_RETURN_IF_ERROR(ReadKeys(sent, &request));
  for (const char* key : {"protocol", "size", "run", "model"}) {
    if (const json value = ValueOf(sent, key); !value.is_null()) request[key] = value;
  }
  const json priority = ValueOf(sent, "priority");
  if (priority == "low") request["priority"] = -10;
  if (priority == "high") request["priority"] = 10;
  request["client_data"] = Dump(json{
      {"task_id", task.id}, {"not_honoured", NotHonoured(sent)}, {"decoys", !IsFalse(sent, "detect_decoy_kernel")}});
  return task;
}

bool IsSpoilt(const json& evaluation) {
  return (evaluation["state"] == "done" || evaluation["state"] == "failed") && ValueOf(evaluation, "retryable") == true;
}

json ResultOf(const std::string& task_id, const json& evaluation) {
  json result = {{"task_id", task_id},
                 {"status", StatusNameOf(evaluation)},
                 {"submitted_at", ValueOf(evaluation, "created")},
                 {"metadata", MetadataOf(evaluation)}};
  for (const char* key : {"compiled", "correctness", "decoy_kernel", "reference_runtime", "kernel_runtime", "speedup",
                          "error_message", "error_code", "completed_at", "processing_time"}) {
    result[key] = nullptr;
  }
  const std::string state = evaluation["state"];
  if (state == "failed" || state == "cancelled") {
    result["error_message"] = ValueOf(evaluation, "error");
    result["error_code"] = CodeOfFault(ValueOf(evaluation, "fault"));
  }
  if (state != "done") return result;
  const Meaning& meaning = MeaningOf(evaluation);
  result["compiled"] = meaning.compiled;
  result["correctness"] = meaning.correct;
  result["reference_runtime"] = MilliSeconds(ValueOf(evaluation, "baseline_us"));
  result["kernel_runtime"] = MilliSeconds(ValueOf(evaluation, "candidate_us"));
  result["speedup"] = ValueOf(evaluation, "speedup");
  result["processing_time"] = SecondsIn(ValueOf(evaluation, "engine_us"));
  const json authorship = ValueOf(evaluation, "authorship");
  if (!authorship.is_null() && !IsFalse(LeftOf(evaluation), "decoys")) {
    result["decoy_kernel"] = authorship == "library";
  }
  if (meaning.code != nullptr) {
    const json reason = ValueOf(evaluation, "reason");
    result["error_message"] = reason;
    result["error_code"] = CodeOf(meaning, reason.is_string() ? reason.get<std::string>() : "");
  } else if (IsSpoilt(evaluation)) {
    result["error_message"] = "it is correct, but the machine was too busy to time it: ask again";
    result["error_code"] = CodeOfFault(ValueOf(evaluation, "fault"));
  }
  return result;
}

json StatusOf(const std::string& task_id, const json& evaluation) {
  const json result = ResultOf(task_id, evaluation);
  json status = {{"progress", nullptr},
                 {"queue_position", nullptr},
                 {"assigned_device", nullptr},
                 {"estimated_completion", nullptr}};
  for (const char* key : {"task_id", "status", "error_message"}) status[key] = result[key];
  return status;
}

json RefusalOf(const std::string& task_id, const HttpAnswer& answer) {
  const json told = json::parse(answer.body, nullptr, false);
  const json detail = told.is_object() ? ValueOf(told, "detail") : json();
  const std::string why = InTheirNames(detail.is_string() ? detail.get<std::string>() : "");
  const bool callers = answer.status < 500 && answer.status != 429;
  return RefusalOf(task_id,
                   callers                ? "VALIDATION_ERROR"
                   : answer.status == 500 ? "SYSTEM_ERROR"
                                          : "RESOURCE_ERROR",
                   why, told.is_object() ? ValueOf(told, "fault") : json(),
                   told.is_object() ? ValueOf(told, "retryable") : json());
}

json RefusalOf(const std::string& task_id, int status, const std::string& why) {
  return RefusalOf(task_id, status < 500 ? "VALIDATION_ERROR" : "SYSTEM_ERROR", why, status < 500 ? "caller" : "engine",
                   status >= 500);
}

json QueueOf(const std::string& metrics) {
  int64_t pending = 0, processing = 0, completed = 0, failed = 0;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    if (line.starts_with('#') || space == std::string::npos) continue;
    const std::string name = line.substr(0, space);
    const auto count = static_cast<int64_t>(std::strtod(line.c_str() + space, nullptr));
    if (name == "kernelbench_evaluations_open{state=\"queued\"}") {
      pending += count;
    } else if (name.starts_with("kernelbench_evaluations_open")) {
      processing += count;
    } else if (name.starts_with("kernelbench_evaluations_total")) {
      const bool without = name.ends_with("\"failed\"}") || name.ends_with("\"cancelled\"}");
      (without ? failed : completed) += count;
    }
  }
  return {{"pending", pending}, {"processing", processing}, {"completed", completed}, {"failed", failed}};
}

}  // namespace kb::server::kernelgym
