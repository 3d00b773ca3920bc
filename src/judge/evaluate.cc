#include "judge/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "judge/problem/metadata.h"
#include "judge/problem/problem_index.h"
#include "judge/static/candidate_check.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr auto kBaselineTimeout = std::chrono::minutes(10);  // compiling one may try many kernels

Evaluation Begin(const Request& request, const EvaluatorOptions& options, const Sandbox& sandbox) {
  Evaluation evaluation;
  evaluation.id = fmt::format("{}-{:08x}", UtcNow("%Y%m%d-%H%M%S"), static_cast<uint32_t>(RandomBits()));
  evaluation.created = UtcNow(kIso8601);
  evaluation.problem = request.problem.name;
  evaluation.size = request.size;
  evaluation.device = options.device;
  evaluation.device_info = json::object();
  evaluation.protocol = request.protocol;
  evaluation.candidate = {{"path", request.candidate.path.string()},
                          {"kind", request.candidate.kind == CandidateKind::kModule ? "module" : "native"},
                          {"sha256", request.candidate.sha256},
                          {"source", request.candidate.source},
                          {"backend", request.candidate.backend}};
  evaluation.isolation = IsolationName(sandbox.isolation());
  evaluation.barriers = sandbox.Barriers();
  if (!sandbox.without().empty()) {
    evaluation.measured.AddNote(fmt::format("weakened: judged without {}; this proves a barrier and no candidate",
                                            fmt::join(sandbox.without(), ", ")));
  }
  return evaluation;
}

Evaluation Reject(Evaluation evaluation, Verdict verdict, std::string reason) {
  evaluation.verdict = verdict;
  evaluation.reason = std::move(reason);
  return evaluation;
}

// Static analysis: warnings become notes, the first error is returned and refuses the candidate.
std::string CheckText(const Request& request, Evaluation* evaluation) {
  if (!request.protocol.static_check) return "";
  const auto findings = StaticCheckCandidate(request.candidate, request.protocol);
  if (!findings.empty()) evaluation->evidence["static_findings"] = StaticFindingsJson(findings);
  for (const std::string& note : StaticNotes(findings)) evaluation->measured.AddNote(note);
  const StaticFinding* error = FirstError(findings);
  return error == nullptr ? "" : fmt::format("static: {}, line {}: {}", error->rule, error->line, error->reason);
}

void AddEnd(const RunnerProcess::End& end, Ending* ending) {
  ending->out_of_memory = end.out_of_memory;
  if (!end.status) return;
  if (end.status->signal != 0) {
    ending->signal = end.status->signal;
  } else {
    ending->exit_code = end.status->code;
  }
}

// What compilers printed, of all builds of a candidate: what is longer is cut out of the middle.
std::string Bounded(const std::string& log) {
  constexpr size_t kMost = size_t{256} << 10;
  if (log.size() <= kMost) return log;
  return log.substr(0, kMost / 2) + "\n[... output cut ...]\n" + log.substr(log.size() - kMost / 2);
}

// What a runner printed before it held a candidate, as the end of a message.
std::string Quoted(const std::string& output) {
  const std::string text = output.substr(0, output.find_last_not_of(" \n") + 1);
  return text.empty() ? "" : ": " + text;
}

// Ends a session, however its evaluation ends: a runner's memory is back only when nobody shares it any more.
class SharedSession {
 public:
  explicit SharedSession(DeviceProcess* device) : device_(device) {}
  SharedSession(const SharedSession&) = delete;  // it ends once
  SharedSession& operator=(const SharedSession&) = delete;
  ~SharedSession() {
    if (device_ != nullptr && device_->alive()) (void)End();
  }
  Status End() { return std::exchange(device_, nullptr)->Post(ops::EndSession(), std::chrono::seconds(60)); }

 private:
  DeviceProcess* device_;
};

double Total(const StepTimes& times) {
  double sum = 0;
  for (const auto& [name, us] : times) sum += us;
  return sum;
}

}  // namespace

