#include "server/tables.h"

#include "server/evaluation_view.h"
#include "server/order.h"

namespace kb::server {

using Type = Field::Type;

// A GPU and its compilers are kept busy by some hundred; a trainer's step has 128.
constexpr double kMostOfABatch = 1000;
constexpr double kMostLease = 600;  // seconds

const Table kProblemDetails = {
    "ProblemDetails",
    "Why a request is not served (RFC 9457).",
    {Always("type", Type::kText, "about:blank"),
     Always("title", Type::kText, "of the status"),
     Always("status", Type::kInteger, "of the answer"),
     Always("detail", Type::kText, "what is wrong, and what to do"),
     {.name = "fault", .type = Type::kText, .help = "whose it is: caller, engine or machine"},
     {.name = "retryable", .type = Type::kFlag, .help = "the same request may be served later"}},
    true};

const Table kHealth = {
    "Health",
    "Whether the service judges, and what with.",
    {{.name = "status", .type = Type::kText, .help = "healthy", .required = true, .choices = {"healthy"}},
     Always("version", Type::kText, "of kernelbench"),
     Always("device", Type::kText, "cpu or cuda"),
     Always("devices", Type::kList, "all that judge")}};

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
                      {Always("id", Type::kText, "32 hexadecimal digits"),
                       Always("open", Type::kInteger, "how many have not ended"),
                       {.name = "evaluations",
                        .type = Type::kList,
                        .help = "in the order of the request",
                        .required = true,
                        .table = &kEvaluation}}};

// What compilations and profiles tell beside their own.
static std::vector<Field> WithState(std::vector<Field> fields) {
  std::vector<Field> all = {
      Always("id", Type::kText, "32 hexadecimal digits"),
      {.name = "state",
       .type = Type::kText,
       .help = "how far it is; the last three are final",
       .required = true,
       .choices = {"queued", "preparing", "judging", "done", "failed", "cancelled"}},
      Always("problem", Type::kText, "its name"),
      {.name = "candidate", .type = Type::kObject, .help = "what it is of", .required = true, .table = &kCandidate},
      AlwaysOrNull("verdict", Type::kText, "of a done one: what an evaluation would end with as well"),
      AlwaysOrNull("reason", Type::kText, "why it is no better"),
      Always("notes", Type::kList, "what else there is to say"),
      AlwaysOrNull("fault", Type::kText, "whose it is: candidate, engine, machine or caller; null: nobody's"),
      Always("retryable", Type::kFlag, "asked for again it may end otherwise"),
      AlwaysOrNull("error", Type::kText, "why it failed or was cancelled")};
  all.insert(all.end(), fields.begin(), fields.end());
  return all;
}

const Table kCompilation = {
    "Compilation", "A candidate that is built and not judged.",
    WithState({AlwaysOrNull("compiled", Type::kFlag,
                            "its text is accepted and all that could be built is; null: it has not ended"),
               {.name = "findings",
                .type = Type::kList,
                .help = "of the analysis of its text, as evidence.static_findings of docs/reference/evaluation.md",
                .required = true,
                .items = Type::kAny},
               AlwaysOrNull("compiler_output", Type::kText, "what compilers said")})};

const Table kProfile = {
    "Profile", "Where a candidate's time goes on a GPU.",
    WithState(
        {Always(
             "profile", Type::kAny,
             "its kernels and what they suggest, as docs/reference/gpu.md describes them, without counters; null: it "
             "is not correct, or no kernel was traced"),
         Always("evaluation", Type::kAny,
                "all that was found out, as docs/reference/evaluation.md describes it; null: it has not ended")})};

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
    {AlwaysOrNull("reward", Type::kNumber, "null: there is none, for reasons that are not the candidate's"),
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
    {Always("name", Type::kText, "by which it is asked for"), Always("description", Type::kText, "what it pays for"),
     Always("source", Type::kText, "where it is from")}};

const Table kRewardList = {
    "RewardList",
    "All rewards.",
    {{.name = "rewards", .type = Type::kList, .help = "by name", .required = true, .table = &kRewardInfo}}};

static const Table kProblemLine = {
    "ProblemLine",
    "A problem, in short.",
    {Always("name", Type::kText, "by which it is asked for"), Always("title", Type::kText, "what it computes"),
     Always("deck", Type::kText, "that it is part of"), Always("level", Type::kInteger, "0: the deck has none")}};

const Table kProblemList = {
    "ProblemList",
    "Problems.",
    {{.name = "problems", .type = Type::kList, .help = "in their order", .required = true, .table = &kProblemLine}}};

