#include "server/faces/kernelgym_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb::server::kernelgym {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// As KernelGYM's own client sends it.
json TaskOf(const json& more = json::object()) {
  json task = {{"task_id", "parallel_task_000001_ab12cd34"},
               {"reference_code", "class Model: pass"},
               {"kernel_code", "class ModelNew: pass"},
               {"backend", "triton"},
               {"num_correct_trials", 5},
               {"num_perf_trials", 100},
               {"timeout", 180},
               {"priority", "normal"},
               {"entry_point", "Model"},
               {"is_valid", false},
               {"verbose_errors", true},
               {"enable_profiling", true},
               {"detect_decoy_kernel", true},
               {"reference_backend", nullptr}};
  task.update(more);
  return task;
}

json Read(const json& more) {
  const auto task = ReadTask(TaskOf(more), "");
  EXPECT_TRUE(task) << task.error().message;
  return task ? task->request : json();
}

std::string Refused(const json& more) {
  const auto task = ReadTask(TaskOf(more), "");
  EXPECT_FALSE(task) << more;
  return task ? "" : task.error().message;
}

TEST(KernelGymForm, ATaskBecomesARequest) {
  const Task task = ReadTask(TaskOf(), "").value();
  EXPECT_EQ(task.id, "parallel_task_000001_ab12cd34");
  EXPECT_EQ(task.reference, "class Model: pass");
  EXPECT_EQ(task.wait_s, 180);
  EXPECT_FALSE(task.anew);
  json request = task.request;
  const json left = json::parse(request["client_data"].get<std::string>());
  request.erase("client_data");
  EXPECT_EQ(request, json({{"source", "class ModelNew: pass"},
                           {"name", "candidate.py"},
                           {"protocol", "quick"},
                           {"device", "cuda"},
                           {"keys", {{"evaluation_timeout_s", 180}}}}));
  EXPECT_EQ(left["not_honoured"], json({"num_perf_trials"}));
  EXPECT_EQ(ReadTask({{"reference_code", "x"}, {"kernel_code", ""}}, "made up").value().id, "made up");
}

TEST(KernelGymForm, OptionsThatChangeAVerdictAreHonouredOrRefused) {
  EXPECT_EQ(Read({{"backend", "auto"}}).contains("device"), false);
  EXPECT_EQ(Read({{"backend", "cpp"}})["device"], "cpu");
  EXPECT_EQ(Read({{"run_performance", false}})["keys"]["measure"], false);
  EXPECT_EQ(Read({{"measure_performance", false}})["keys"]["measure"], false);
  EXPECT_FALSE(Read({{"run_performance", true}, {"measure_performance", false}})["keys"].contains("measure"));
  EXPECT_EQ(Read({{"num_correct_trials", 12}})["keys"]["warmup_rounds"], 7);
  EXPECT_EQ(Read({{"num_correct_trials", 12}, {"run_performance", false}})["keys"]["warmup_rounds"], 12);
  EXPECT_EQ(Read({{"reference_backend", "torch_compile"}})["baseline"], "compile-default");
  EXPECT_EQ(Read({{"precision", "bf16"}})["keys"]["precision"], "bf16");
  EXPECT_EQ(Read({{"priority", "high"}})["priority"], 10);
  EXPECT_EQ(Read({{"protocol", "strict"}, {"size", "small"}, {"run", "r"}})["protocol"], "strict");
  EXPECT_TRUE(ReadTask(TaskOf({{"force_refresh", true}}), "").value().anew);
  EXPECT_EQ(ReadTask(TaskOf({{"timeout", 3600}}), "").value().wait_s, kLongestWait);
  const std::string left = Read({{"num_warmup", 3}, {"new_option", 1}, {"perf_trim_count", nullptr}})["client_data"];
  EXPECT_EQ(json::parse(left)["not_honoured"], json({"new_option", "num_perf_trials", "num_warmup"}));

  const std::pair<json, const char*> refused[] = {
      {{{"entry_point", "Net"}}, "/entry_point: "},
      {{{"toolkit", "kernel_simple"}}, "/toolkit: "},
      {{{"workflow", "kernel_simple"}}, "/workflow: "},
      {{{"backend_adapter", "other"}}, "/backend_adapter: "},
      {{{"backend", "cuda_agent"}}, "/backend: there are auto, cpp, cuda, triton"},
      {{{"run_correctness", false}}, "/run_correctness: "},
      {{{"pure_compile_task", true}}, "/pure_compile_task: "},
      {{{"cases", {1}}}, "/cases: "},
      {{{"resources", {{"gpus", 2}}}}, "/resources: "},
      {{{"reference_backend", "jax"}}, "/reference_backend: "},
      {{{"num_correct_trials", 0}}, "/num_correct_trials: must be at least 1"},
      {{{"timeout", "x"}}, "/timeout: must be a number"},
      {{{"priority", "urgent"}}, "/priority: must be one of"},
      {{{"task_id", "a\nb"}}, "/task_id: must be one line"},
      {{{"kernel_code", 1}}, "/kernel_code: must be a string"}};
  for (const auto& [more, why] : refused) EXPECT_THAT(Refused(more), HasSubstr(why)) << more;
}