// What the candidate took of `evaluation_timeout_s` is gone in the next attempt, too. An attempt that ended in an error
// was none of it.
Result<Evaluation> Evaluator::Evaluate(const Request& request, const std::vector<RunnerNeeds>& ahead) {
  Attempts attempts{request};
  for (;;) {
    auto evaluation = EvaluateOnce(attempts.request, ahead);
    if (evaluation) {
      const std::string reason = WhyAgain(*evaluation, &attempts);
      if (reason.empty()) return evaluation;
      attempts.request.spent_s = evaluation->spent_s;
      Say("trying again: " + reason);
    } else {
      if (evaluation.error().code != ErrorCode::kEngine) return evaluation;
      NoteFailure(&attempts);
      if (attempts.failures == 2) return WhoseFailure(request, attempts, evaluation.error());
      Say("trying again: " + evaluation.error().message);
    }
  }
}

// - It seems to have started early, where others on the device were looked for in fewer calls than that verdict takes.
// - A module's first answer is wrong, and its weights have only other values than the reference's: it may draw them in
//   another order.
// - SIGKILL ended it, as where a machine runs out of memory. Who sends it to itself has one more attempt.
std::string Evaluator::WhyAgain(const Evaluation& evaluation, Attempts* attempts) {
  if (evaluation.started_early && evaluation.timings.brief) {
    kept_.alone.clear();
    return "the device was in use before calls, and others may use it";
  }
  const bool at_first = evaluation.verdict == Verdict::kIncorrect && evaluation.measured.rounds.empty();
  if (at_first && evaluation.measured.state_differs && !attempts->request.copy_state) {
    attempts->request.copy_state = true;
    return "with the reference's weights";
  }
  const bool killed =
      evaluation.verdict == Verdict::kCrashed && evaluation.evidence.value("signal", "") == SignalName(SIGKILL);
  return killed && ++attempts->kills < 2 ? "the runner was killed" : "";
}

void Evaluator::NoteFailure(Attempts* attempts) {
  ++attempts->failures;
  attempts->always_loaded = attempts->always_loaded && candidate_loaded_;
  attempts->trusted_died = !(device_ && device_->alive()) || (reference_ && reference_->process->WaitForEnd({}));
  EndReference();
}

// A trusted process that dies is our failure. One that dies a second time while the same candidate is loaded is charged
// to the candidate; but no candidate can send it SIGKILL, and all its processes are ended before one of those is.
Result<Evaluation> Evaluator::WhoseFailure(const Request& request, const Attempts& attempts, const Error& error) {
  if (!attempts.always_loaded || !attempts.trusted_died) return tl::make_unexpected(error);
  if (device_ && device_->killed()) {
    return Fail(ErrorCode::kUnavailable, error.message +
                                             " twice, as Linux does where the machine runs out of memory; choose a "
                                             "smaller --size, or free some");
  }
  return Reject(Begin(request, options_, sandbox_), Verdict::kTampered,
                "a trusted process died twice under this candidate: " + error.message);
}

Result<Evaluation> Evaluator::Charge(const Request& request, const Error& error) {
  Evaluation alone;
  if (!MeasureBaseline(request.problem, request.size, request.protocol)) return tl::make_unexpected(error);
  const auto problem = DescribeProblem(request.problem, request.size, request.protocol);
  if (!problem || !AnchorBudgets(request, *problem, &alone)) return tl::make_unexpected(error);
  return Reject(Begin(request, options_, sandbox_), Verdict::kCrashed,
                "the engine failed in every attempt at this candidate, while it judges others: " + error.message);
}

Status Evaluator::CanTime(const Protocol& protocol) const {
  if (!protocol.TimedByEvents() || options_.device != "cpu") return {};
  return Fail(ErrorCode::kUsage,
              fmt::format("timing={} takes events of a GPU; choose --timing outer or --device cuda", protocol.timing));
}

