// The objects of KernelGYM's protocol.
#include "judge/candidate/folder.h"
#include "server/faces/kernelgym_form.h"
#include "server/order.h"

namespace kb::server::kernelgym {
namespace {

using Type = Field::Type;

constexpr double kMostTasks = 100;

Field Optional(const char* name, Type type, const char* help) {
  return {.name = name, .type = type, .help = help, .nullable = true};
}

}  // namespace

const Table kTask = {
    "KernelGymTask",
    "A candidate for a reference, as clients of KernelGYM send it. docs/guide/kernelgym.md says what becomes of each "
    "option, also of those that are not listed.",
    {
        {.name = "task_id",
         .type = Type::kText,
         .help = "by which it is asked for; without it one that the same task has again",
         .nullable = true,
         .least = 1,
         .most = 200,
         .line = true},
        {.name = "reference_code",
         .type = Type::kText,
         .help = "Python that defines Model, get_inputs() and get_init_inputs(). The text of one of our problems is "
                 "that problem; any other needs the right problems",
         .required = true,
         .least = 1,
         .most = kMostProblemBytes},
        {.name = "kernel_code",
         .type = Type::kText,
         .help = "Python that defines ModelNew",
         .required = true,
         .most = kMaxCandidateBytes},
        Optional("entry_point", Type::kText, "Model, and ModelNew of the candidate"),
        Optional("backend", Type::kText, "auto, or what the candidate runs on: cuda, triton, ..., cpp"),
        Optional("toolkit", Type::kText, "kernelbench"),
        Optional("backend_adapter", Type::kText, "kernelbench"),
        Optional("workflow", Type::kText, "kernelbench"),
        {.name = "num_correct_trials",
         .type = Type::kInteger,
         .help = "on at least so many inputs it is compared: 5 without it",
         .nullable = true,
         .least = 1,
         .most = 100},
        {.name = "timeout",
         .type = Type::kNumber,
         .help = "seconds that the candidate has, and that the answer is waited for: 300 without it, and then the "
                 "candidate has what the protocol says",
         .nullable = true,
         .least = 1,
         .most = 3600},
        {.name = "priority",
         .type = Type::kText,
         .help = "among the client's own",
         .nullable = true,
         .choices = {"low", "normal", "high"}},
        Optional("force_refresh", Type::kFlag, "true: judged anew, though there is a result"),
        Optional("reference_backend", Type::kText, "what it is timed against: pytorch or torch_compile"),
        Optional("run_correctness", Type::kFlag, "true"),
        Optional("run_performance", Type::kFlag, "false: no speedup"),
        Optional("measure_performance", Type::kFlag, "the same, where there is no run_performance"),
        Optional("pure_compile_task", Type::kFlag, "false"),
        Optional("detect_decoy_kernel", Type::kFlag, "false: decoy_kernel is null"),
        {.name = "precision",
         .type = Type::kText,
         .help = "of the problem",
         .nullable = true,
         .choices = {"fp32", "fp16", "bf16"}},
        Optional("resources", Type::kAny, "one GPU at most"),
        Optional("cases", Type::kAny, "none"),
        Optional("cases_code", Type::kAny, "none"),
        Optional("protocol", Type::kText, "of ours, which KernelGYM does not have: quick without it"),
        Optional("size", Type::kText, "of ours, as EvaluationRequest has it"),
        Optional("run", Type::kText, "of ours, as EvaluationRequest has it"),
        Optional("model", Type::kText, "of ours, as EvaluationRequest has it"),
    },
    true};

const Table kTaskResult = {
    "KernelGymResult",
    "What has come of a task.",
    {Always("task_id", Type::kText, "as it was sent"),
     {.name = "status",
      .type = Type::kText,
      .help = "completed: there is a verdict. failed: there is none and will be none",
      .required = true,
      .choices = {"completed", "failed", "timeout", "cancelled"}},
     AlwaysOrNull("compiled", Type::kFlag, "it was built and loaded"),
     AlwaysOrNull("correctness", Type::kFlag, "it is correct"),
     AlwaysOrNull("decoy_kernel", Type::kFlag, "a library did its work; null: that is not known, or was not asked for"),
     AlwaysOrNull("reference_runtime", Type::kNumber, "milliseconds of a call of the baseline"),
     AlwaysOrNull("kernel_runtime", Type::kNumber, "milliseconds of a call of the candidate"),
     AlwaysOrNull("speedup", Type::kNumber, "over the baseline; null: there is none"),
     AlwaysOrNull("metadata", Type::kAny, "verdict, interval, fault, what was not honoured, kernels of a traced call"),
     AlwaysOrNull("error_message", Type::kText, "why it is not correct, or why there is no verdict"),
     AlwaysOrNull("error_code", Type::kText, "COMPILATION_ERROR, CORRECTNESS_ERROR, ..."),
     AlwaysOrNull("submitted_at", Type::kText, "when it was accepted, UTC"),
     AlwaysOrNull("completed_at", Type::kText, "null"),
     AlwaysOrNull("processing_time", Type::kNumber, "seconds that were spent on it")}};

const Table kTaskBatch = {"KernelGymBatch",
                          "Tasks, each as by itself.",
                          {Optional("batch_id", Type::kText, "names those of its tasks that have no task_id"),
                           {.name = "tasks",
                            .type = Type::kList,
                            .help = "at most 100",
                            .required = true,
                            .least = 1,
                            .most = kMostTasks,
                            .table = &kTask}},
                          true};

const Table kTaskBatchResult = {"KernelGymBatchResult",
                                "What has come of a batch.",
                                {AlwaysOrNull("batch_id", Type::kText, "as it was sent"),
                                 Always("total_tasks", Type::kInteger, "in the batch"),
                                 Always("completed_tasks", Type::kInteger, "that have a verdict"),
                                 Always("failed_tasks", Type::kInteger, "that have none and will have none"),
                                 {.name = "results",
                                  .type = Type::kList,
                                  .help = "in the order of the tasks; of one that was refused with error_code, "
                                          "error_message and metadata alone",
                                  .required = true,
                                  .items = Type::kAny},
                                 {.name = "batch_status",
                                  .type = Type::kText,
                                  .help = "all have ended",
                                  .required = true,
                                  .choices = {"completed"}}}};

const Table kTaskStatus = {"KernelGymStatus",
                           "How far a task is.",
                           {Always("task_id", Type::kText, "as it was sent"),
                            {.name = "status",
                             .type = Type::kText,
                             .help = "as of its result",
                             .required = true,
                             .choices = {"pending", "processing", "completed", "failed", "timeout", "cancelled"}},
                            AlwaysOrNull("error_message", Type::kText, "as of its result"),
                            AlwaysOrNull("progress", Type::kNumber, "null"),
                            AlwaysOrNull("queue_position", Type::kInteger, "null"),
                            AlwaysOrNull("assigned_device", Type::kText, "null"),
                            AlwaysOrNull("estimated_completion", Type::kText, "null")}};

const Table kQueueStatus = {"KernelGymQueue",
                            "How much there is to do, of all clients.",
                            {Always("pending", Type::kInteger, "that wait"),
                             Always("processing", Type::kInteger, "that are prepared or judged"),
                             Always("completed", Type::kInteger, "that have a verdict, since the start"),
                             Always("failed", Type::kInteger, "that failed or were cancelled, since the start")}};

}  // namespace kb::server::kernelgym