json Ended(const json& more) {
  json evaluation = {{"id", "e"},
                     {"state", "done"},
                     {"created", "2026-01-01T00:00:00Z"},
                     {"verdict", nullptr},
                     {"reason", ""},
                     {"speedup", nullptr},
                     {"fault", nullptr},
                     {"retryable", false},
                     {"error", nullptr},
                     {"baseline_us", nullptr},
                     {"candidate_us", nullptr},
                     {"engine_us", {{"build", 2e6}, {"calls", 5e5}}},
                     {"authorship", nullptr},
                     {"client_data", nullptr}};
  evaluation.update(more);
  return evaluation;
}

TEST(KernelGymForm, AVerdictBecomesAStatusAndACode) {
  const struct {
    json evaluation;
    const char* status;
    json code, compiled, correct;
  } cases[] = {
      {{{"verdict", "correct"}}, "completed", nullptr, true, true},
      {{{"verdict", "incorrect"}}, "completed", "CORRECTNESS_ERROR", true, false},
      {{{"verdict", "non_finite"}}, "completed", "CORRECTNESS_ERROR", true, false},
      {{{"verdict", "wrong_form"}}, "completed", "CORRECTNESS_ERROR", true, false},
      {{{"verdict", "build_failed"}}, "completed", "COMPILATION_ERROR", false, false},
      {{{"verdict", "static_rejected"}}, "completed", "VALIDATION_ERROR", false, false},
      {{{"verdict", "load_failed"}}, "completed", "INSTANTIATION_ERROR", false, false},
      {{{"verdict", "load_failed"}, {"reason", "SyntaxError: x"}}, "completed", "SYNTAX_ERROR", false, false},
      {{{"verdict", "load_failed"}, {"reason", "ModuleNotFoundError: x"}}, "completed", "IMPORT_ERROR", false, false},
      {{{"verdict", "crashed"}}, "completed", "RUNTIME_ERROR", true, false},
      {{{"verdict", "out_of_memory"}}, "completed", "RUNTIME_ERROR", true, false},
      {{{"verdict", "tampered"}}, "completed", "VALIDATION_ERROR", true, false},
      {{{"verdict", "timed_out"}}, "timeout", "TIMEOUT_ERROR", true, false},
      {{{"verdict", "of another version"}}, "completed", "UNKNOWN_ERROR", false, false},
      {{{"state", "queued"}}, "pending", nullptr, nullptr, nullptr},
      {{{"state", "preparing"}}, "processing", nullptr, nullptr, nullptr},
      {{{"state", "judging"}}, "processing", nullptr, nullptr, nullptr},
      {{{"state", "failed"}, {"fault", "engine"}, {"retryable", true}, {"error", "it broke"}},
       "failed",
       "SYSTEM_ERROR",
       nullptr,
       nullptr},
      {{{"state", "failed"}, {"fault", "machine"}, {"retryable", true}, {"error", "full"}},
       "failed",
       "RESOURCE_ERROR",
       nullptr,
       nullptr},
      {{{"state", "failed"}, {"fault", "caller"}, {"error", "no Model"}},
       "failed",
       "VALIDATION_ERROR",
       nullptr,
       nullptr},
      {{{"state", "cancelled"}, {"fault", "caller"}, {"error", "cancelled"}},
       "cancelled",
       "VALIDATION_ERROR",
       nullptr,
       nullptr},
      // Correct, but what it is worth is not known for now.
      {{{"verdict", "correct"}, {"fault", "machine"}, {"retryable", true}, {"no_speedup", "machine_busy"}},
       "failed",
       "RESOURCE_ERROR",
       true,
       true},
  };
  for (const auto& each : cases) {
    const json result = ResultOf("t", Ended(each.evaluation));
    EXPECT_EQ(result["status"], each.status) << each.evaluation;
    EXPECT_EQ(result["error_code"], each.code) << each.evaluation;
    EXPECT_EQ(result["compiled"], each.compiled) << each.evaluation;
    EXPECT_EQ(result["correctness"], each.correct) << each.evaluation;
    EXPECT_EQ(result["speedup"], nullptr);
    EXPECT_EQ(StatusOf("t", Ended(each.evaluation))["status"], each.status);
    EXPECT_EQ(result.contains("metadata") && result["metadata"].contains("retryable"), true);
  }
}