const Table kProblemInfo = {
    "ProblemInfo",
    "A problem, with its text.",
    {Always("name", Type::kText, "by which it is asked for"), Always("title", Type::kText, "what it computes"),
     Always("deck", Type::kText, "that it is part of"), Always("level", Type::kInteger, "0: the deck has none"),
     Always("sizes", Type::kList, "at which it can be judged"),
     Always("precisions", Type::kList, "in which it can be judged"),
     AlwaysOrNull("unscored", Type::kText, "why it counts for no score"),
     Always("source", Type::kText, "the reference, in PyTorch")}};

static const Table kProtocolInfo = {
    "ProtocolInfo",
    "Rules of judgement.",
    {Always("name", Type::kText, "by which they are asked for"),
     Always("description", Type::kText, "what they are for"),
     {.name = "keys", .type = Type::kMap, .help = "each key's value", .required = true, .items = Type::kAny}}};

const Table kProtocolList = {
    "ProtocolList",
    "All protocols.",
    {{.name = "protocols", .type = Type::kList, .help = "by name", .required = true, .table = &kProtocolInfo}}};

const Table kRunList = {"RunList",
                        "Runs in the store that the client may see: its own; with the right admin, all.",
                        {Always("runs", Type::kList, "names, oldest first")}};

const Table kLeaseRequest = {
    "LeaseRequest",
    "A device that is wanted.",
    {{.name = "seconds",
      .type = Type::kNumber,
      .help = "after which the lease is over: 60 without it",
      .least = 0.1,
      .most = kMostLease},
     {.name = "memory_share",
      .type = Type::kNumber,
      .help = "of the device's memory that may be taken: 0.5 without it; with more the lease is over",
      .least = 0.01,
      .most = 1},
     {.name = "holder", .type = Type::kText, .help = "what it is for, in words", .most = 200, .line = true}}};

const Table kLease = {"Lease",
                      "A device that is lent to a client of this machine, which uses it by itself.",
                      {Always("id", Type::kText, "32 hexadecimal digits"),
                       {.name = "state",
                        .type = Type::kText,
                        .help = "while it is held nothing is judged on the device",
                        .required = true,
                        .choices = {"queued", "held", "over"}},
                       AlwaysOrNull("device", Type::kText, "cpu, cuda or cuda:1; null: it was not held yet"),
                       {.name = "cores",
                        .type = Type::kList,
                        .help = "on which nothing is measured while it is held; empty: the device has none of its own",
                        .required = true,
                        .items = Type::kInteger},
                       Always("holder", Type::kText, "as the request had it"),
                       Always("seconds", Type::kNumber, "after which it is over, at most"),
                       Always("memory_share", Type::kNumber, "of the device's memory that may be taken"),
                       AlwaysOrNull("error", Type::kText, "why it is over")}};

const Table kServiceInfo = {
    "ServiceInfo",
    "The process that serves, and what it judges with.",
    {Always("pid", Type::kInteger, "of the process"),
     Always("open", Type::kInteger, "evaluations that have not ended"),
     Always("identity", Type::kMap, "program, devices, limits, environment"),
     {.name = "leases",
      .type = Type::kList,
      .help = "that are held, or over while their device is not free again: it judges nothing now",
      .required = true,
      .table = &kLease}}};

static const Field kNext =
    AlwaysOrNull("next", Type::kInteger, "`before` of the page after this one; null: there is none");

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

const Table kWholeEntry = {"WholeEntry",
                           "A stored evaluation.",
                           {Always("evaluation", Type::kAny, "as docs/reference/evaluation.md describes it")}};

const Table kScores = {
    "Scores",
    "Scores of a run.",
    {Always("scores", Type::kAny,
            "as docs/reference/scores.md describes them, and `kernelbench score RUN --json` prints them")}};

static const Table kPromptLine = {
    "PromptLine",
    "A prompt that can be asked for.",
    {Always("name", Type::kText, "the backend that it asks for"), Always("title", Type::kText, "for people"),
     Always("devices", Type::kList, "that its candidates can be for")}};

const Table kPromptList = {
    "PromptList",
    "The prompts that there are.",
    {{.name = "prompts", .type = Type::kList, .help = "by backend", .required = true, .table = &kPromptLine},
     Always("hardware", Type::kList, "GPUs that a prompt can describe: the query parameter hardware"),
     Always("strategies", Type::kList, "of `kernelbench generate`, which send a prompt first")}};

const Table kPrompt = {
    "Prompt",
    "What a model is asked first.",
    {Always("system", Type::kText, "the system's part"), Always("user", Type::kText, "the user's part"),
     Always("examples", Type::kList, "candidates that it shows"),
     Always("notes", Type::kList, "what whoever asks should know")}};

}  // namespace kb::server
