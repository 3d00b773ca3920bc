#include "server/faces/openenv_tables.h"

#include "judge/candidate/folder.h"

namespace kb::server {

using Type = Field::Type;

constexpr double kLongestName = 255;

const Field kOpenEnvEpisode = {.name = "episode_id",
                               .type = Type::kText,
                               .help = "as POST /reset answered it",
                               .required = true,
                               .least = 1,
                               .most = kLongestName};

const Table kOpenEnvReset = {
    "OpenEnvReset",
    "An episode to be begun: a problem, and how its candidates are judged. Null is as if it were not there.",
    {{.name = "problem_id",
      .type = Type::kText,
      .help = "1/19, or L1_19_ReLU; without it seed chooses one",
      .nullable = true,
      .least = 1,
      .most = 200},
     {.name = "seed",
      .type = Type::kInteger,
      .help = "which problem, where problem_id names none; any without it",
      .nullable = true,
      .least = 0,
      .most = 9e15},
     {.name = "level",
      .type = Type::kInteger,
      .help = "from which level of KernelBench it is chosen; 1 to 3 without it",
      .nullable = true,
      .least = 1,
      .most = 4},
     {.name = "episode_id",
      .type = Type::kText,
      .help = "the client's name for the episode; made up without it",
      .nullable = true,
      .least = 1,
      .most = kLongestName,
      .line = true},
     {.name = "max_turns",
      .type = Type::kInteger,
      .help = "candidates that are judged; without it 10, 12, 15 or 15 at level 1, 2, 3 or 4",
      .nullable = true,
      .least = 1,
      .most = 100},
     {.name = "reward",
      .type = Type::kText,
      .help = "its name: GET /v1/rewards lists them; sure_increments without it",
      .nullable = true,
      .least = 1,
      .most = 100},
     {.name = "language",
      .type = Type::kText,
      .help = "of the code: Python without it",
      .nullable = true,
      .choices = {"py", "cpp", "cu"}},
     {.name = "size",
      .type = Type::kText,
      .help = "as in an EvaluationRequest",
      .nullable = true,
      .least = 1,
      .most = 50},
     {.name = "protocol",
      .type = Type::kText,
      .help = "as in an EvaluationRequest",
      .nullable = true,
      .least = 1,
      .most = 100},
     {.name = "keys",
      .type = Type::kMap,
      .help = "as in an EvaluationRequest",
      .nullable = true,
      .most = 50,
      .items = Type::kAny},
     {.name = "run",
      .type = Type::kText,
      .help = "as in an EvaluationRequest",
      .nullable = true,
      .least = 1,
      .most = 200},
     {.name = "model", .type = Type::kText, .help = "as in an EvaluationRequest", .nullable = true, .most = 200}}};

const Table kOpenEnvAction = {
    "KernelBenchAction",
    "A candidate.",
    {{.name = "code",
      .type = Type::kText,
      .help = "a Python file that defines ModelNew, or Model; with another language one that defines kb_forward()",
      .required = true,
      .most = kMaxCandidateBytes},
     {.name = "metadata", .type = Type::kMap, .help = "is passed over", .nullable = true, .items = Type::kAny}}};

const Table kOpenEnvStep = {
    "OpenEnvStep",
    "A candidate for an episode.",
    {{.name = "action", .type = Type::kObject, .help = "the candidate", .required = true, .table = &kOpenEnvAction},
     kOpenEnvEpisode,
     {.name = "timeout_s",
      .type = Type::kNumber,
      .help = "seconds after which it is answered that it is still judged: 50 without it, and at most",
      .nullable = true,
      .least = 0,
      .most = 86400},
     {.name = "request_id",
      .type = Type::kText,
      .help = "of the last step that was judged: it is answered once more",
      .nullable = true,
      .most = kLongestName}}};

const Table kOpenEnvObservation = {
    "KernelBenchObservation",
    "The problem, and what became of the candidate. After a reset there is none, and what is of it is null.",
    {Always("problem_id", Type::kText, "its name"),
     Always("problem_description", Type::kText, "what it computes"),
     Always("reference_code", Type::kText, "its text, in PyTorch"),
     Always("gpu_info", Type::kText, "the devices that judge"),
     Always("turn", Type::kInteger, "candidates that were judged"),
     Always("max_turns", Type::kInteger, "after so many it is done"),
     Always("feedback", Type::kText, "what to tell a model"),
     Always("judging", Type::kFlag,
            "true: the candidate is still being judged, and the next step waits on, whatever its code"),
     AlwaysOrNull("compilation_success", Type::kFlag, "it was built and loaded"),
     AlwaysOrNull("compilation_error", Type::kText, "why it was not"),
     AlwaysOrNull("correctness_pass", Type::kFlag, "it is correct"),
     AlwaysOrNull("max_diff", Type::kNumber, "the largest error of a wrong one"),
     AlwaysOrNull("speedup", Type::kNumber, "over the baseline; null: there is none"),
     {.name = "speedup_interval",
      .type = Type::kList,
      .help = "in which it lies",
      .required = true,
      .nullable = true,
      .items = Type::kNumber},
     AlwaysOrNull("no_speedup", Type::kText, "why a correct one has none"),
     AlwaysOrNull("authorship", Type::kText, "who did the work: custom, mixed or library"),
     AlwaysOrNull("verdict", Type::kText, "correct, incorrect, ..."),
     AlwaysOrNull("reason", Type::kText, "why it is not correct"),
     AlwaysOrNull("fault", Type::kText,
                  "whose it is that there is no verdict or no speedup: candidate, engine, machine or caller"),
     Always("retryable", Type::kFlag, "the same code may fare otherwise later"),
     {.name = "metadata",
      .type = Type::kMap,
      .help = "episode_id, evaluation_id, reward_name, reward_applicable, no_reward and best_reward",
      .required = true,
      .items = Type::kAny}}};

const Table kOpenEnvResult = {
    "OpenEnvResult",
    "What a reset or a step answers.",
    {{.name = "observation",
      .type = Type::kObject,
      .help = "what is seen",
      .required = true,
      .table = &kOpenEnvObservation},
     AlwaysOrNull(
         "reward", Type::kNumber,
         "what this candidate is above the best so far; null: there is no number, for reasons that are not the "
         "candidate's"),
     Always("done", Type::kFlag, "the episode is over"),
     {.name = "metadata", .type = Type::kMap, .help = "as in the observation", .required = true, .items = Type::kAny}}};

const Table kOpenEnvState = {
    "KernelBenchState",
    "How far an episode is.",
    {AlwaysOrNull("episode_id", Type::kText, "null: none has begun"),
     Always("step_count", Type::kInteger, "candidates that were judged"),
     AlwaysOrNull("problem_id", Type::kText, "its name"), Always("turn", Type::kInteger, "as step_count"),
     Always("max_turns", Type::kInteger, "after so many it is done"),
     Always("judging", Type::kFlag, "a candidate is being judged"), Always("done", Type::kFlag, "the episode is over"),
     Always("solved", Type::kFlag, "a candidate was correct, and its whole interval of the speedup was above 1"),
     AlwaysOrNull("best_speedup", Type::kNumber, "of the correct ones"),
     AlwaysOrNull("best_reward", Type::kNumber, "what the rewards sum up to")}};

const Table kOpenEnvSchema = {
    "OpenEnvSchema",
    "JSON Schemas of what is sent.",
    {{.name = "action", .type = Type::kMap, .help = "of an action", .required = true, .items = Type::kAny},
     {.name = "observation", .type = Type::kMap, .help = "of an observation", .required = true, .items = Type::kAny},
     {.name = "state", .type = Type::kMap, .help = "of the state", .required = true, .items = Type::kAny}}};

const Table kOpenEnvMetadata = {
    "OpenEnvMetadata",
    "What the environment is.",
    {Always("name", Type::kText, "kernelbench"), Always("description", Type::kText, "what it does"),
     Always("version", Type::kText, "of kernelbench")}};

nlohmann::json OpenEnvSchemas() {
  const auto of = [](const Table& table) {
    nlohmann::json schema = SchemaOf(table);
    schema["title"] = table.name;
    return schema;
  };
  return {{"action", of(kOpenEnvAction)}, {"observation", of(kOpenEnvObservation)}, {"state", of(kOpenEnvState)}};
}

}  // namespace kb::server
