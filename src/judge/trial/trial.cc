#include "judge/trial/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "judge/problem/problem_index.h"
#include "judge/trial/anchors.h"

namespace kb {
namespace {

using nlohmann::json;

double Since(int64_t start_ns) { return static_cast<double>(NowNs() - start_ns) / 1e3; }

void AddEnd(const RunnerProcess::End& end, Ending* ending) {
  ending->out_of_memory = end.out_of_memory;
  if (!end.status) return;
  if (end.status->signal != 0) {
    ending->signal = end.status->signal;
  } else {
    ending->exit_code = end.status->code;
  }
}

// What a runner printed before it held a candidate, as the end of a message.
std::string Quoted(const std::string& output) {
  const std::string text = output.substr(0, output.find_last_not_of(" \n") + 1);
  return text.empty() ? "" : ": " + text;
}

double Total(const StepTimes& times) {
  double sum = 0;
  for (const auto& [name, us] : times) sum += us;
  return sum;
}

}  // namespace

Evaluation BeginEvaluation(const Setup& setup, const Request& request) {
  Evaluation evaluation;
  evaluation.id = fmt::format("{}-{:08x}", UtcNow("%Y%m%d-%H%M%S"), static_cast<uint32_t>(RandomBits()));
  evaluation.created = UtcNow(kIso8601);
  evaluation.problem = request.problem.name;
  evaluation.problem_source = request.problem.from_client ? "client" : "file";
  evaluation.size = request.size;
  evaluation.device = setup.options.device;
  evaluation.device_info = json::object();
  evaluation.protocol = request.protocol;
  evaluation.candidate = {{"path", request.candidate.path.string()},
                          {"kind", request.module() ? "module" : "native"},
                          {"sha256", request.candidate.sha256},
                          {"source", request.candidate.source},
                          {"backend", request.candidate.backend}};
  evaluation.isolation = IsolationName(setup.sandbox.isolation());
  evaluation.barriers = setup.sandbox.Barriers();
  if (!setup.sandbox.without().empty()) {
    evaluation.measured.AddNote(fmt::format("weakened: judged without {}; this proves a barrier and no candidate",
                                            fmt::join(setup.sandbox.without(), ", ")));
  }
  return evaluation;
}

Evaluation Reject(Evaluation evaluation, Verdict verdict, std::string reason) {
  evaluation.verdict = verdict;
  evaluation.reason = std::move(reason);
  return evaluation;
}

Trial::SharedSession::~SharedSession() {
  if (device_ != nullptr && device_->alive()) (void)End();
}

Status Trial::SharedSession::End() { return std::exchange(device_, nullptr)->Post(ops::EndSession(), kStepTime); }

Trial::Trial(Services* services, const Preparer& preparer, Prepared* prepared, const Attempt& attempt,
             const std::vector<RunnerNeeds>& ahead)
    : services_(services),
      setup_(services->setup()),
      preparer_(preparer),
      prepared_(prepared),
      request_(prepared->request),
      attempt_(attempt),
      ahead_(ahead),
      start_ns_(NowNs()),
      before_us_(prepared->us),
      evaluation_(BeginEvaluation(setup_, request_)),
      rounds_(&services->device(), request_.protocol, &evaluation_.engine_us, attempt.spent_s),
      measurer_(services, &rounds_, &evaluation_, request_.watch) {
  for (const std::string& note : prepared->notes) measured().AddNote(note);
  if (!prepared->static_findings.is_null()) evaluation_.evidence["static_findings"] = prepared->static_findings;
}

// After an interrupt the device process may still wait for the runner, and must end the session before the runner's
// memory can come back.
Trial::~Trial() {
  if (!session_ || !runner_) return;
  runner_->Kill();
  (void)services_->device().Recover();
}

// The story of one evaluation.
Result<Evaluation> Trial::Run() {
  // The trusted side loads the problem and finds out what it takes and returns. A runner starts meanwhile.
  KB_RETURN_IF_ERROR(LoadProblem());
  KB_RETURN_IF_ERROR(Build());
  if (auto refused = Refuse()) return std::move(*refused);

  // What the answer may err: before the shared memory is there, for fp64 needs much of it.
  KB_RETURN_IF_ERROR(AnchorBudgets(request_, problem_, services_, &evaluation_));
  KB_RETURN_IF_ERROR(TimeBaseline());

  // A runner of its own, confined, with shared memory of its own; it holds no candidate yet.
  KB_RETURN_IF_ERROR(StartRunner());
  // From here on nothing in the runner is trusted.
  KB_RETURN_IF_ERROR(LoadCandidate());
  KB_RETURN_IF_ERROR(MakeRounds());
  // Who did the work of a correct candidate: asked last, so that no call that counts is any different.
  KB_RETURN_IF_ERROR(FindAuthorship());

  // The baseline once more, when the runner is gone.
  KB_RETURN_IF_ERROR(EndRunner());
  return Conclude();
}

// Before the problem is loaded there may be a reference of the last one.
void Trial::ForeseeRunners() {
  std::vector<RunnerNeeds> runners = {NeedsOf(request_)};
  if (protocol().measure && !services_->has_reference(request_)) runners.push_back(services_->NeedsOfReference());
  runners.insert(runners.end(), ahead_.begin(), ahead_.end());
  services_->ForeseeRunners(runners);
}

Status Trial::LoadProblem() {
  ForeseeRunners();
  evaluation_.device_info = services_->device().facts().Info();
  const std::vector<int>& cores = setup_.device.seat.cores;
  evaluation_.device_info["seat"] = {{"cores", cores.empty() ? json(nullptr) : json(cores)},
                                     {"nice", NiceOf(services_->device().pid())}};
  // On the host the last runner's memory must be back before what this one may take is planned.
  if (setup_.on_host()) services_->AwaitDeath(&times());
  KB_ASSIGN_OR_RETURN(problem_, services_->LoadProblem(request_.problem, request_.size, protocol(), &times()));
  evaluation_.problem_sha256 = problem_.sha256;
  ForeseeRunners();
  if (!request_.problem.from_client)
    evaluation_.figures = MeasuredFigures(request_.problem.path, request_.problem.name, request_.size);
  for (const std::string& note : problem_.notes) measured().AddNote(note);
  return {};
}

Status Trial::Build() {
  KB_RETURN_IF_ERROR(preparer_.AddFirstCall(problem_, prepared_));
  // The last candidate's memory must be back here at the latest. On a GPU with room for both it dies while nothing but
  // kernels is needed: they run on, while the driver keeps waiting what takes or frees memory.
  if (!services_->roomy() || problem_.fresh) services_->AwaitDeath(&times());
  times()["build"] += prepared_->us;
  evaluation_.device_info["compiler"] =
      prepared_->compiler.empty() ? preparer_.builder().compiler().version : prepared_->compiler;
  if (const std::string said = CompilerOutput(*prepared_); !said.empty()) {
    evaluation_.evidence["compiler_output"] = said;
  }
  return {};
}

std::optional<Evaluation> Trial::Refuse() {
  if (problem_.needs_rng && !request_.module()) {
    return Reject(std::move(evaluation_), Verdict::kNotRun,
                  "the answer depends on torch's random generator, which a native candidate has not; write a module");
  }
  if (prepared_->failure.empty()) return std::nullopt;
  return Reject(std::move(evaluation_), Verdict::kBuildFailed, prepared_->failure);
}

Status Trial::TimeBaseline() {
  KB_RETURN_IF_ERROR(services_->OpenSession(request_.module(), protocol(), &times()));
  if (protocol().measure) {
    KB_ASSIGN_OR_RETURN(timed_, services_->StartReference(
                                    request_, problem_,
                                    [this](const auto& spec) { return preparer_.CompileBaseline(spec); }, &times()));
  }
  evaluation_.tried = true;
  KB_ASSIGN_OR_RETURN(measured().setting, TimedSettingOf(services_, request_, problem_));
  measured().setting.no_room = protocol().measure && !timed_;
  measured().state_copied = attempt_.copy_state;
  if (!prepared_->refused.empty()) measured().refused_build = FirstErrorLine(prepared_->refused.front().second);
  if (timed_) {
    services_->Recall(BaselineKey(), &measured());
    KB_RETURN_IF_ERROR(measurer_.MeasureReference());
  }
  KB_RETURN_IF_ERROR(measurer_.Measure(Stage::kBaseline));
  KeepForOthers();
  services_->AwaitDeath(&times());
  return {};
}

Status Trial::StartRunner() {
  KB_ASSIGN_OR_RETURN(const SessionFds session, services_->ShareMemory(timed_, &times()));
  const int64_t start = NowNs();
  KB_ASSIGN_OR_RETURN(runner_, services_->TakeRunner(NeedsOf(request_)));
  KB_RETURN_IF_ERROR(TellRunner(session));
  KB_RETURN_IF_ERROR(services_->device().Ask(ops::Attach{.pid = services_->device().NumberOf(runner_->pid())},
                                             kStepTime, {runner_->pidfd()}));
  times()["launch"] += Since(start);
  session_.emplace(&services_->device());
  if (const Status offset = measurer_.Measure(Stage::kRunner); !offset) {
    return Fail(offset.error().code, offset.error().message + Quoted(runner_->Finish().output));
  }
  if (!runner_->Limited()) {
    return Fail(ErrorCode::kEngine, "cannot put a runner into a control group, though this machine offers them");
  }
  return {};
}

Status Trial::TellRunner(const SessionFds& session) {
  RunnerSpec spec = services_->SpecOf(request_, problem_);
  spec.profiler = services_->device().facts().profiler;
  spec.events = timed_;
  spec.waits = !protocol().LaunchesHide();
  if (!request_.module()) return runner_->Tell(spec, session, {prepared_->kernel});
  spec.copy_state = attempt_.copy_state;
  spec.arena_bytes = session.arena_bytes;
  spec.output_turns = session.output_turns;
  std::vector<std::filesystem::path> files;
  for (const auto& [key, name, file] : prepared_->extensions) {
    spec.extensions.emplace_back(key, name);
    files.push_back(file);
  }
  spec.refused = prepared_->refused;
  spec.may_ask = prepared_->asked < kMostAsked;
  spec.compiled = !prepared_->first_call.empty();
  if (spec.compiled) files.push_back(prepared_->first_call);
  return runner_->Tell(spec, session, files);
}

Result<std::optional<Rounds::Answer>> Trial::Ring(CallKind kind, uint64_t argument) {
  KB_ASSIGN_OR_RETURN(auto answered, rounds_.Ring(kind, argument));
  if (auto* answer = std::get_if<Rounds::Answer>(&answered)) return std::optional(std::move(*answer));
  measured().ending = std::get<Ending>(std::move(answered));
  return std::optional<Rounds::Answer>();
}

Status Trial::LoadCandidate() {
  loaded_ = true;
  KB_ASSIGN_OR_RETURN(const auto loaded, Ring(CallKind::kLoad, 0));
  if (!loaded) return {};
  KB_ASSIGN_OR_RETURN(const auto prepared, Ring(CallKind::kPrepare, problem_.weight_seeds.front()));
  if (!prepared) return {};
  measured().prepare_us = loaded->times.us + prepared->times.us;
  measured().state_differs = prepared->said.state_differs;
  measured().other_state = prepared->said.text.substr(0, 400);
  return {};
}

Status Trial::MakeRounds() {
  if (const Status ran = measurer_.Measure(Stage::kRounds); !ran) {
    KB_ASSIGN_OR_RETURN(measured().ending, LeftNoMemory(ran.error()));
  }
  KB_RETURN_IF_ERROR(measurer_.CompareElsewhere());
  right_ = kb::Conclude(measured(), protocol(), setup_.calibration()).verdict == Verdict::kCorrect;
  return {};
}

// Memory ran out in a trusted process. That is the candidate's doing if it holds more than was planned for it.
Result<Ending> Trial::LeftNoMemory(const Error& error) {
  if (setup_.on_host() || error.code != ErrorCode::kUnavailable) return tl::make_unexpected(error);
  KB_ASSIGN_OR_RETURN(const auto held, services_->device().Ask(ops::MemoryTaken(), kStepTime));
  if (held.taken <= held.planned) return tl::make_unexpected(error);
  Ending ending;
  ending.by = EndedBy::kNoMemory;
  ending.taken = held.taken;
  ending.planned = held.planned;
  return ending;
}

Status Trial::EndRunner() {
  evaluation_.spent_s = rounds_.spent_s();
  int64_t start = NowNs();
  runner_->Kill();
  if (Next(Stage::kAgain, measured(), protocol(), setup_.calibration())) {
    runner_->Finish();
    loaded_ = false;
    times()["finish"] += Since(start);
    KB_RETURN_IF_ERROR(measurer_.Measure(Stage::kAgain));
    start = NowNs();
  }
  KB_RETURN_IF_ERROR(session_->End());
  std::optional<Ending>& ending = measured().ending;
  if (!right_) {
    const RunnerProcess::End end = runner_->Finish();
    // A runner ends with its supervisor, the sandbox and the zygote it came from, and no candidate can end those.
    if (ending && ending->by == EndedBy::kCall && ending->end == "died" && !end.status) {
      return Fail(ErrorCode::kEngine, "the supervisor of the runner died");
    }
    if (ending) AddEnd(end, &*ending);
  }
  times()["finish"] += Since(start);
  return {};
}

// The verdict, and the times of a candidate that is right.
Evaluation Trial::Conclude() {
  evaluation_.Conclude(setup_.calibration());
  KeepForOthers();
  if (!runner_->Output().empty()) evaluation_.evidence["output"] = runner_->Output();
  services_->Bury(std::move(runner_));
  times()["other"] += std::max(0.0, Since(start_ns_) + before_us_ - Total(times()));
  return std::move(evaluation_);
}

// Which baseline it is.
std::string Trial::BaselineKey() const {
  return fmt::format("{} {} {} {} {}", problem_.sha256, request_.size, protocol().precision, protocol().baseline,
                     protocol().LaunchesHide());
}

void Trial::KeepForOthers() {
  if (timed_) services_->Keep(KeptOf(measured(), protocol(), setup_.calibration()));
}

}  // namespace kb
