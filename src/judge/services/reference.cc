// The reference in a process of its own: on a GPU both sides are called alike, so that what surrounds a call is the
// same for both. There it takes as long as many kernels.

#include "base/clock.h"
#include "judge/round/round.h"
#include "judge/services/services.h"

namespace kb {

bool Services::WantsReference(const Protocol& protocol) const {
  const bool plain = protocol.baseline == "eager" || protocol.baseline == "eager-fp32";
  return !setup_->on_host() && protocol.measure && !protocol.TimedByEvents() && plain;
}

Result<bool> Services::StartReference(const Request& request, const ops::Problem& problem, StepTimes* times) {
  const Protocol& protocol = request.protocol;
  if (!WantsReference(protocol)) return false;
  // Without offsets it was started on a busy machine: they are of a process that has not called forward.
  const bool serves = reference_ && !reference_->empty.empty() && reference_->baseline == protocol.baseline &&
                      !reference_->process->WaitForEnd({});
  if (!serves) AwaitDeath(times);  // of the last runner, before this one's offset is measured
  const int64_t start = NowNs();
  if (!serves) {
    EndReference();
    KB_ASSIGN_OR_RETURN(
        auto shared,
        device_->AskForMemory(ops::ShareReference{.size = request.size, .kind = protocol.baseline}, kStepTime));
    const ops::ShareReference::Reply& reply = shared.first;
    if (!reply.room) return false;
    KB_ASSIGN_OR_RETURN(const SessionFds session,
                        SessionOf(std::move(shared.second), reply.arena_bytes, reply.output_turns));
    KB_ASSIGN_OR_RETURN(auto process, TakeRunner({CandidateKind::kModule, protocol.memory_gb}));
    RunnerSpec spec = SpecOf(request, problem);
    spec.events = spec.reference = true;
    spec.waits = false;
    spec.form.parameters.clear();
    spec.form.may_alias = true;
    spec.source = reply.source;
    spec.arena_bytes = session.arena_bytes;
    spec.output_turns = session.output_turns;
    KB_RETURN_IF_ERROR(process->Tell(spec, session, {}));
    KB_RETURN_IF_ERROR(device_->Ask(ops::AttachReference{.pid = process->pid()}, kStepTime, {process->pidfd()}));
    reference_ = Reference{protocol.baseline, std::move(process), {}};
    KB_RETURN_IF_ERROR(TellReference(&*device_, protocol, CallKind::kEmpty, 0));  // waits for it to be ready
    KB_RETURN_IF_ERROR(TellReference(&*device_, protocol, CallKind::kLoad, 0));
  }
  const uint64_t seed = problem.weight_seeds.front();
  KB_RETURN_IF_ERROR(TellReference(&*device_, protocol, CallKind::kPrepare, seed));
  (*times)["reference"] += static_cast<double>(NowNs() - start) / 1e3;
  return true;
}

void Services::EndReference() {
  if (!reference_) return;
  reference_->process->Kill();
  reference_->process->Finish();
  reference_.reset();
  if (device_ && device_->alive()) (void)device_->Ask(ops::EndReference(), kStepTime);
}

}  // namespace kb
