#include "judge/conclude_again.h"

#include <fmt/format.h>

#include <exception>
#include <vector>

#include "judge/devices/device_kind.h"
#include "judge/evaluation.h"

namespace kb {
namespace {

using nlohmann::json;

// In these two protocols must agree: they say what was run, and what was found right.
constexpr const char* kDecidedBefore[] = {"precision", "baseline",      "comparison",     "atol",       "rtol",
                                          "rtol_rms",  "anchor_rounds", "repeat_bitwise", "input_seeds"};
constexpr const char* kDecidedByRule[] = {"verdict",      "reason",    "no_speedup", "speedup", "speedup_interval",
                                          "headline",     "rounds",    "floor",      "notes",   "baseline_us",
                                          "candidate_us", "confidence"};

constexpr const char* kDamaged = "its record is damaged";

ConcludedAgain TooLittle(std::string why) { return {"too_little", std::move(why), nullptr}; }

// Why what was measured under one protocol says nothing under the other; empty: it does.
std::string WhyNot(const Protocol& measured, const Protocol& wanted) {
  const json before = measured.ToJson(), after = wanted.ToJson();
  for (const char* key : kDecidedBefore) {
    if (before.at(key) != after.at(key)) return fmt::format("it was judged with another {}", key);
  }
  if (measured.Profiles() != wanted.Profiles()) return "who did the work was asked of one only";
  return measured.TimedByEvents() == wanted.TimedByEvents() ? "" : "it was judged with another timing";
}

const char* NameOf(Stage stage) {
  switch (stage) {
    case Stage::kReference:
      return "empty calls of the reference";
    case Stage::kBaseline:
      return "calls of the baseline by itself";
    case Stage::kRunner:
      return "empty calls of the runner";
    case Stage::kRounds:
      return "rounds";
    case Stage::kAgain:
      return "calls of the baseline behind the rounds";
  }
  return "";
}

}  // namespace

std::vector<std::string> ChangedKeys(const json& before, const json& after) {
  std::vector<std::string> keys;
  for (const char* key : kDecidedByRule) {
    if (before.value(key, json()) != after.value(key, json())) keys.emplace_back(key);
  }
  return keys;
}

namespace {

ConcludedAgain Again(const json& evaluation, const Protocol* protocol) {
  if (!evaluation.contains("measurements")) return TooLittle("it was judged before measurements were stored");
  if (evaluation.at("measurements").is_null()) return {"no_trial", "", nullptr};
  if (!evaluation.at("protocol_keys").is_object()) return TooLittle(kDamaged);
  const Protocol own = Protocol::FromJson(evaluation.at("protocol"), evaluation.at("protocol_keys"));
  const Protocol& wanted = protocol == nullptr ? own : *protocol;
  if (const Status valid = own.Validate(); !valid) return TooLittle(valid.error().message);
  if (const std::string why = WhyNot(own, wanted); !why.empty()) return TooLittle(why);
  const std::pair<const char*, double> fixed[] = {{"rms_factor", Protocol::kRmsFactor},
                                                  {"max_factor", Protocol::kMaxFactor},
                                                  {"cap", Protocol::kMostOfDeviation},
                                                  {"confidence", Protocol::kConfidence}};
  for (const auto& [key, value] : fixed) {
    if (evaluation.at("protocol_keys").value(key, value) != value)
      return TooLittle(fmt::format("it was judged with another {}", key));
  }
  const auto measured = evaluation.at("measurements").get<Measurements>();
  if (measured.setting.weight_sets < 1) return TooLittle(kDamaged);
  if (!evaluation.at("measurements").at("setting").contains("floor")) {
    return TooLittle("it was judged before its machine's floor and its waits for other programs were stored");
  }
  const DeviceKind* kind = KindOfDevice(measured.setting.device);
  if (kind == nullptr) return TooLittle(kDamaged);
  const Calibration& calibration = kind->calibration;
  for (const Stage stage : kStages) {
    if (Next(stage, measured, wanted, calibration)) {
      return TooLittle(fmt::format("further {} are wanted", NameOf(stage)));
    }
  }
  const Conclusion conclusion = Conclude(measured, wanted, calibration);
  json after = ConclusionJson(conclusion, measured, evaluation.value("device_info", json::object()),
                              evaluation.value("figures", json::object()));
  const bool same = ChangedKeys(evaluation, after).empty();
  return {same ? "same" : "changed", "", std::move(after)};
}

}  // namespace

// A store from elsewhere may hold anything.
ConcludedAgain ConcludeAgain(const json& evaluation, const Protocol* protocol) {
  try {
    return Again(evaluation, protocol);
  } catch (const json::exception&) {
    return TooLittle(kDamaged);
  }
}

}  // namespace kb
