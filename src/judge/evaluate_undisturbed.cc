// What times are held against: the baseline by itself and an empty call of the runner, while no candidate is loaded.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "judge/empty_calls.h"
#include "judge/evaluate.h"
#include "judge/void_rounds.h"

namespace kb {
namespace {

using nlohmann::json;

// On a GPU the offset is longer than many kernels. It matters as little for long ones as on the CPU, unless events are
// held against it (where the reference has a process of its own).
constexpr OffsetCalls kOnCpu = {0, 3}, kOfLongCalls = {1, 2};
constexpr double kLongCallUs = 2000;
constexpr int kUndisturbedPatience = 14;

// Which baseline it is, and how it is called.
std::string BaselineKey(const Request& request, const json& problem, bool own_process) {
  const Protocol& protocol = request.protocol;
  const bool module = request.candidate.kind == CandidateKind::kModule;
  return fmt::format("{} {} {} {} {} {}", problem.at("sha256").get<std::string>(), request.size, protocol.precision,
                     protocol.baseline, protocol.timing,
                     own_process ? "own process"
                     : module    ? "module"
                                 : "native");
}

// Whether to go on after so many disturbed calls of the baseline; where that is so, after a pause.
bool MayDisturbAgain(int disturbed) {
  const int series = disturbed / Undisturbed::kSeries;
  if (series == kMostDisturbedSeries) return false;
  if (disturbed % Undisturbed::kSeries == 0) PauseAfter(series);
  return true;
}

}  // namespace

// What the baseline takes before there is a candidate, under the conditions of a round: on fresh inputs, caches
// flushed. On a GPU other runners go on starting and the last one may be dying: the median does not feel it
// (bench/results/run.md), and a call before which they used the device does not count.
Result<bool> Evaluator::MeasureUndisturbed(const Request& request, const json& problem, Rounds* rounds,
                                           Evaluation* evaluation) {
  if (!evaluation->Timed()) return false;
  std::optional<Quiet> quiet;
  if (options_.device == "cpu") quiet.emplace(this);
  const std::string baseline = BaselineKey(request, problem, evaluation->own_process);
  bool skipped = false;
  KB_ASSIGN_OR_RETURN(const auto figure, UndisturbedFigure(baseline, rounds, &quiet, &skipped, evaluation));
  evaluation->brief = undisturbed_.Reused();
  if (!figure) return skipped;
  evaluation->undisturbed = *figure;
  KB_RETURN_IF_ERROR(MeasureOtherInputs(request, problem, &slower_inputs_[baseline], &quiet, rounds, evaluation));
  return skipped;
}

// What was left behind by whatever ran before, builds too, may have disturbed the first figure. Nothing makes a call
// shorter, so two that took about as long as that figure confirm it; if one was quicker, all is measured anew.
Status Evaluator::MeasureUndisturbedAgain(const Request& request, const json& problem, Rounds* rounds,
                                          Evaluation* evaluation) {
  std::optional<Quiet> quiet(this);
  double least_us = INFINITY;
  for (int alone = 0, disturbed = 0; alone < Undisturbed::kSeries;) {
    KB_ASSIGN_OR_RETURN(const Round round, rounds->BaselineAlone("natural"));
    least_us = std::min(least_us, round.baseline_us);
    if (!LostToOtherLoad(round.baseline_waited_us, round.baseline_us, evaluation->protocol)) {
      ++alone;
    } else if (!MayDisturbAgain(++disturbed)) {
      evaluation->MachineBusy();
      return {};
    }
  }
  if (least_us * (1 + MostSlower(*evaluation)) >= evaluation->undisturbed.us) return {};
  undisturbed_.Forget();
  bool skipped = false;
  const std::string baseline = BaselineKey(request, problem, evaluation->own_process);
  KB_ASSIGN_OR_RETURN(const auto figure, UndisturbedFigure(baseline, rounds, &quiet, &skipped, evaluation));
  if (figure && figure->us < evaluation->undisturbed.us) CountWith(*figure, evaluation);
  return {};
}

Result<std::optional<Undisturbed::Figure>> Evaluator::UndisturbedFigure(const std::string& baseline, Rounds* rounds,
                                                                        std::optional<Quiet>* quiet, bool* skipped,
                                                                        Evaluation* evaluation) {
  KB_RETURN_IF_ERROR(device_->Ask(ops::Draw{.distribution = "natural", .seed = {}}, std::chrono::seconds(120)));
  undisturbed_.Begin(baseline);
  for (int call = 0, disturbed = 0; !undisturbed_.Enough(); ++call) {
    if (!*quiet && call == kUndisturbedPatience) {  // is it others?
      AwaitDeath(&evaluation->engine_us);
      quiet->emplace(this);
      undisturbed_.Forget();
      call = 0;
    }
    KB_ASSIGN_OR_RETURN(const BaselineCall alone, rounds->BaselineAlone());
    const bool used = alone.gap_us > 0;
    if (used && !*quiet) {
      *skipped = true;
      continue;
    }
    evaluation->device_shared |= used;
    if (call == 0) continue;  // the first call after another program's warms up
    if (LostToOtherLoad(alone.waited_us, alone.us, evaluation->protocol)) {
      if (MayDisturbAgain(++disturbed)) continue;
      evaluation->MachineBusy();
      return std::nullopt;
    }
    undisturbed_.Add(alone.us, alone.launch_us);
  }
  return undisturbed_.Median();
}

// What an empty call costs in this runner, before it holds a candidate, from flushed caches too. Runners that start
// meanwhile are stopped wherever the figure matters: they made three calls of a native candidate 400 us longer, and its
// time as much shorter.
Status Evaluator::MeasureOffset(const Request& request, bool watch, Rounds* rounds, Evaluation* evaluation) {
  std::optional<Quiet> quiet(this);
  KB_RETURN_IF_ERROR(EmptyCall(rounds, evaluation));  // waits for the runner to be ready
  const bool gpu = options_.device != "cpu";
  const bool short_calls = evaluation->undisturbed.us < kLongCallUs;
  const bool exact = evaluation->Timed() && (!gpu || evaluation->own_process || short_calls);
  if (gpu && !exact && !watch) quiet.reset();
  const OffsetCalls calls = !gpu ? kOnCpu : exact && short_calls ? kOfShortCalls : kOfLongCalls;
  const auto call = [&](bool counts) -> Result<double> {
    KB_ASSIGN_OR_RETURN(const Empty empty, EmptyCall(rounds, evaluation));
    // A runner of ours that was stopped in the middle of starting may still have had work on the device at first, too.
    evaluation->device_shared |= counts && empty.used && quiet;
    return empty.us;
  };
  const double agree_us = std::max(kAgreeUs, request.protocol.half_width * evaluation->undisturbed.us);
  KB_ASSIGN_OR_RETURN(const auto offset, EmptyCalls(calls, exact ? agree_us : INFINITY, call));
  if (!offset) {
    evaluation->MachineBusy();
    return {};
  }
  // On a CPU other load makes some calls longer, and nothing makes one shorter. A GPU's calls err either way, as the
  // candidate's do, whose median counts.
  evaluation->offset_us = (*offset)[offset->size() / (gpu ? 2 : 4)];
  evaluation->offset_spread_us = ScatterUs(*offset);
  return {};
}

Result<Evaluator::Empty> Evaluator::EmptyCall(Rounds* rounds, Evaluation* evaluation) {
  const int64_t start = NowNs();
  KB_RETURN_IF_ERROR(device_->Ask(ops::Flush(), std::chrono::seconds(60)));  // an empty call reads no inputs
  evaluation->engine_us["offset"] += static_cast<double>(NowNs() - start) / 1e3;
  KB_ASSIGN_OR_RETURN(const auto answer, rounds->Ring(CallKind::kEmpty, 0));
  const auto* told = std::get_if<Rounds::Answer>(&answer);
  if (told == nullptr) {
    return Fail(ErrorCode::kEngine, "the runner did not answer an empty call: " + std::get<Finding>(answer).reason);
  }
  const bool used = told->gap_us > 0;
  if (evaluation->own_process) return Empty{told->us - told->elapsed_us, used};
  KB_ASSIGN_OR_RETURN(const auto here, device_->Ask(ops::EmptyBaseline(), std::chrono::seconds(60)));
  return Empty{told->us - here.us, used};
}

}  // namespace kb