// Whether the problem has the size that is asked for, by its text where that tells.
Status Evaluator::HasSize(const Request& request) {
  KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(request.problem.path, 16 << 20));
  const std::vector<std::string> sizes = ReadMetadata(source).sizes;
  if (std::find(sizes.begin(), sizes.end(), request.size) != sizes.end()) return {};
  const auto loaded = DescribeProblem(request.problem, request.size, request.protocol);
  return loaded ? Status() : tl::make_unexpected(loaded.error());
}

// The story of one evaluation.
Result<Evaluation> Evaluator::EvaluateOnce(const Request& request, const std::vector<RunnerNeeds>& ahead) {
  candidate_loaded_ = false;
  KB_RETURN_IF_ERROR(CanTime(request.protocol));
  const int64_t start = NowNs();
  Evaluation evaluation = Begin(request, options_, sandbox_);
  StepTimes& times = evaluation.engine_us;

  // What the text alone tells.
  std::string rejection = request.candidate.rejection;
  if (rejection.empty()) rejection = CheckText(request, &evaluation);
  if (!rejection.empty()) {
    KB_RETURN_IF_ERROR(HasSize(request));
    return Reject(std::move(evaluation), Verdict::kStaticRejected, std::move(rejection));
  }

  // The trusted side: the device process loads the problem and finds out what it takes and returns. A runner starts
  // meanwhile, and while this one is judged those of the next ones.
  const bool wants_reference = WantsReference(request.protocol);
  KB_RETURN_IF_ERROR(EnsureServices(request.candidate.kind == CandidateKind::kModule || wants_reference));
  std::vector<RunnerNeeds> runners = {NeedsOf(request)};
  runners.insert(runners.end(), ahead.begin(), ahead.end());
  ForeseeRunners(runners, roomy_);
  evaluation.device_info = device_->facts().Info();
  if (options_.device == "cpu") AwaitDeath(&times);  // its memory must be back before what this one may take is planned
  KB_ASSIGN_OR_RETURN(const ops::Problem problem, LoadProblem(request.problem, request.size, request.protocol, &times));
  evaluation.problem_sha256 = problem.sha256;
  // Without namespaces a candidate could reach those of its user that wait for others.
  roomy_ = problem.roomy && sandbox_.isolation() == Isolation::kNamespaces;
  if (wants_reference && roomy_ && !reference_) {
    runners.insert(runners.begin(), {CandidateKind::kModule, request.protocol.memory_gb});
  }
  ForeseeRunners(runners, roomy_);
  evaluation.figures = MeasuredFigures(request.problem.path, request.problem.name, request.size);
  for (const std::string& note : problem.notes) evaluation.measured.AddNote(note);
  if (problem.needs_rng && request.candidate.kind == CandidateKind::kNative) {
    return Reject(std::move(evaluation), Verdict::kNotRun,
                  "the answer depends on torch's random generator, which a native candidate has not; write a module");
  }

  // Build: on the CPU, from the cache if it was built before.
  int64_t step = NowNs();
  KB_ASSIGN_OR_RETURN(const Built built, Build(request, problem));
  times["build"] += static_cast<double>(NowNs() - step) / 1e3;
  evaluation.device_info["compiler"] = built.compiler.empty() ? builder_->compiler().version : built.compiler;
  if (!built.log.empty()) evaluation.evidence["compiler_output"] = Bounded(built.log);
  if (!built.failure.empty()) return Reject(std::move(evaluation), Verdict::kBuildFailed, built.failure);

  // The last candidate's memory must be back here at the latest. On a GPU with room for both it dies while nothing but
  // kernels is needed: they run on, while the driver keeps waiting who takes or frees memory.
  if (!roomy_ || problem.fresh) AwaitDeath(&times);

  // What the answer may err: before the shared memory is there, for fp64 needs much of it.
  KB_RETURN_IF_ERROR(AnchorBudgets(request, problem, &evaluation));

  // The baseline by itself.
  KB_RETURN_IF_ERROR(OpenSession(request.candidate.kind == CandidateKind::kModule, request.protocol, &times));
  Rounds rounds(&*device_, request.protocol, &times, request.spent_s);
  KB_ASSIGN_OR_RETURN(const bool own_process, StartReference(request, problem, &times));
  BeginTrial(request, problem, own_process, &evaluation);
  if (own_process) KB_RETURN_IF_ERROR(MeasureReference(&rounds, &evaluation));
  KB_RETURN_IF_ERROR(Measure(Stage::kBaseline, &rounds, &evaluation));
  KeepFor(evaluation);
  AwaitDeath(&times);

  // A runner of its own, confined, with shared memory of its own; it holds no candidate yet.
  KB_ASSIGN_OR_RETURN(std::unique_ptr<RunnerProcess> runner, StartRunner(request, problem, built, own_process, &times));
  SharedSession session(&*device_);
  if (const Status offset = Measure(Stage::kRunner, &rounds, &evaluation); !offset) {
    return Fail(offset.error().code, offset.error().message + Quoted(runner->Finish().output));
  }
  if (!runner->Limited()) {
    return Fail(ErrorCode::kEngine, "cannot put a runner into a control group, though this machine offers them");
  }

  // From here on nothing in the runner is trusted.
  candidate_loaded_ = true;
  std::optional<Ending>& ending = evaluation.measured.ending;
  KB_RETURN_IF_ERROR(Load(problem, &rounds, &evaluation));
  if (const Status ran = Measure(Stage::kRounds, &rounds, &evaluation); !ran) {
    KB_ASSIGN_OR_RETURN(ending, LeftNoMemory(ran.error()));
  }
  KB_RETURN_IF_ERROR(CompareElsewhere(&rounds, &evaluation));

  // Who did the work of a correct candidate: asked last, so that no call that counts is any different.
  const bool right = Conclude(evaluation.measured, request.protocol, calibration_).verdict == Verdict::kCorrect;
  if (right && request.protocol.profile) {
    KB_RETURN_IF_ERROR(FindAuthorship(request, built, &rounds, &evaluation));
  }
  evaluation.spent_s = rounds.spent_s();

  // The baseline once more, when the runner is gone.
  step = NowNs();
  runner->Kill();
  if (Next(Stage::kAgain, evaluation.measured, request.protocol, calibration_)) {
    runner->Finish();
    candidate_loaded_ = false;
    times["finish"] += static_cast<double>(NowNs() - step) / 1e3;
    KB_RETURN_IF_ERROR(Measure(Stage::kAgain, &rounds, &evaluation));
    step = NowNs();
  }
  KB_RETURN_IF_ERROR(session.End());
  if (!right) {
    const RunnerProcess::End end = runner->Finish();
    // A runner ends with its supervisor, the sandbox and the zygote it came from, and no candidate can end those.
    if (ending && ending->by == EndedBy::kCall && ending->end == "died" && !end.status) {
      return Fail(ErrorCode::kEngine, "the supervisor of the runner died");
    }
    if (ending) AddEnd(end, &*ending);
  }

  // The verdict, and the times of a candidate that is right.
  evaluation.Conclude(calibration_);
  KeepFor(evaluation);
  if (!runner->Output().empty()) evaluation.evidence["output"] = runner->Output();
  dying_ = std::move(runner);
  times["finish"] += static_cast<double>(NowNs() - step) / 1e3;
  times["other"] += std::max(0.0, static_cast<double>(NowNs() - start) / 1e3 - Total(times));
  return evaluation;
}

