// Who did the work: a few more calls of a candidate that is known to be correct, watched from outside.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "judge/trial/trial.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr int kMostCalls = 200;
constexpr int kCallsPerDraw = 8;  // drawing takes longer than the calls
constexpr int64_t kEnoughSamples = 150;
constexpr int64_t kEnoughNearABound = 600;
constexpr double kNear = 0.05;
constexpr int64_t kEnoughStops = 30;  // threads seen at one stop are mostly in the same place
constexpr int64_t kLeastSamples = 30;
constexpr double kBusyFactor = 10;  // times profile_ms, where even that many are not there yet: on a busy machine

// How often a call is stopped: a few times if it is short, seldom enough that stopping is not all it does.
double IntervalUs(const std::vector<Round>& rounds) {
  std::vector<double> times;
  for (const Round& round : rounds) times.push_back(round.candidate.us);
  const double call = times.empty() ? 0 : Median(times);
  return std::max(std::clamp(call / 4, 20.0, 300.0), call / 100);
}

// How many samples make the class certain enough: more where the share of custom work lies near a bound of classes.
int64_t EnoughSamples(const json& authorship) {
  const double custom = authorship.at("custom"), both = custom + authorship.at("library").get<double>();
  const double share = both > 0 ? custom / both : 0.5;
  return std::abs(share - 0.9) < kNear || std::abs(share - 0.1) < kNear ? kEnoughNearABound : kEnoughSamples;
}

// Compilers of torch (oneDNN) leave their code in memory without a file. So does what a module loads by ctypes.
const char* AnonymousCode(const Candidate& candidate) {
  if (candidate.kind == CandidateKind::kNative) return "custom";
  return candidate.source.find("ctypes") == std::string::npos ? "library" : "other";
}

}  // namespace

Status Trial::FindAuthorship() {
  if (!right_ || !protocol().Profiles()) return {};
  if (setup_.apart) {
    measured().no_authorship = "it is not asked where a client's problem is judged";
    return {};
  }
  if (setup_.on_host() && setup_.options.without.contains("freeze")) {
    measured().no_authorship = "a runner that is not stopped cannot be looked at";
    return {};
  }
  KB_ASSIGN_OR_RETURN(measured().no_authorship, setup_.on_host() ? ObserveCalls() : TraceCall());
  if (measured().authorship.is_object() && measured().authorship.contains("why")) {
    if (measured().no_authorship.empty()) measured().no_authorship = measured().authorship["why"];
    measured().authorship.erase("why");
  }
  return {};
}

Result<std::string> Trial::ObserveCalls() {
  json& authorship = measured().authorship;
  json settings = {{"custom", json::object()},
                   {"anonymous", AnonymousCode(request_.candidate)},
                   {"interval_us", IntervalUs(measured().rounds)}};
  if (!request_.module()) settings["custom"][prepared_->kernel.filename().string()] = "kernel.so";
  for (const auto& [key, name, file] : prepared_->extensions) {  // under the file names that extensions.py gives them
    settings["custom"][key.substr(0, 16) + ".so"] = name + ".so";
  }
  std::string why;
  int64_t stops = 0;
  const int64_t start = NowNs();
  for (int call = 0; call < kMostCalls; ++call) {
    KB_ASSIGN_OR_RETURN(const auto answer, rounds_.ObserveCall(call % kCallsPerDraw == 0, settings));
    if (answer.end != "done") {
      why = fmt::format("a profiled call {}", answer.end == "timed_out" ? "took too long" : "did not end well");
      authorship = nullptr;
      break;
    }
    authorship = answer.authorship;
    stops += answer.stops;
    why = answer.refused;
    if (!why.empty()) break;
    const int64_t samples = authorship.at("samples");
    const double spent_ms = static_cast<double>(NowNs() - start) / 1e6 / (samples < kLeastSamples ? kBusyFactor : 1);
    if (spent_ms >= request_.protocol.profile_ms || (samples >= EnoughSamples(authorship) && stops >= kEnoughStops))
      break;
  }
  return why;
}

}  // namespace kb
