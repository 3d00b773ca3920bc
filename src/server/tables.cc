#include "server/tables.h"

#include "server/evaluation_view.h"
#include "server/order.h"

namespace kb::server {

using Type = Field::Type;

// A GPU and its compilers are kept busy by some hundred; a trainer's step has 128.
constexpr double kMostOfABatch = 1000;

const Table kProblemDetails = {
    "ProblemDetails",
    "Why a request is not served (RFC 9457).",
    {{.name = "type", .type = Type::kText, .help = "about:blank", .required = true},
     {.name = "title", .type = Type::kText, .help = "of the status", .required = true},
     {.name = "status", .type = Type::kInteger, .help = "of the answer", .required = true},
     {.name = "detail", .type = Type::kText, .help = "what is wrong, and what to do", .required = true},
     {.name = "fault", .type = Type::kText, .help = "whose it is: caller, engine or machine"},
     {.name = "retryable", .type = Type::kFlag, .help = "the same request may be served later"}},
    true};

const Table kHealth = {
    "Health",
    "Whether the service judges, and what with.",
    {{.name = "status", .type = Type::kText, .help = "healthy", .required = true, .choices = {"healthy"}},
     {.name = "version", .type = Type::kText, .help = "of kernelbench", .required = true},
     {.name = "device", .type = Type::kText, .help = "cpu or cuda", .required = true},
     {.name = "devices", .type = Type::kList, .help = "all that judge", .required = true}}};

const Table kBatchRequest = {"BatchRequest",
                             "Candidates that are accepted together, or not at all.",
                             {{.name = "evaluations",
                               .type = Type::kList,
                               .help = "each as by itself",
                               .required = true,
                               .least = 1,
                               .most = kMostOfABatch,
                               .table = &kEvaluationRequest}}};

const Table kBatch = {"Batch",
                      "Evaluations that were accepted together.",
                      {{.name = "id", .type = Type::kText, .help = "32 hexadecimal digits", .required = true},
                       {.name = "open", .type = Type::kInteger, .help = "how many have not ended", .required = true},
                       {.name = "evaluations",
                        .type = Type::kList,
                        .help = "in the order of the request",
                        .required = true,
                        .table = &kEvaluation}}};

// What compilations and profiles tell beside their own.
static std::vector<Field> WithState(std::vector<Field> fields) {
  std::vector<Field> all = {
      {.name = "id", .type = Type::kText, .help = "32 hexadecimal digits", .required = true},
      {.name = "state",
       .type = Type::kText,
       .help = "how far it is; the last three are final",
       .required = true,
       .choices = {"queued", "preparing", "judging", "done", "failed", "cancelled"}},
      {.name = "problem", .type = Type::kText, .help = "its name", .required = true},
      {.name = "candidate", .type = Type::kObject, .help = "what it is of", .required = true, .table = &kCandidate},
      {.name = "verdict",
       .type = Type::kText,
       .help = "of a done one: what an evaluation would end with as well",
       .required = true,
       .nullable = true},
      {.name = "reason", .type = Type::kText, .help = "why it is no better", .required = true, .nullable = true},
      {.name = "notes", .type = Type::kList, .help = "what else there is to say", .required = true},
      {.name = "fault",
       .type = Type::kText,
       .help = "whose it is: candidate, engine, machine or caller; null: nobody's",
       .required = true,
       .nullable = true},
      {.name = "retryable", .type = Type::kFlag, .help = "asked for again it may end otherwise", .required = true},
      {.name = "error",
       .type = Type::kText,
       .help = "why it failed or was cancelled",
       .required = true,
       .nullable = true}};
  all.insert(all.end(), fields.begin(), fields.end());
  return all;
}

const Table kCompilation = {
    "Compilation", "A candidate that is built and not judged.",
    WithState({{.name = "compiled",
                .type = Type::kFlag,
                .help = "its text is accepted and all that could be built is; null: it has not ended",
                .required = true,
                .nullable = true},
               {.name = "findings",
                .type = Type::kList,
                .help = "of the analysis of its text, as evidence.static_findings of docs/evaluation.md",
                .required = true,
                .items = Type::kAny},
               {.name = "compiler_output",
                .type = Type::kText,
                .help = "what compilers said",
                .required = true,
                .nullable = true}})};

const Table kProfile = {
    "Profile", "Where a candidate's time goes on a GPU.",
    WithState({{.name = "profile",
                .type = Type::kAny,
                .help = "its kernels and what they suggest, as docs/gpu.md describes them, without counters; null: it "
                        "is not correct, or no kernel was traced",
                .required = true},
               {.name = "evaluation",
                .type = Type::kAny,
                .help = "all that was found out, as docs/evaluation.md describes it; null: it has not ended",
                .required = true}})};

const Table kRpcMessage = {
    "RpcMessage",
    "A request, a notification or a response of JSON-RPC 2.0.",
    {{.name = "jsonrpc", .type = Type::kText, .help = "2.0", .required = true, .choices = {"2.0"}},
     {.name = "id", .type = Type::kAny, .help = "of a request, and of the response to it: a text or an integer"},
     {.name = "method", .type = Type::kText, .help = "of a request or a notification"},
     {.name = "params", .type = Type::kAny, .help = "of those"},
     {.name = "result", .type = Type::kAny, .help = "of a response"},
     {.name = "error", .type = Type::kAny, .help = "of a response in its place: code, message, perhaps data"}},
    true};

const Table kRewardRequest = {"RewardRequest",
                              "Candidates whose rewards are wanted, in one answer.",
                              {{.name = "reward",
                                .type = Type::kText,
                                .help = "its name: GET /v1/rewards lists them",
                                .required = true,
                                .least = 1,
                                .most = 100},
                               {.name = "evaluations",
                                .type = Type::kList,
                                .help = "each as by itself",
                                .required = true,
                                .least = 1,
                                .most = kMostOfABatch,
                                .table = &kEvaluationRequest},
                               {.name = "best",
                                .type = Type::kList,
                                .help = "of a reward of increments: the largest so far of each, or null",
                                .most = kMostOfABatch,
                                .items = Type::kAny},
                               {.name = "timeout_s",
                                .type = Type::kNumber,
                                .help = "seconds after which what has not ended has no reward: 600 without it",
                                .least = 0,
                                .most = 86400}}};

static const Table kRewarded = {
    "Rewarded",
    "The reward of one candidate.",
    {{.name = "reward",
      .type = Type::kNumber,
      .help = "null: there is none, for reasons that are not the candidate's",
      .required = true,
      .nullable = true},
     {.name = "evaluation", .type = Type::kObject, .help = "what it is for", .required = true, .table = &kEvaluation}}};

const Table kRewards = {"Rewards",
                        "Rewards, in the order of the request.",
                        {{.name = "rewards",
                          .type = Type::kList,
                          .help = "one for each candidate",
                          .required = true,
                          .table = &kRewarded}}};

static const Table kRewardInfo = {
    "RewardInfo",
    "How a reward is made of an evaluation (rewards/*.toml).",
    {{.name = "name", .type = Type::kText, .help = "by which it is asked for", .required = true},
     {.name = "description", .type = Type::kText, .help = "what it pays for", .required = true},
     {.name = "source", .type = Type::kText, .help = "where it is from", .required = true}}};

const Table kRewardList = {
    "RewardList",
    "All rewards.",
    {{.name = "rewards", .type = Type::kList, .help = "by name", .required = true, .table = &kRewardInfo}}};

static const Table kProblemLine = {
    "ProblemLine",
    "A problem, in short.",
    {{.name = "name", .type = Type::kText, .help = "by which it is asked for", .required = true},
     {.name = "title", .type = Type::kText, .help = "what it computes", .required = true},
     {.name = "deck", .type = Type::kText, .help = "that it is part of", .required = true},
     {.name = "level", .type = Type::kInteger, .help = "0: the deck has none", .required = true}}};

const Table kProblemList = {
    "ProblemList",
    "Problems.",
    {{.name = "problems", .type = Type::kList, .help = "in their order", .required = true, .table = &kProblemLine}}};

const Table kProblemInfo = {
    "ProblemInfo",
    "A problem, with its text.",
    {{.name = "name", .type = Type::kText, .help = "by which it is asked for", .required = true},
     {.name = "title", .type = Type::kText, .help = "what it computes", .required = true},
     {.name = "deck", .type = Type::kText, .help = "that it is part of", .required = true},
     {.name = "level", .type = Type::kInteger, .help = "0: the deck has none", .required = true},
     {.name = "sizes", .type = Type::kList, .help = "at which it can be judged", .required = true},
     {.name = "precisions", .type = Type::kList, .help = "in which it can be judged", .required = true},
     {.name = "unscored",
      .type = Type::kText,
      .help = "why it counts for no score",
      .required = true,
      .nullable = true},
     {.name = "source", .type = Type::kText, .help = "the reference, in PyTorch", .required = true}}};

static const Table kProtocolInfo = {
    "ProtocolInfo",
    "Rules of judgement.",
    {{.name = "name", .type = Type::kText, .help = "by which they are asked for", .required = true},
     {.name = "description", .type = Type::kText, .help = "what they are for", .required = true},
     {.name = "keys", .type = Type::kMap, .help = "each key's value", .required = true, .items = Type::kAny}}};

const Table kProtocolList = {
    "ProtocolList",
    "All protocols.",
    {{.name = "protocols", .type = Type::kList, .help = "by name", .required = true, .table = &kProtocolInfo}}};

const Table kRunList = {"RunList",
                        "Runs in the store that the client may see: its own; with the right admin, all.",
                        {{.name = "runs", .type = Type::kList, .help = "names, oldest first", .required = true}}};

const Table kServiceInfo = {
    "ServiceInfo",
    "The process that serves, and what it judges with.",
    {{.name = "pid", .type = Type::kInteger, .help = "of the process", .required = true},
     {.name = "open", .type = Type::kInteger, .help = "evaluations that have not ended", .required = true},
     {.name = "identity", .type = Type::kMap, .help = "program, devices, limits, environment", .required = true}}};

static const Field kNext = {.name = "next",
                            .type = Type::kInteger,
                            .help = "`before` of the page after this one; null: there is none",
                            .required = true,
                            .nullable = true};

const Table kEvaluationPage = {"EvaluationPage",
                               "A page of the client's evaluations.",
                               {{.name = "evaluations",
                                 .type = Type::kList,
                                 .help = "newest first; of one state a page may hold fewer than were asked for",
                                 .required = true,
                                 .table = &kEvaluationLine},
                                kNext}};

const Table kEntryPage = {
    "EntryPage",
    "A page of stored evaluations.",
    {{.name = "entries", .type = Type::kList, .help = "newest first", .required = true, .table = &kEntry}, kNext}};

const Table kWholeEntry = {
    "WholeEntry",
    "A stored evaluation.",
    {{.name = "evaluation", .type = Type::kAny, .help = "as docs/evaluation.md describes it", .required = true}}};

const Table kScores = {"Scores",
                       "Scores of a run.",
                       {{.name = "scores",
                         .type = Type::kAny,
                         .help = "as docs/scores.md describes them, and `kernelbench score RUN --json` prints them",
                         .required = true}}};

static const Table kPromptLine = {
    "PromptLine",
    "A prompt that can be asked for.",
    {{.name = "name", .type = Type::kText, .help = "the backend that it asks for", .required = true},
     {.name = "title", .type = Type::kText, .help = "for people", .required = true},
     {.name = "devices", .type = Type::kList, .help = "that its candidates can be for", .required = true}}};

const Table kPromptList = {
    "PromptList",
    "The prompts that there are.",
    {{.name = "prompts", .type = Type::kList, .help = "by backend", .required = true, .table = &kPromptLine},
     {.name = "hardware",
      .type = Type::kList,
      .help = "GPUs that a prompt can describe: the query parameter hardware",
      .required = true},
     {.name = "strategies",
      .type = Type::kList,
      .help = "of `kernelbench generate`, which send a prompt first",
      .required = true}}};

const Table kPrompt = {
    "Prompt",
    "What a model is asked first.",
    {{.name = "system", .type = Type::kText, .help = "the system's part", .required = true},
     {.name = "user", .type = Type::kText, .help = "the user's part", .required = true},
     {.name = "examples", .type = Type::kList, .help = "candidates that it shows", .required = true},
     {.name = "notes", .type = Type::kList, .help = "what whoever asks should know", .required = true}}};

}  // namespace kb::server