TEST(KernelGymForm, TimesAreMillisecondsAndKernelsThoseOfTheTracedCall) {
  json evaluation = Ended({{"verdict", "correct"},
                           {"speedup", 2.0},
                           {"speedup_interval", {1.9, 2.1}},
                           {"baseline_us", 3000},
                           {"candidate_us", 1500},
                           {"authorship", "mixed"}});
  json result = ResultOf("t", evaluation);
  EXPECT_EQ(result["reference_runtime"], 3.0);
  EXPECT_EQ(result["kernel_runtime"], 1.5);
  EXPECT_EQ(result["speedup"], 2.0);
  EXPECT_EQ(result["processing_time"], 2.5);
  EXPECT_EQ(result["decoy_kernel"], false);
  EXPECT_EQ(result["metadata"]["speedup_interval"], json({1.9, 2.1}));
  EXPECT_FALSE(result["metadata"].contains("num_custom_kernels")) << "there is no trace, and so no zero";
  evaluation["evaluation"] = {{"authorship",
                               {{"class", "mixed"},
                                {"kernels",
                                 {{{"origin", "custom"}, {"calls", 2}, {"us", 30.0}},
                                  {{"origin", "library"}, {"calls", 1}, {"us", 10.0}},
                                  {{"origin", "other"}, {"calls", 1}, {"us", 0.0}}}}}}};
  result = ResultOf("t", evaluation);
  EXPECT_EQ(result["metadata"]["num_custom_kernels"], 2);
  EXPECT_EQ(result["metadata"]["num_total_kernels"], 4);
  EXPECT_EQ(result["metadata"]["custom_kernel_cuda_time_in_profiling_us"], 30.0);
  EXPECT_EQ(result["metadata"]["total_kernel_run_time_in_profiling_us"], 40.0);
  evaluation["authorship"] = "library";
  EXPECT_EQ(ResultOf("t", evaluation)["decoy_kernel"], true);
  evaluation["client_data"] = Read({{"detect_decoy_kernel", false}})["client_data"];
  EXPECT_EQ(ResultOf("t", evaluation)["decoy_kernel"], nullptr);
  for (const char* own : {"the client's own [", "{\"decoys\": 5, \"not_honoured\": {}}", "3", "[]"}) {
    evaluation["client_data"] = own;
    EXPECT_EQ(ResultOf("t", evaluation)["decoy_kernel"], true) << own;
  }
}

TEST(KernelGymForm, TheQueueIsCounted) {
  const json queue = QueueOf(
      "# HELP kernelbench_evaluations_open x 3\nkernelbench_evaluations_open{state=\"queued\"} 4\n"
      "kernelbench_evaluations_open{state=\"preparing\"} 1\nkernelbench_evaluations_open{state=\"judging\"} 2\n"
      "kernelbench_evaluations_total{verdict=\"correct\"} 7\nkernelbench_evaluations_total{verdict=\"failed\"} 1\n"
      "kernelbench_evaluations_total{verdict=\"cancelled\"} 2\nother 9\n");
  EXPECT_EQ(queue, json({{"pending", 4}, {"processing", 3}, {"completed", 7}, {"failed", 3}}));
}

}  // namespace
}  // namespace kb::server::kernelgym
