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
     {.name = "request_id", .type = Type::kText, .help = "is passed over", .nullable = true, .most = kLongestName}}};

const Table kOpenEnvObservation = {
    "KernelBenchObservation",
    "The problem, and what became of the candidate. After a reset there is none, and what is of it is null.",
    {{.name = "problem_id", .type = Type::kText, .help = "its name", .required = true},
     {.name = "problem_description", .type = Type::kText, .help = "what it computes", .required = true},
     {.name = "reference_code", .type = Type::kText, .help = "its text, in PyTorch", .required = true},
     {.name = "gpu_info", .type = Type::kText, .help = "the devices that judge", .required = true},
     {.name = "turn", .type = Type::kInteger, .help = "candidates that were judged", .required = true},
     {.name = "max_turns", .type = Type::kInteger, .help = "after so many it is done", .required = true},
     {.name = "feedback", .type = Type::kText, .help = "what to tell a model", .required = true},
     {.name = "judging",
      .type = Type::kFlag,
      .help = "true: the candidate is still being judged, and the next step waits on, whatever its code",
      .required = true},
     {.name = "compilation_success",
      .type = Type::kFlag,
      .help = "it was built and loaded",
      .required = true,
      .nullable = true},
     {.name = "compilation_error", .type = Type::kText, .help = "why it was not", .required = true, .nullable = true},
     {.name = "correctness_pass", .type = Type::kFlag, .help = "it is correct", .required = true, .nullable = true},
     {.name = "max_diff",
      .type = Type::kNumber,
      .help = "the largest error of a wrong one",
      .required = true,
      .nullable = true},
     {.name = "speedup",
      .type = Type::kNumber,
      .help = "over the baseline; null: there is none",
      .required = true,
      .nullable = true},
     {.name = "speedup_interval",
      .type = Type::kList,
      .help = "in which it lies",
      .required = true,
      .nullable = true,
      .items = Type::kNumber},
     {.name = "no_speedup",
      .type = Type::kText,
      .help = "why a correct one has none",
      .required = true,
      .nullable = true},
     {.name = "authorship",
      .type = Type::kText,
      .help = "who did the work: custom, mixed or library",
      .required = true,
      .nullable = true},
     {.name = "verdict", .type = Type::kText, .help = "correct, incorrect, ...", .required = true, .nullable = true},
     {.name = "reason", .type = Type::kText, .help = "why it is not correct", .required = true, .nullable = true},
     {.name = "fault",
      .type = Type::kText,
      .help = "whose it is that there is no verdict or no speedup: candidate, engine, machine or caller",
      .required = true,
      .nullable = true},
     {.name = "retryable", .type = Type::kFlag, .help = "the same code may fare otherwise later", .required = true},
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
     {.name = "reward",
      .type = Type::kNumber,
      .help = "what this candidate is above the best so far; null: there is no number, for reasons that are not the "
              "candidate's",
      .required = true,
      .nullable = true},
     {.name = "done", .type = Type::kFlag, .help = "the episode is over", .required = true},
     {.name = "metadata", .type = Type::kMap, .help = "as in the observation", .required = true, .items = Type::kAny}}};

const Table kOpenEnvState = {
    "KernelBenchState",
    "How far an episode is.",
    {{.name = "episode_id", .type = Type::kText, .help = "null: none has begun", .required = true, .nullable = true},
     {.name = "step_count", .type = Type::kInteger, .help = "candidates that were judged", .required = true},
     {.name = "problem_id", .type = Type::kText, .help = "its name", .required = true, .nullable = true},
     {.name = "turn", .type = Type::kInteger, .help = "as step_count", .required = true},
     {.name = "max_turns", .type = Type::kInteger, .help = "after so many it is done", .required = true},
     {.name = "judging", .type = Type::kFlag, .help = "a candidate is being judged", .required = true},
     {.name = "done", .type = Type::kFlag, .help = "the episode is over", .required = true},
     {.name = "solved",
      .type = Type::kFlag,
      .help = "a candidate was correct, and its whole interval of the speedup was above 1",
      .required = true},
     {.name = "best_speedup", .type = Type::kNumber, .help = "of the correct ones", .required = true, .nullable = true},
     {.name = "best_reward",
      .type = Type::kNumber,
      .help = "what the rewards sum up to",
      .required = true,
      .nullable = true}}};

const Table kOpenEnvSchema = {
    "OpenEnvSchema",
    "JSON Schemas of what is sent.",
    {{.name = "action", .type = Type::kMap, .help = "of an action", .required = true, .items = Type::kAny},
     {.name = "observation", .type = Type::kMap, .help = "of an observation", .required = true, .items = Type::kAny},
     {.name = "state", .type = Type::kMap, .help = "of the state", .required = true, .items = Type::kAny}}};

const Table kOpenEnvMetadata = {"OpenEnvMetadata",
                                "What the environment is.",
                                {{.name = "name", .type = Type::kText, .help = "kernelbench", .required = true},
                                 {.name = "description", .type = Type::kText, .help = "what it does", .required = true},
                                 {.name = "version", .type = Type::kText, .help = "of kernelbench", .required = true}}};

nlohmann::json OpenEnvSchemas() {
  const auto of = [](const Table& table) {
    nlohmann::json schema = SchemaOf(table);
    schema["title"] = table.name;
    return schema;
  };
  return {{"action", of(kOpenEnvAction)}, {"observation", of(kOpenEnvObservation)}, {"state", of(kOpenEnvState)}};
}

}  // namespace kb::server
