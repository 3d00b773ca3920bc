#include "judge/evaluate.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/cores.h"
#include "base/random.h"
#include "judge/problem/metadata.h"
#include "judge/trial/anchors.h"
#include "wire/report.h"

namespace kb {
namespace {

// What a runner says that it lacks: worth something only as long as the candidate has not answered.
std::optional<ExtensionRequest> LacksExtension(const Measurements& measured) {
  if (!measured.setting.module || !measured.ending || !measured.rounds.empty()) return std::nullopt;
  const Ending& ending = *measured.ending;
  const bool lacks = ending.by == EndedBy::kCall && ending.end == "done" &&
                     ending.said.status == static_cast<int>(ReportStatus::kLacksExtension);
  return lacks ? ReadAsked(ending.said.text) : std::nullopt;
}

std::vector<uint64_t> DrawWeightSeeds() {
  std::vector<uint64_t> seeds;
  for (int i = 0; i < Protocol::kWeightSeeds; ++i) seeds.push_back(RandomBits() >> 8);
  return seeds;
}

}  // namespace

Result<std::unique_ptr<Evaluator>> Evaluator::Create(const EvaluatorOptions& options) {
  KB_ASSIGN_OR_RETURN(FoundDevice device, FindDevice(options.device));
  KB_ASSIGN_OR_RETURN(Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Sandbox sandbox,
                      Sandbox::Create(installation, options.isolation, options.without, device.access));
  Setup setup{options, std::move(device), std::move(installation), std::move(sandbox), {}, {}};
  setup.options.device = setup.device.kind->name;
  if (!setup.options.seating) setup.options.seating = std::make_shared<Seating>(ThreadsByCore());
  // Calls on the host compute on all cores, and nothing is built meanwhile (scheduler.cc).
  if (!setup.on_host()) setup.device.seat = setup.options.seating->Take(setup.device.near, setup.device.number);
  const auto seats = static_cast<int>(setup.device.seat.cores.size());
  if (setup.options.threads <= 0) setup.options.threads = seats > 0 ? seats : CoreCount();
  setup.weight_seeds = DrawWeightSeeds();
  std::unique_ptr<Evaluator> evaluator(new Evaluator(std::move(setup)));
  KB_ASSIGN_OR_RETURN(evaluator->preparer_, Preparer::Create(&evaluator->setup_, &evaluator->services_));
  return evaluator;
}

Result<Evaluation> Evaluator::Evaluate(Prepared* prepared, const std::vector<RunnerNeeds>& ahead) {
  KB_RETURN_IF_ERROR(CanTime(prepared->request.protocol));
  if (!prepared->rejection.empty()) return RejectByText(*prepared);
  if (prepared->request.problem.from_client) return EvaluateApart(prepared);
  return EvaluateWith(&services_, prepared, ahead);
}

// A client's problem has a device process, a zygote and runners of its own, which end with this call. Those of others
// stay as they are, and are at rest meanwhile.
Result<Evaluation> Evaluator::EvaluateApart(Prepared* prepared) {
  KB_RETURN_IF_ERROR(setup_.sandbox.HoldsDeviceProcess());
  KB_RETURN_IF_ERROR(services_.Ensure(false));
  StepTimes times;
  services_.AwaitDeath(&times);
  const Services::Quiet quiet(&services_);
  KB_ASSIGN_OR_RETURN(const Setup apart, SetupApart(prepared->request.protocol));
  Services own(&apart, services_.python());
  KB_RETURN_IF_ERROR(own.Ensure(true));
  // From here on what fails is the text's doing, as far as anybody can tell: nothing that it says is believed.
  Result<Evaluation> evaluation = Fail(ErrorCode::kUsage, "");
  try {
    evaluation = EvaluateWith(&own, prepared, {});
    if (evaluation) (void)evaluation->ToJson();
  } catch (const std::exception& exception) {
    evaluation = Fail(ErrorCode::kUsage, std::string("the problem's process answered nonsense: ") + exception.what());
  }
  if (evaluation || evaluation.error().code != ErrorCode::kEngine) return evaluation;
  return Fail(ErrorCode::kUsage, "of the problem that was sent: " + evaluation.error().message);
}

Status Evaluator::Lend(const std::function<void(const MemoryGauge& memory)>& use) {
  const FoundDevice& device = setup_.device;
  MemoryGauge memory;
  if (device.kind->memory != nullptr) {
    KB_ASSIGN_OR_RETURN(memory, device.kind->memory(device.number));
    KB_RETURN_IF_ERROR(services_.Ensure(false));  // or it would take memory later
  }
  StepTimes times;
  services_.AwaitDeath(&times);
  const Services::Quiet quiet(&services_);
  use(memory);
  return {};
}

Result<Setup> Evaluator::SetupApart(const Protocol& protocol) {
  constexpr double kGib = 1 << 30, kLeastGb = 1;
  KB_ASSIGN_OR_RETURN(const ops::DeviceFacts facts, services_.Facts());
  Setup apart = setup_;
  apart.sandbox = setup_.sandbox.Apart(setup_.device.number);
  apart.weight_seeds = DrawWeightSeeds();  // those of others stay unknown to it
  apart.apart = Apart{.facts = facts,
                      .memory_gb = std::max(static_cast<double>(AvailableMemory()) / 2 / kGib, kLeastGb),
                      .seconds = 2 * (protocol.reference_timeout_s + protocol.evaluation_timeout_s)};
  double& plan = apart.options.device_memory_gb;
  if (setup_.on_host()) plan = plan > 0 ? std::min(plan, apart.apart->memory_gb) : apart.apart->memory_gb;
  return apart;
}

// What the candidate took of `evaluation_timeout_s` is gone in the next attempt, too. An attempt that ended in an error
// was none of it.
Result<Evaluation> Evaluator::EvaluateWith(Services* services, Prepared* prepared,
                                           const std::vector<RunnerNeeds>& ahead) {
  Attempts attempts;
  attempts.next.spent_s = prepared->spent_s;
  for (;;) {
    auto evaluation = EvaluateOnce(services, prepared, ahead, &attempts);
    if (evaluation) {
      if (prepared->asked < kMostAsked) prepared->lacking = LacksExtension(evaluation->measured);
      if (prepared->lacking) {
        prepared->spent_s = evaluation->spent_s;
        return evaluation;
      }
      const std::string reason = WhyAgain(services, *evaluation, &attempts);
      if (reason.empty()) return evaluation;
      attempts.next.spent_s = evaluation->spent_s;
      setup_.Say("trying again: " + reason);
    } else {
      if (evaluation.error().code != ErrorCode::kEngine || services != &services_) return evaluation;
      if (attempts.failures == 2) return WhoseFailure(prepared->request, attempts, evaluation.error());
      setup_.Say("trying again: " + evaluation.error().message);
    }
  }
}

Result<Evaluation> Evaluator::EvaluateToTheEnd(Prepared* prepared, const std::vector<RunnerNeeds>& ahead) {
  for (;;) {
    auto evaluation = Evaluate(prepared, ahead);
    if (!evaluation || !prepared->lacking) return evaluation;
    KB_RETURN_IF_ERROR(AddLacking(prepared));
  }
}

Result<Evaluation> Evaluator::EvaluateOnce(Services* services, Prepared* prepared,
                                           const std::vector<RunnerNeeds>& ahead, Attempts* attempts) {
  const Request& request = prepared->request;
  bool loaded = false;
  auto evaluation = [&]() -> Result<Evaluation> {
    KB_RETURN_IF_ERROR(services->Ensure(request.module() || request.protocol.measure));
    Trial trial(services, *preparer_, prepared, attempts->next, ahead);
    auto ended = trial.Run();
    loaded = trial.loaded();
    return ended;
  }();
  if (!evaluation && evaluation.error().code == ErrorCode::kEngine) NoteFailure(loaded, attempts);
  if (!evaluation) services->EndReference();  // it may be in the middle of a call
  return evaluation;
}

// - It seems to have started early, where others on the device were looked for in fewer calls than that verdict takes.
// - A module's first answer is wrong, and its weights have only other values than the reference's: it may draw them in
//   another order.
// - SIGKILL ended it, as where a machine runs out of memory. Who sends it to itself has one more attempt.
std::string Evaluator::WhyAgain(Services* services, const Evaluation& evaluation, Attempts* attempts) {
  if (evaluation.started_early && evaluation.timings.brief) {
    services->ForgetCalls();
    return "the device was in use before calls, and others may use it";
  }
  const bool at_first = evaluation.verdict == Verdict::kIncorrect && evaluation.measured.rounds.empty();
  if (at_first && evaluation.measured.state_differs && !attempts->next.copy_state) {
    attempts->next.copy_state = true;
    return "with the reference's weights";
  }
  const bool killed =
      evaluation.verdict == Verdict::kCrashed && evaluation.evidence.value("signal", "") == SignalName(SIGKILL);
  return killed && ++attempts->kills < 2 ? "the runner was killed" : "";
}

void Evaluator::NoteFailure(bool loaded, Attempts* attempts) {
  ++attempts->failures;
  attempts->always_loaded = attempts->always_loaded && loaded;
  attempts->trusted_died = !services_.device_alive() || services_.reference_ended();
  attempts->trusted_killed = services_.device_killed() || services_.reference_killed();
}

// A trusted process that dies is our failure. One that dies a second time while the same candidate is loaded is charged
// to the candidate; but no candidate can send it SIGKILL.
Result<Evaluation> Evaluator::WhoseFailure(const Request& request, const Attempts& attempts, const Error& error) {
  if (!attempts.always_loaded || !attempts.trusted_died) return tl::make_unexpected(error);
  if (attempts.trusted_killed) {
    return Fail(ErrorCode::kUnavailable, error.message +
                                             " twice, as Linux does where the machine runs out of memory; choose a "
                                             "smaller --size, or free some");
  }
  return Reject(BeginEvaluation(setup_, request), Verdict::kTampered,
                "a trusted process died twice under this candidate: " + error.message);
}

Result<Evaluation> Evaluator::Charge(const Request& request, const Error& error) {
  if (request.problem.from_client) return tl::make_unexpected(error);
  Evaluation alone;
  const auto baseline = MeasureBaseline(request.problem, request.size, request.protocol);
  if (!baseline && baseline.error().message != kBusy) return tl::make_unexpected(error);
  const auto problem = DescribeProblem(request.problem, request.size, request.protocol);
  if (!problem || !AnchorBudgets(request, *problem, &services_, &alone)) return tl::make_unexpected(error);
  return Reject(BeginEvaluation(setup_, request), Verdict::kCrashed,
                "the engine failed in every attempt at this candidate, while it judges others: " + error.message);
}

// Whether the problem has the size that is asked for shows in its text, or when it is loaded.
Result<Evaluation> Evaluator::RejectByText(const Prepared& prepared) {
  const Request& request = prepared.request;
  KB_ASSIGN_OR_RETURN(const std::string source, TextOf(request.problem));
  const std::vector<std::string> sizes = ReadMetadata(source).sizes;
  if (!request.problem.from_client && std::find(sizes.begin(), sizes.end(), request.size) == sizes.end()) {
    KB_RETURN_IF_ERROR(DescribeProblem(request.problem, request.size, request.protocol));
  }
  Evaluation evaluation = BeginEvaluation(setup_, request);
  for (const std::string& note : prepared.notes) evaluation.measured.AddNote(note);
  if (!prepared.static_findings.is_null()) evaluation.evidence["static_findings"] = prepared.static_findings;
  return Reject(std::move(evaluation), Verdict::kStaticRejected, prepared.rejection);
}

Status Evaluator::CanTime(const Protocol& protocol) const {
  if (!protocol.TimedByEvents() || !setup_.on_host()) return {};
  return Fail(ErrorCode::kUsage,
              fmt::format("timing={} takes events of a GPU; choose --timing outer or --device cuda", protocol.timing));
}

}  // namespace kb
