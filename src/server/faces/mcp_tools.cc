#include "server/faces/mcp_tools.h"

#include <algorithm>

#include "server/evaluation_view.h"
#include "server/order.h"
#include "server/tables.h"

namespace kb::server {

using nlohmann::json;
using Type = Field::Type;

const char* const kMcpInstructions =
    "KernelBench judges kernels that stand for PyTorch modules: are they correct, and how much faster than PyTorch? "
    "list_problems names the problems, show_problem shows a reference and how a candidate for it is written. A "
    "candidate is the text of one Python file that defines class ModelNew (a torch.nn.Module with the constructor and "
    "forward of the reference's Model), or of one native file, kernel.cpp or kernel.cu, that defines kb_forward. "
    "compile says within seconds whether it can be built. evaluate judges it: every element of the output is compared, "
    "on several kinds of inputs, and correct ones are timed against the reference. A speedup counts only if its whole "
    "interval is above 1. profile says where the time goes on a GPU. best_so_far has the fastest candidate until now.";

namespace {

const Table kMcpProblemLine = {"ProblemLine",
                               "A problem.",
                               {{.name = "name", .type = Type::kText, .help = "for other tools", .required = true},
                                {.name = "title", .type = Type::kText, .help = "what it computes", .required = true},
                                {.name = "deck", .type = Type::kText, .help = "collection", .required = true},
                                {.name = "level", .type = Type::kInteger, .help = "0: none", .required = true}}};

Field ProblemArgument() {
  return {.name = "problem",
          .type = Type::kText,
          .help = "its name, as list_problems tells it: 1/19",
          .required = true,
          .least = 1,
          .most = 200};
}

Field SizeArgument() {
  return {.name = "size",
          .type = Type::kText,
          .help = "size of the inputs, one that show_problem names: standard without it; a small one is quicker",
          .least = 1,
          .most = 50};
}

Field WaitArgument() {
  return {.name = "wait_s",
          .type = Type::kNumber,
          .help = "seconds to wait for the end: 300 without it; after them the id of what goes on is told",
          .least = 0,
          .most = 600};
}

// Of what is judged, and what may be said of it.
std::vector<Field> CandidateArguments(std::vector<Field> more) {
  std::vector<Field> fields = {
      ProblemArgument(),
      {.name = "source",
       .type = Type::kText,
       .help = "the candidate's whole text; or give files",
       .most = kMaxCandidateBytes},
      {.name = "files",
       .type = Type::kMap,
       .help = "of a candidate of several files: each one's text by its path; model_new.py defines ModelNew",
       .least = 1,
       .most = kMaxFolderFiles},
      {.name = "name",
       .type = Type::kText,
       .help = "file name of source; its ending says the language: kernel.cpp, kernel.cu, or candidate.py without it",
       .least = 1,
       .most = 200},
      SizeArgument(),
      WaitArgument()};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

Field PrecisionArgument() {
  return {.name = "precision", .type = Type::kText, .help = "fp32 without it", .choices = {"fp32", "fp16", "bf16"}};
}

// Those fields of a table, each as it is described there.
std::vector<Field> FieldsOf(const Table& table, const McpKeys& keys, std::vector<Field> more = {}) {
  std::vector<Field> fields;
  for (const char* key : keys) {
    for (const Field& field : table.fields) {
      if (std::string_view(field.name) == key) fields.push_back(field);
    }
  }
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

Field FeedbackField() {
  return {.name = "feedback", .type = Type::kText, .help = "the same in words, and what to do", .required = true};
}

Table VerdictTable() {
  return {"Verdict", "What has come of it.", FieldsOf(kEvaluation, McpVerdictKeys(), {FeedbackField()})};
}

McpTool ListProblemsTool() {
  return {
      "list_problems",
      "List problems",
      "Names the problems that there are, filtered by level, deck or text. Call it before show_problem when you do "
      "not know a problem's name.",
      true,
      {"ListProblems",
       "",
       {{.name = "text", .type = Type::kText, .help = "only those whose name or title holds it", .most = 200},
        {.name = "level", .type = Type::kInteger, .help = "only of this level", .least = 0, .most = 100},
        {.name = "deck", .type = Type::kText, .help = "only of this collection", .most = 100},
        {.name = "offset", .type = Type::kInteger, .help = "so many are passed over", .least = 0, .most = 1e6},
        {.name = "limit", .type = Type::kInteger, .help = "at most so many: 50 without it", .least = 1, .most = 200}}},
      {"Problems",
       "",
       {{.name = "problems", .type = Type::kList, .help = "", .required = true, .table = &kMcpProblemLine},
        {.name = "total", .type = Type::kInteger, .help = "how many there are", .required = true},
        {.name = "next_offset",
         .type = Type::kInteger,
         .help = "offset of those that follow; null: none do",
         .required = true,
         .nullable = true}}},
      McpListProblems};
}

McpTool ShowProblemTool() {
  const Field backend = {.name = "backend",
                         .type = Type::kText,
                         .help = "in which a candidate is to be written; native: C++ on the CPU, CUDA C++ on a GPU",
                         .choices = {"native", "cpp", "cuda", "triton", "tilelang", "cute", "thunderkittens", "hip"}};
  const Field instructions = {.name = "instructions",
                              .type = Type::kText,
                              .help = "how a candidate is written; null without backend",
                              .required = true,
                              .nullable = true};
  return {"show_problem",
          "Show a problem",
          "Shows a problem's reference in PyTorch, its sizes and precisions, and with `backend` how a candidate for it "
          "is written in that language, with an example. Read it before you write a candidate.",
          true,
          {"ShowProblem", "", {ProblemArgument(), backend}},
          {"Problem", "", FieldsOf(kProblemInfo, McpProblemKeys(), {instructions})},
          McpShowProblem};
}

McpTool CompileTool() {
  return {"compile",
          "Compile a candidate",
          "Checks a candidate's text and builds it, without running it: seconds, and no device is held. Call it after "
          "each change until it compiles, then evaluate.",
          true,
          {"Compile", "", CandidateArguments({})},
          {"Compiled", "", FieldsOf(kCompilation, McpCompiledKeys(), {FeedbackField()})},
          McpCompile};
}

McpTool EvaluateTool() {
  const std::vector<Field> more = {
      PrecisionArgument(),
      {.name = "protocol",
       .type = Type::kText,
       .help = "rules of judgement: strict without it; quick takes seconds",
       .least = 1,
       .most = 100},
      {.name = "keep", .type = Type::kFlag, .help = "false: it is stored nowhere, and cancelled when this call is"},
      {.name = "run",
       .type = Type::kText,
       .help = "name of the series of tries it is part of",
       .least = 1,
       .most = 200},
      {.name = "model", .type = Type::kText, .help = "your name, for reports", .most = 200}};
  return {
      "evaluate",
      "Judge a candidate",
      "Judges a candidate: is it correct, and how much faster than the reference? The answer has the verdict, the "
      "speedup with its interval and both times, or what is wrong and where. Use protocol quick while you try "
      "things, and strict (the default) for the number that counts. It is kept for best_so_far unless keep is false.",
      false,
      {"Evaluate", "", CandidateArguments(more)},
      VerdictTable(),
      McpEvaluate};
}

McpTool ProfileTool() {
  return {"profile",
          "Profile a candidate",
          "Says where a correct candidate's time goes on an NVIDIA GPU: its kernels, how they use the device, and what "
          "that suggests. Call it when evaluate says correct and you want it faster.",
          false,
          {"ProfileCandidate", "", CandidateArguments({PrecisionArgument()})},
          {"Profiled", "", FieldsOf(kProfile, McpProfiledKeys(), {FeedbackField()})},
          McpProfile};
}

McpTool ExplainVerdictTool() {
  const Field id = {.name = "id",
                    .type = Type::kText,
                    .help = "id or evaluation_id, as evaluate and best_so_far tell them",
                    .required = true,
                    .least = 1,
                    .most = 100};
  return {"explain_verdict",
          "Explain a verdict",
          "Tells what came of an evaluation, by its id: evaluate's, also while it is still being judged, or "
          "evaluation_id of a stored one. Call it after evaluate said that it goes on, or to read an earlier result "
          "again.",
          true,
          {"ExplainVerdict", "", {id, WaitArgument()}},
          VerdictTable(),
          McpExplainVerdict};
}

McpTool BestSoFarTool() {
  std::vector<Field> fields = FieldsOf(kEntry, McpBestKeys());
  for (Field& field : fields) field.nullable = true;
  const std::vector<Field> more = {
      {.name = "found",
       .type = Type::kFlag,
       .help = "whether there is one; else all others are null",
       .required = true},
      {.name = "evaluation_id", .type = Type::kText, .help = "for explain_verdict", .required = true, .nullable = true},
      {.name = "source", .type = Type::kText, .help = "its text; null: see files", .required = true, .nullable = true},
      {.name = "files", .type = Type::kMap, .help = "of one of several files", .required = true, .nullable = true},
      {.name = "file_name", .type = Type::kText, .help = "name of source", .required = true, .nullable = true}};
  fields.insert(fields.end(), more.begin(), more.end());
  return {"best_so_far",
          "Best candidate so far",
          "Gives the text of the fastest correct candidate for a problem that was kept until now, with its speedup. "
          "Start from it, or compare with it.",
          true,
          {"BestSoFar",
           "",
           {ProblemArgument(),
            SizeArgument(),
            {.name = "run", .type = Type::kText, .help = "only of this run", .least = 1, .most = 300}}},
          {"Best", "", std::move(fields)},
          McpBestSoFar};
}

// A table's schema, with those that it refers to in it: many clients follow no references.
json WholeSchema(const Table& table) {
  json schema = SchemaOf(table);
  if (schema["description"] == "") schema.erase("description");
  for (const Field& field : table.fields) {
    json& property = schema["properties"][field.name];
    if (property["description"] == "") property.erase("description");
    if (field.table == nullptr) continue;
    json whole = WholeSchema(*field.table);
    if (field.type == Type::kList) {
      property["items"] = std::move(whole);
    } else {
      property = std::move(whole);
    }
  }
  return schema;
}

}  // namespace

const McpKeys& McpVerdictKeys() {
  static const McpKeys keys = {"id",         "state",       "problem",      "size",       "device",
                               "protocol",   "verdict",     "reason",       "speedup",    "speedup_interval",
                               "no_speedup", "baseline_us", "candidate_us", "authorship", "fault",
                               "retryable",  "error",       "evaluation_id"};
  return keys;
}

const McpKeys& McpProblemKeys() {
  static const McpKeys keys = {"name", "title", "deck", "level", "sizes", "precisions", "unscored", "source"};
  return keys;
}

const McpKeys& McpCompiledKeys() {
  static const McpKeys keys = {"state", "compiled", "verdict", "reason", "findings"};
  return keys;
}

const McpKeys& McpProfiledKeys() {
  static const McpKeys keys = {"state", "verdict", "reason", "profile"};
  return keys;
}

const McpKeys& McpBestKeys() {
  static const McpKeys keys = {"problem",          "size",        "device",       "protocol", "speedup",
                               "speedup_interval", "baseline_us", "candidate_us", "model",    "run"};
  return keys;
}

const std::vector<McpTool>& McpTools() {
  static const std::vector<McpTool> tools = {ListProblemsTool(), ShowProblemTool(),    CompileTool(),  EvaluateTool(),
                                             ProfileTool(),      ExplainVerdictTool(), BestSoFarTool()};
  return tools;
}

json McpPicked(const json& object, const McpKeys& keys) {
  json picked = json::object();
  for (const char* key : keys) picked[key] = object.contains(key) ? object.at(key) : json(nullptr);
  return picked;
}

json McpDescribed(const McpTool& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", WholeSchema(tool.arguments)},
          {"outputSchema", WholeSchema(tool.result)},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", tool.reads},
            {"destructiveHint", false},
            {"idempotentHint", tool.reads},
            {"openWorldHint", false}}}};
}

}  // namespace kb::server
