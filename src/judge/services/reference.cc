// The reference in a process of its own: both sides are called alike, so that what surrounds a call is the same for
// both.

#include <fmt/format.h>
#include <signal.h>

#include "base/clock.h"
#include "base/subprocess.h"
#include "judge/round/round.h"
#include "judge/services/services.h"

namespace kb {

Result<bool> Services::StartReference(const Request& request, const ops::Problem& problem, const Compile& compile,
                                      StepTimes* times) {
  const Protocol& protocol = request.protocol;
  // Without offsets it was started on a busy machine: they are of a process that has not called forward. Without
  // namespaces a candidate could reach it, and what it did would stay.
  const bool apart = setup_->sandbox.isolation() == Isolation::kNamespaces;
  const bool serves = apart && has_reference(request) && !reference_->empty.empty() && !reference_ended();
  if (!serves) AwaitDeath(times);  // of the last runner, before this one's offset is measured
  const int64_t start = NowNs();
  if (!serves) {
    EndReference();
    const auto room = LoadReference(request, problem, compile);
    if (!room && !reference_ && device_alive()) (void)device_->Ask(ops::EndReference(), kStepTime);  // what is shared
    if (!room || !*room) return room;
  }
  KB_RETURN_IF_ERROR(TellReference(&*device_, protocol, CallKind::kPrepare, problem.weight_seeds.front()));
  (*times)["reference"] += static_cast<double>(NowNs() - start) / 1e3;
  return true;
}

Result<RunnerSpec> Services::SpecOfReference(const Request& request, const ops::Problem& problem) {
  const Protocol& protocol = request.protocol;
  KB_ASSIGN_OR_RETURN(auto text,
                      device_->Ask(ops::ReferenceSource{.size = request.size, .kind = protocol.baseline}, kStepTime));
  RunnerSpec spec = SpecOf(request, problem);
  spec.events = spec.reference = true;
  spec.waits = !protocol.LaunchesHide();
  spec.form.parameters.clear();
  spec.form.may_alias = true;
  spec.source = std::move(text.source);
  spec.compiled = protocol.CompilesBaseline();
  if (spec.compiled) KB_RETURN_IF_ERROR(zygote()->ImportCompilers());
  return spec;
}

Result<bool> Services::LoadReference(const Request& request, const ops::Problem& problem, const Compile& compile) {
  const Protocol& protocol = request.protocol;
  KB_ASSIGN_OR_RETURN(auto shared,
                      device_->AskForMemory(ops::ShareReference{.holds = protocol.LaunchesHide()}, kStepTime));
  const ops::ShareReference::Reply& reply = shared.first;
  if (!reply.room) return false;
  KB_ASSIGN_OR_RETURN(const SessionFds session,
                      SessionOf(std::move(shared.second), reply.arena_bytes, reply.output_turns));
  KB_ASSIGN_OR_RETURN(RunnerSpec spec, SpecOfReference(request, problem));
  BuildResult compiled;
  if (spec.compiled) {
    KB_ASSIGN_OR_RETURN(compiled, compile(spec));
    if (compiled.artifact.empty()) {
      return Fail(ErrorCode::kUsage, fmt::format("the baseline {} cannot be made: {}; choose --baseline eager",
                                                 protocol.baseline, LastLine(compiled.log)));
    }
  }
  KB_ASSIGN_OR_RETURN(auto process, TakeRunner(NeedsOfReference()));
  spec.arena_bytes = session.arena_bytes;
  spec.output_turns = session.output_turns;
  std::vector<std::filesystem::path> files;
  if (spec.compiled) files.push_back(compiled.artifact);
  KB_RETURN_IF_ERROR(process->Tell(spec, session, files));
  KB_RETURN_IF_ERROR(
      device_->Ask(ops::AttachReference{.pid = device_->NumberOf(process->pid())}, kStepTime, {process->pidfd()}));
  reference_ = Reference{ReferenceOf(request), std::move(process), compiled.hold, {}};
  KB_RETURN_IF_ERROR(TellReference(&*device_, protocol, CallKind::kEmpty, 0));  // waits for it to be ready
  KB_RETURN_IF_ERROR(TellReference(&*device_, protocol, CallKind::kLoad, 0));
  return true;
}

bool Services::reference_killed() {
  if (!reference_ended()) return false;
  const RunnerProcess::End end = reference_->process->Finish();
  return end.out_of_memory || (end.status && end.status->signal == SIGKILL);
}

void Services::EndReference() {
  if (!reference_) return;
  reference_->process->Kill();
  reference_->process->Finish();
  reference_.reset();
  if (device_ && device_->alive()) (void)device_->Ask(ops::EndReference(), kStepTime);
}

}  // namespace kb
