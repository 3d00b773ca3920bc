#include "server/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "judge/devices/device_kind.h"
#include "judge/problem/metadata.h"
#include "prompt/extract.h"

namespace kb::server {

using nlohmann::json;
using Type = Field::Type;

const Table kEvaluationRequest = {
    "EvaluationRequest",
    "A candidate to be judged for a problem. Exactly one of problem and problem_text says for which, and exactly one "
    "of source, answer, files and sha256 gives the candidate's text.",
    {
        {.name = "problem", .type = Type::kText, .help = "its name: 1/19, v3:4/1, modern:3", .least = 1, .most = 4096},
        {.name = "problem_text",
         .type = Type::kText,
         .help = "the text of a problem of the client's own, a Python file as docs/reference/problems.md describes it; "
                 "needs the "
                 "right problems",
         .least = 1,
         .most = kMostProblemBytes},
        {.name = "source", .type = Type::kText, .help = "the candidate's text", .most = kMaxCandidateBytes},
        {.name = "answer",
         .type = Type::kText,
         .help = "a model's whole completion, from which the candidate is taken as docs/reference/prompts.md says; of "
                 "one that "
                 "holds none the verdict is static_rejected",
         .most = kMostAnswerBytes},
        {.name = "backend",
         .type = Type::kText,
         .help = "in what the candidate in the answer is written: native, cpp, cuda, triton, ...; without it the "
                 "ending of name says whether it is native",
         .least = 1,
         .most = 50},
        {.name = "cut_off", .type = Type::kFlag, .help = "true: the answer reached its limit of tokens"},
        {.name = "files",
         .type = Type::kMap,
         .help = "of a candidate of several files: each one's text by its path; model_new.py defines ModelNew",
         .least = 1,
         .most = kMaxFolderFiles},
        {.name = "sha256",
         .type = Type::kText,
         .help = "of a text that the store has already",
         .least = 64,
         .most = 64},
        {.name = "name",
         .type = Type::kText,
         .help = "the candidate's file name, whose ending says its language: .py, .cpp or .cu; candidate.py without it",
         .least = 1,
         .most = 4096},
        {.name = "size",
         .type = Type::kText,
         .help = "of the problem: standard without it",
         .least = 1,
         .most = 50,
         .line = true},
        {.name = "device",
         .type = Type::kText,
         .help = "cpu or cuda; without it what is served",
         .choices = {"cpu", "cuda"}},
        {.name = "protocol",
         .type = Type::kText,
         .help = "rules of judgement: strict without it",
         .least = 1,
         .most = 100,
         .line = true},
        {.name = "keys",
         .type = Type::kMap,
         .help = "keys of the protocol that have other values",
         .most = 50,
         .items = Type::kAny},
        {.name = "baseline",
         .type = Type::kText,
         .help = "what it is timed against: the key baseline of the protocol",
         .least = 1,
         .most = 50,
         .line = true},
        {.name = "priority",
         .type = Type::kInteger,
         .help = "among the client's own; higher ones first",
         .least = -100,
         .most = 100},
        {.name = "deadline_s",
         .type = Type::kNumber,
         .help = "seconds after which it is cancelled unless its turn has come",
         .least = 0.001,
         .most = 604800},
        {.name = "idempotency_key",
         .type = Type::kText,
         .help = "the client's own; the same request under the same key is the same evaluation",
         .least = 1,
         .most = 200,
         .line = true},
        {.name = "run",
         .type = Type::kText,
         .help = "the run that it is part of; without it one that has the client's name. Of a client without the right "
                 "admin it is stored as CLIENT/RUN",
         .least = 1,
         .most = 200,
         .line = true},
        {.name = "model", .type = Type::kText, .help = "which model wrote it", .most = 200, .line = true},
        {.name = "sample",
         .type = Type::kInteger,
         .help = "its number in the run; the next one without it",
         .least = 0,
         .most = 1e9},
        {.name = "client_data",
         .type = Type::kText,
         .help = "anything of the client's own; the evaluation repeats it",
         .most = 10000},
        {.name = "keep",
         .type = Type::kFlag,
         .help = "false: nothing of it is stored, and it is cancelled when the client goes away"},
        {.name = "rejection",
         .type = Type::kText,
         .help = "why it is no candidate, which the client knows; its verdict is static_rejected",
         .most = 4096},
        {.name = "problem_name",
         .type = Type::kText,
         .help = "over the Unix socket problem may be the path of a file: what results call it",
         .least = 1,
         .most = 4096},
    }};

namespace {

constexpr const char* kOfProblem = "problem_text";
constexpr const char* kOfAnswer = "extraction";  // in a request that was accepted: in place of its answer

tl::unexpected<Error> Wrong(const char* field, const std::string& why) {
  return Fail(ErrorCode::kUsage, fmt::format("/{}: {}", field, why));
}

int TextsIn(const json& request) {
  int texts = 0;
  for (const char* key : {"source", "answer", "files", "sha256"}) texts += request.contains(key) ? 1 : 0;
  return texts;
}

Result<std::string> SourceOf(const json& request, const std::optional<std::string>& given) {
  const int texts = TextsIn(request);
  if (texts == 0 && given) return *given;
  if (texts != 1) return Wrong("source", "give exactly one of source, answer, files and sha256");
  if (request.contains("source")) {
    std::string source = request["source"].get<std::string>();
    if (IsPacked(source)) return Wrong("source", "a folder's files go into files");
    return source;
  }
  if (!request.contains("files")) {
    if (!given) return Wrong("sha256", "the store has no such text: send source or files");
    return *given;
  }
  auto packed = Pack(request["files"].get<FolderFiles>());
  if (!packed) return Wrong("files", packed.error().message);
  return packed;
}

// In what the candidate in an answer is written.
Result<Target> TargetOf(const json& request, const std::string& device) {
  const std::string name = request.value("name", "candidate.py"), ending = std::filesystem::path(name).extension();
  const bool gpu = device != "cpu";
  if (!request.contains("backend")) {
    if (ending == ".py") return Target{gpu ? Backend::kCuda : Backend::kCpp, gpu};
    if (ending == ".cpp" || ending == ".cu") return Target{Backend::kNative, ending == ".cu"};
    return Wrong("name", "the candidate in an answer is a .py, .cpp or .cu file");
  }
  auto target = MakeTarget(request["backend"], device);
  if (!target) return Wrong("backend", target.error().message);
  if (request.contains("name") && ending != FileExtension(*target)) {
    return Wrong("name",
                 fmt::format("a candidate of backend {} is a {} file", Name(target->backend), FileExtension(*target)));
  }
  return target;
}

// The order's text, and how it was taken. What a model wrote is no reason to refuse a request: where no candidate can
// be taken, it is an empty one that is known to be none.
Status TakeFromAnswer(const json& request, const std::string& device, Order* order) {
  const std::string answer = request["answer"];
  KB_ASSIGN_OR_RETURN(const Target target, TargetOf(request, device));
  Extraction found = ExtractCode(answer, target, request.value("cut_off", false));
  if (found.ok() && found.source.size() > kMaxCandidateBytes) {
    found = {.outcome = ExtractOutcome::kNoCode,
             .reason = fmt::format("the code in the answer has {} bytes; a candidate may have {}", found.source.size(),
                                   kMaxCandidateBytes)};
  } else if (found.ok() && IsPacked(found.source)) {
    found = {.outcome = ExtractOutcome::kNoCode,
             .reason = "the code in the answer begins as the text of a folder does"};
  }
  if (found.ok()) order->source = std::move(found.source);
  order->name = request.value("name", fmt::format("candidate{}", FileExtension(target)));
  order->rejection = found.reason;
  order->extraction = {{"outcome", ToString(found.outcome)},
                       {"how", found.how},
                       {"reason", found.reason},
                       {"answer_sha256", Sha256(answer)}};
  return {};
}

Result<Protocol> ProtocolOf(const json& request, const std::filesystem::path& directory, std::string* rules) {
  const std::string name = request.value("protocol", "strict");
  *rules = name;
  if (name.find_first_of("/.") != std::string::npos) return Wrong("protocol", "it is a name, not a file");
  auto protocol = Protocol::Load(directory, name);
  if (!protocol) return Wrong("protocol", protocol.error().message);
  json keys = request.value("keys", json::object());
  if (request.contains("baseline")) keys["baseline"] = request["baseline"];
  for (const auto& [key, value] : keys.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : Dump(value);
    if (const Status set = protocol->Set(key, text); !set) return Wrong("keys", set.error().message);
    *rules += fmt::format(", {}={}", key, text);
  }
  protocol->ApplyPrecision();
  if (const Status valid = protocol->Validate(); !valid) return Wrong("keys", valid.error().message);
  return protocol;
}

// What only the user may say, whose own files these are: results show it.
Status CheckUntrusted(const json& request, const std::string& name) {
  for (const char* key : {"rejection", "problem_name"}) {
    if (request.contains(key)) return Wrong(key, "is for the Unix socket alone");
  }
  const Field plain = {.name = "name", .type = Type::kText, .help = "", .most = 200, .line = true};
  KB_RETURN_IF_ERROR(Check(plain, name, "/name"));
  if (name.find('/') == std::string::npos && !name.starts_with('.')) return {};
  return Wrong("name", "it is a file's name, without a folder");
}

}  // namespace

OrderReader::OrderReader(std::filesystem::path problems, std::filesystem::path protocols, std::string device)
    : protocols_(std::move(protocols)), device_(std::move(device)), problems_(ListProblems(problems)) {
  for (size_t i = 0; i < problems_.size(); ++i) by_name_[problems_[i].name] = i;
}

// By its name alone: a client must not have files of this machine read.
Result<ProblemFile> OrderReader::Problem(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return problems_[found->second];
  return Wrong("problem", fmt::format("there is no problem {}; GET /v1/problems lists them", name));
}

// Files are read when it is first asked for; one that has changed since then is not found.
std::optional<ProblemFile> OrderReader::ProblemOfText(const std::string& sha256) const {
  std::call_once(hashed_, [this] {
    for (size_t i = 0; i < problems_.size(); ++i) {
      if (const auto text = TextOf(problems_[i])) by_text_.emplace(Sha256(*text), i);
    }
  });
  const auto found = by_text_.find(sha256);
  if (found == by_text_.end()) return std::nullopt;
  const ProblemFile& problem = problems_[found->second];
  const auto text = TextOf(problem);
  return text && Sha256(*text) == sha256 ? std::optional(problem) : std::nullopt;
}

// The user's own file.
Result<ProblemFile> OrderReader::ProblemAt(const std::filesystem::path& path, const std::string& name) const {
  const auto known = std::find_if(problems_.begin(), problems_.end(), [&](const ProblemFile& problem) {
    std::error_code error;
    return std::filesystem::equivalent(problem.path, path, error);
  });
  if (known != problems_.end() && known->name == name) return *known;
  KB_ASSIGN_OR_RETURN(ProblemFile problem, FindProblem({}, path));
  problem.name = name;
  return problem;
}

// A text is a client's, whoever sends it: not even the user's own is executed outside.
Result<ProblemFile> OrderReader::ProblemOf(const json& request, bool trusted,
                                           const std::optional<std::string>& problem_text) const {
  if (request.contains("problem") == request.contains(kOfProblem)) {
    return Wrong("problem", "give exactly one of problem and problem_text");
  }
  const std::string name = request.value("problem", "");
  if (IsClientsProblem(name) && problem_text) return ClientsProblem(Sha256(*problem_text), *problem_text);
  if (!request.contains(kOfProblem)) {
    const bool file = trusted && name.starts_with('/');
    return file ? ProblemAt(name, request.value("problem_name", name)) : Problem(name);
  }
  if (request.contains("problem_name")) return Wrong("problem_name", "is for a problem that is a file");
  std::string text = request[kOfProblem];
  if (text.find('\0') != std::string::npos) return Wrong(kOfProblem, "it holds a NUL byte, and Python takes none");
  const std::string hash = Sha256(text);
  return ClientsProblem(hash, std::move(text));
}

Result<Order> OrderReader::Read(const json& request, bool trusted, const std::optional<std::string>& source,
                                const std::optional<std::string>& problem_text) const {
  if (source && TextsIn(request) == 0 && request.contains(kOfAnswer)) {
    json accepted = request;
    accepted.erase(kOfAnswer);
    KB_ASSIGN_OR_RETURN(Order order, Read(accepted, trusted, source, problem_text));
    order.extraction = order.request[kOfAnswer] = request[kOfAnswer];
    order.rejection = order.extraction.value("reason", "");
    return order;
  }
  KB_RETURN_IF_ERROR(Check(kEvaluationRequest, request));
  Order order;
  KB_ASSIGN_OR_RETURN(order.problem, ProblemOf(request, trusted, problem_text));
  KB_ASSIGN_OR_RETURN(const std::string text, TextOf(order.problem));
  order.problem_sha256 = Sha256(text);
  order.size = request.value("size", "standard");
  const std::vector<std::string> sizes = ReadMetadata(text).sizes;
  if (std::find(sizes.begin(), sizes.end(), order.size) == sizes.end()) {
    return Wrong("size", fmt::format("{} has the sizes {}", order.problem.name, fmt::join(sizes, ", ")));
  }
  if (const std::string device = request.value("device", device_); device != device_) {
    return Wrong("device", fmt::format("this service judges on {}", device_));
  }
  KB_ASSIGN_OR_RETURN(Protocol protocol, ProtocolOf(request, protocols_, &order.rules));
  order.protocol = std::make_shared<const Protocol>(std::move(protocol));
  order.rejection = request.value("rejection", "");
  for (const char* key : {"backend", "cut_off"}) {
    if (request.contains(key) && !request.contains("answer")) return Wrong(key, "is for an answer");
  }
  if (request.contains("answer") && TextsIn(request) == 1) {
    KB_RETURN_IF_ERROR(TakeFromAnswer(request, device_, &order));
  } else {
    KB_ASSIGN_OR_RETURN(order.source, SourceOf(request, source));
    order.name = request.value("name", IsPacked(order.source) ? "candidate" : "candidate.py");
  }
  if (!trusted) KB_RETURN_IF_ERROR(CheckUntrusted(request, order.name));
  if (auto candidate = MakeCandidate(order.name, order.source, device_); !candidate) {
    return Wrong("name", candidate.error().message);
  }
  order.priority = request.value("priority", 0);
  order.deadline_s = request.value("deadline_s", 0.0);
  order.idempotency_key = request.value("idempotency_key", "");
  order.run = request.value("run", "");
  order.model = request.value("model", "");
  order.sample = request.value("sample", -1);
  order.keep = request.value("keep", true);
  order.request = request;
  for (const char* key : {"source", "answer", "backend", "cut_off", "files", "sha256", "idempotency_key", kOfProblem}) {
    order.request.erase(key);
  }
  if (!order.extraction.is_null()) {
    order.request["name"] = order.name;
    order.request[kOfAnswer] = order.extraction;
  }
  if (order.problem.from_client) order.request["problem"] = order.problem.name;
  return order;
}

}  // namespace kb::server