void Evaluator::AwaitDeath(StepTimes* times) {
  const int64_t start = NowNs();
  if (dying_) gone_ = dying_->Finish().status.has_value();
  lost_ |= dying_ && !gone_;
  dying_.reset();
  (*times)["finish"] += static_cast<double>(NowNs() - start) / 1e3;
}

Result<bool> Evaluator::OpenSession(bool module, const Protocol& protocol, StepTimes* times) {
  int64_t start = NowNs();
  KB_ASSIGN_OR_RETURN(const auto baseline,
                      device_->Ask(ops::MakeBaseline{.kind = protocol.baseline}, kBaselineTimeout));
  (*times)["baselines"] += static_cast<double>(NowNs() - start) / 1e3;
  start = NowNs();
  KB_RETURN_IF_ERROR(
      device_->Ask(ops::BeginSession{.module = module, .without = options_.without}, std::chrono::seconds(60)));
  (*times)["session"] += static_cast<double>(NowNs() - start) / 1e3;
  return baseline.made;
}

Result<SessionFds> Evaluator::ShareMemory(bool beside, StepTimes* times) {
  const int64_t start = NowNs();
  const bool reuse = std::exchange(gone_, false);
  if (beside && std::exchange(lost_, false)) {
    return Fail(ErrorCode::kEngine, "the supervisor of the last runner died, and the runner may still be there");
  }
  KB_ASSIGN_OR_RETURN(auto shared,
                      device_->AskForMemory(ops::Share{.reuse = reuse, .beside = beside}, std::chrono::seconds(60)));
  KB_ASSIGN_OR_RETURN(SessionFds session,
                      SessionOf(std::move(shared.second), shared.first.arena_bytes, shared.first.output_turns));
  // Pages and weights come while the runner starts.
  KB_RETURN_IF_ERROR(device_->Post(ops::SetWeights{.index = 0}, std::chrono::seconds(60)));
  (*times)["session"] += static_cast<double>(NowNs() - start) / 1e3;
  return session;
}

