#include "server/reward.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"

namespace kb::server {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

tl::unexpected<Error> Wrong(const fs::path& file, const std::string& why) {
  return Fail(ErrorCode::kUsage, fmt::format("{}: {}", file.string(), why));
}

Status ReadSteps(const toml::array& array, const fs::path& file, Reward* reward) {
  for (const toml::node& node : array) {
    const toml::array* pair = node.as_array();
    const auto from = pair != nullptr && pair->size() == 2 ? (*pair)[0].value<double>() : std::nullopt;
    const auto value = from ? (*pair)[1].value<double>() : std::nullopt;
    if (!value || (!reward->steps.empty() && *from <= reward->steps.back().from)) {
      return Wrong(file, "steps: give pairs [speedup, value] of rising speedups");
    }
    reward->steps.push_back({*from, *value});
  }
  return {};
}

Status ReadKey(const std::string& key, const toml::node& node, const fs::path& file, Reward* reward) {
  const auto into = [&](auto* member) -> Status {
    using Value = std::remove_reference_t<decltype(*member)>;
    if constexpr (std::is_same_v<Value, std::optional<double>>) {
      *member = node.value<double>();
      return *member ? Status() : Wrong(file, key + " must be a number");
    } else {
      const auto value = node.value<Value>();
      if (!value) return Wrong(file, fmt::format("{} has a value of the wrong kind", key));
      *member = *value;
      return {};
    }
  };
  if (key == "description") return into(&reward->description);
  if (key == "source") return into(&reward->source);
  if (key == "compiled") return into(&reward->compiled);
  if (key == "correct") return into(&reward->correct);
  if (key == "weight") return into(&reward->weight);
  if (key == "function") return into(&reward->function);
  if (key == "least") return into(&reward->least);
  if (key == "most") return into(&reward->most);
  if (key == "low_end") return into(&reward->low_end);
  if (key == "library") return into(&reward->library);
  if (key == "increments") return into(&reward->increments);
  if (key == "steps" && !node.is_array()) return Wrong(file, "steps: give pairs [speedup, value] of rising speedups");
  if (key == "steps") return ReadSteps(*node.as_array(), file, reward);
  return Wrong(file, fmt::format("there is no key {}", key));
}

Status Validate(const Reward& reward, const fs::path& file) {
  const std::string& f = reward.function;
  if (f != "speedup" && f != "gain" && f != "log2" && f != "steps") {
    return Wrong(file, "function must be speedup, gain, log2 or steps");
  }
  if (f == "log2" && !reward.least) return Wrong(file, "log2 needs least: the low end of an interval may be 0");
  if ((f == "steps") == reward.steps.empty()) return Wrong(file, "steps belong to function = \"steps\"");
  if (reward.description.empty()) return Wrong(file, "description is missing");
  std::vector<double> numbers = {reward.compiled, reward.correct, reward.weight, reward.least.value_or(0),
                                 reward.most.value_or(0)};
  for (const Reward::Step& step : reward.steps) numbers.insert(numbers.end(), {step.from, step.value});
  if (!std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); })) {
    return Wrong(file, "numbers must be finite");
  }
  if (reward.least && reward.most && *reward.least > *reward.most) return Wrong(file, "least is above most");
  return {};
}

Result<Reward> ReadReward(const fs::path& file) {
  Reward reward;
  reward.name = file.stem();
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  try {
    const toml::table table = toml::parse(text);
    for (const auto& [key, node] : table) KB_RETURN_IF_ERROR(ReadKey(std::string(key.str()), node, file, &reward));
  } catch (const toml::parse_error& error) {
    return Wrong(file, std::string(error.description()));
  }
  KB_RETURN_IF_ERROR(Validate(reward, file));
  return reward;
}

double Of(const Reward& reward, double s) {
  double value = s;
  if (reward.function == "gain") value = s - 1;
  if (reward.function == "log2") value = std::log2(s);
  if (reward.function == "steps") {
    value = 0;
    for (const Reward::Step& step : reward.steps) value = s > step.from ? step.value : value;
  }
  if (reward.least) value = std::max(value, *reward.least);
  if (reward.most) value = std::min(value, *reward.most);
  return value;
}

bool Built(const std::string& verdict) {
  return verdict != "static_rejected" && verdict != "build_failed" && verdict != "load_failed" && verdict != "not_run";
}

// The speedup that counts; absent where there is none.
std::optional<double> SpeedupOf(const Reward& reward, const json& evaluation) {
  const json speedup = evaluation.value("speedup", json());
  const json interval = evaluation.value("speedup_interval", json());
  if (!speedup.is_number()) return std::nullopt;
  if (!reward.low_end) return speedup.get<double>();
  if (!interval.is_array() || interval.size() != 2 || !interval[0].is_number()) return std::nullopt;
  return interval[0].get<double>();
}

bool ByLibrary(const json& evaluation) {
  const json authorship = evaluation.value("authorship", json());
  return authorship.is_object() && authorship.value("class", json()) == "library";  // null: not known
}

}  // namespace

Result<std::vector<Reward>> ReadRewards(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  if (error) return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", directory.string(), error.message()));
  std::sort(files.begin(), files.end());
  std::vector<Reward> rewards;
  for (const fs::path& file : files) {
    KB_ASSIGN_OR_RETURN(Reward reward, ReadReward(file));
    rewards.push_back(std::move(reward));
  }
  return rewards;
}

std::optional<double> RewardOf(const Reward& reward, const json& evaluation, std::optional<double> best) {
  const std::string verdict = evaluation.value("verdict", "");
  double value = Built(verdict) ? reward.compiled : 0;
  if (verdict == "correct") {
    value += reward.correct;
    const auto speedup = SpeedupOf(reward, evaluation);
    const bool counts = reward.library || !ByLibrary(evaluation);
    if (reward.weight != 0 && counts) {
      // A busy machine, say, has no number, and 0 would be the candidate's fault. A protocol that does not accept who
      // did the work has none because of the candidate.
      if (!speedup && evaluation.value("no_speedup", json()) != "authorship") return std::nullopt;
      if (speedup) value += reward.weight * Of(reward, *speedup);
    }
  }
  if (reward.increments && best) value = std::max(0.0, value - *best);
  return value;
}

}  // namespace kb::server