Result<std::unique_ptr<RunnerProcess>> Evaluator::StartRunner(const Request& request, const ops::Problem& problem,
                                                              const Built& built, bool own_process, StepTimes* times) {
  KB_ASSIGN_OR_RETURN(const SessionFds session, ShareMemory(own_process, times));
  const int64_t start = NowNs();
  KB_ASSIGN_OR_RETURN(auto runner, TakeRunner(NeedsOf(request)));
  KB_RETURN_IF_ERROR(TellRunner(request, problem, built, session, own_process, runner.get()));
  KB_RETURN_IF_ERROR(device_->Ask(ops::Attach{.pid = runner->pid()}, std::chrono::seconds(60), {runner->pidfd()}));
  (*times)["launch"] += static_cast<double>(NowNs() - start) / 1e3;
  return runner;
}

// Memory ran out in a trusted process. That is the candidate's doing if it holds more than was planned for it.
Result<Ending> Evaluator::LeftNoMemory(const Error& error) {
  if (options_.device == "cpu" || error.code != ErrorCode::kUnavailable) return tl::make_unexpected(error);
  KB_ASSIGN_OR_RETURN(const auto held, device_->Ask(ops::MemoryTaken(), std::chrono::seconds(60)));
  if (held.taken <= held.planned) return tl::make_unexpected(error);
  Ending ending;
  ending.by = EndedBy::kNoMemory;
  ending.taken = held.taken;
  ending.planned = held.planned;
  return ending;
}

Status Evaluator::Load(const ops::Problem& problem, Rounds* rounds, Evaluation* evaluation) {
  Measurements& measured = evaluation->measured;
  KB_ASSIGN_OR_RETURN(auto loaded, rounds->Ring(CallKind::kLoad, 0));
  if (auto* ending = std::get_if<Ending>(&loaded)) {
    measured.ending = std::move(*ending);
    return {};
  }
  KB_ASSIGN_OR_RETURN(auto prepared, rounds->Ring(CallKind::kPrepare, problem.weight_seeds.front()));
  if (auto* ending = std::get_if<Ending>(&prepared)) {
    measured.ending = std::move(*ending);
    return {};
  }
  const auto& answer = std::get<Rounds::Answer>(prepared);
  measured.prepare_us = std::get<Rounds::Answer>(loaded).times.us + answer.times.us;
  measured.state_differs = answer.said.state_differs;
  measured.other_state = answer.said.text.substr(0, 400);
  return {};
}

}  // namespace kb
