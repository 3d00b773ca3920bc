#include "server/faces/openenv_episode.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "server/faces/openenv_observation.h"

namespace kb::server {

using nlohmann::json;

namespace {

constexpr int kTurns[] = {10, 10, 12, 15, 15};  // by level, as `kernelbench generate --preset v3` has them
constexpr char kOtherCode[] = "The code that was sent now is not judged: this is of the one before.\n\n";

bool Given(const json& object, const char* key) { return object.contains(key) && !object[key].is_null(); }

std::string NewKey() { return fmt::format("{:016x}{:016x}", RandomBits(), RandomBits()); }

// Asks all of these side by side.
void AskAll(const ApiAsk& ask, const std::vector<std::string>& targets,
            std::function<void(tl::expected<std::vector<json>, Refusal>)> told) {
  struct Waiting {
    std::vector<HttpAnswer> answers;
    std::atomic<size_t> left;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->answers.resize(targets.size());
  waiting->left = targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    ask({.target = targets[i]}, [waiting, i, told](HttpAnswer answer) {
      waiting->answers[i] = std::move(answer);
      if (--waiting->left > 0) return;
      std::vector<json> all;
      for (const HttpAnswer& each : waiting->answers) {
        if (each.status != 200) return told(tl::make_unexpected(RefusalIn(each)));
        all.push_back(json::parse(each.body, nullptr, false));
      }
      told(std::move(all));
    });
  }
}

std::string Instruction(const std::string& language) {
  if (language == "py") {
    return "Write a faster implementation. Answer with a whole Python file that defines the class ModelNew, which "
           "takes "
           "the same arguments as Model and computes the same.";
  }
  return fmt::format("Write a faster implementation. Answer with a whole .{} file that defines kb_forward().",
                     language);
}

bool EndedIn(const json& view) {
  const std::string state = view.value("state", "");
  return state == "done" || state == "failed" || state == "cancelled";
}

std::string DevicesOf(const json& health) {
  std::string devices;
  for (const json& device : health["devices"]) {
    devices += (devices.empty() ? "" : ", ") + device.get<std::string>();
  }
  return devices;
}

}  // namespace

Refusal RefusalIn(const HttpAnswer& answer) {
  const json problem = json::parse(answer.body, nullptr, false);
  if (!problem.is_object()) return {500, "the service has answered what it should not", "engine", true, 0};
  Refusal refusal{answer.status, problem.value("detail", ""), problem.value("fault", "engine"),
                  problem.value("retryable", false), 0};
  for (const auto& [name, value] : answer.headers) {
    if (name == "Retry-After") refusal.retry_after_s = std::atoi(value.c_str());
  }
  return refusal;
}

// ---- A reset ------------------------------------------------------------------------------------------------------

OpenEnvEpisode::OpenEnvEpisode(std::string id, Setting setting)
    : id_(std::move(id)), key_(NewKey()), setting_(std::move(setting)) {}

std::shared_ptr<OpenEnvEpisode> OpenEnvEpisode::Make(const json& reset, const json& problem, const json& health,
                                                     const std::string& reward) {
  const std::string language = Given(reset, "language") ? reset["language"] : "py";
  const auto level = std::clamp<int64_t>(problem["level"].get<int64_t>(), 0, 4);
  Setting setting{.observation = EmptyObservation(), .request = {}, .reward = reward};
  setting.max_turns = Given(reset, "max_turns") ? reset["max_turns"].get<int>() : kTurns[level];
  setting.observation["problem_id"] = problem["name"];
  setting.observation["problem_description"] = problem["title"];
  setting.observation["reference_code"] = problem["source"];
  setting.observation["gpu_info"] = DevicesOf(health);
  setting.observation["max_turns"] = setting.max_turns;
  setting.observation["feedback"] = Instruction(language);
  setting.request = {{"problem", problem["name"]}, {"name", "candidate." + language}};
  for (const char* key : {"size", "protocol", "keys", "run", "model"}) {
    if (Given(reset, key)) setting.request[key] = reset[key];
  }
  std::string id = Given(reset, "episode_id") ? reset["episode_id"].get<std::string>() : NewKey();
  return std::shared_ptr<OpenEnvEpisode>(new OpenEnvEpisode(std::move(id), std::move(setting)));
}

void OpenEnvEpisode::Begin(const json& reset, const ApiAsk& ask, Begun begun) {
  const auto refuse = [begun](const std::string& why) { begun(tl::make_unexpected(CallersFault(400, why))); };
  const std::string reward = Given(reset, "reward") ? reset["reward"] : "sure_increments";
  AskAll(ask, {"/v1/problems", "/v1/rewards", "/health"}, [=](tl::expected<std::vector<json>, Refusal> all) {
    if (!all) return begun(tl::make_unexpected(all.error()));
    const json &problems = (*all)[0]["problems"], &rewards = (*all)[1]["rewards"];
    if (std::none_of(rewards.begin(), rewards.end(), [&](const json& each) { return each["name"] == reward; })) {
      return refuse(fmt::format("/reward: there is no {}; GET /v1/rewards lists them", reward));
    }
    const uint64_t seed = Given(reset, "seed") ? reset["seed"].get<uint64_t>() : RandomBits();
    const auto problem = Given(reset, "problem_id")
                             ? FindProblemId(problems, reset["problem_id"].get<std::string>())
                             : ChooseProblem(problems, Given(reset, "level") ? reset["level"].get<int>() : 0, seed);
    if (!problem) return refuse(problem.error().message);
    const json health = (*all)[2];
    AskAll(ask, {"/v1/problems/" + (*problem)["name"].get<std::string>()},
           [=](tl::expected<std::vector<json>, Refusal> whole) {
             if (!whole) return begun(tl::make_unexpected(whole.error()));
             begun(Make(reset, whole->front(), health, reward));
           });
  });
}

json OpenEnvEpisode::First() const {
  const std::lock_guard lock(mutex_);
  return Result(setting_.observation, nullptr);
}

// ---- A step -------------------------------------------------------------------------------------------------------

bool OpenEnvEpisode::over() const {
  const std::lock_guard lock(mutex_);
  return done();
}

std::optional<OpenEnvEpisode::Answer> OpenEnvEpisode::AtOnce(const std::string& request_id) const {
  if (!request_id.empty() && request_id == finished_.request_id) return Answer(finished_.result);
  if (!done() && !told_) return std::nullopt;
  const char* const why =
      done() ? "the episode is over: reset" : "the episode is busy with an earlier request: one at a time";
  return Answer(tl::make_unexpected(CallersFault(409, why)));
}

uint64_t OpenEnvEpisode::Open(Told told) {
  told_ = std::move(told);
  return ++call_;
}

OpenEnvEpisode::Told OpenEnvEpisode::Close(uint64_t number) {
  return number == call_ ? std::exchange(told_, nullptr) : nullptr;
}

Forget OpenEnvEpisode::LetGo(uint64_t number, json (OpenEnvEpisode::*answer)() const) {
  return [self = shared_from_this(), number, answer] {
    std::unique_lock lock(self->mutex_);
    const Told told = self->Close(number);
    if (!told) return;
    const Forget forget = std::exchange(self->forget_, nullptr);
    json now = (*self.*answer)();
    lock.unlock();
    told(std::move(now));
    if (forget) forget();
  };
}

std::function<void(HttpAnswer)> OpenEnvEpisode::Guard(uint64_t number, std::function<void(const HttpAnswer&)> then) {
  return [self = shared_from_this(), number, then = std::move(then)](const HttpAnswer& answer) {
    try {
      then(answer);
    } catch (const std::exception& error) {
      std::unique_lock lock(self->mutex_);
      const Told told = self->Close(number);
      lock.unlock();
      if (told) told(tl::make_unexpected(Refusal{500, error.what(), "engine", true, 0}));
    }
  };
}

Forget OpenEnvEpisode::Step(const json& action, const std::string& request_id, double wait_s, const ApiAsk& ask,
                            Told told) {
  const auto& code = action["code"].get_ref<const std::string&>();
  std::string candidate;
  std::unique_lock lock(mutex_);
  auto at_once = AtOnce(request_id);
  if (!at_once && pending_.is_null()) {
    lock.unlock();  // it may take long
    const std::string extension = setting_.request["name"].get<std::string>().substr(sizeof "candidate" - 1);
    candidate = CandidateOf(code, extension);
    lock.lock();
    at_once = AtOnce(request_id);
  }
  if (at_once) {
    lock.unlock();
    told(std::move(*at_once));
    return [] {};
  }
  const std::string sha256 = Sha256(code);
  const bool fresh = pending_.is_null();
  if (fresh) {
    pending_ = setting_.request;
    pending_["source"] = std::move(candidate);
    pending_["idempotency_key"] = fmt::format("openenv/{}/{}", key_, ++sent_);
    code_sha256_ = sha256;
    judged_ = false;
  }
  other_code_ = code_sha256_ != sha256;
  const uint64_t number = Open(std::move(told));
  lock.unlock();
  Await(number, wait_s, ask,
        [self = shared_from_this(), number, fresh, request_id, ask](const tl::expected<json, Refusal>& rewarded) {
          self->Rewarded(number, fresh, request_id, ask, rewarded);
        });
  return LetGo(number, &OpenEnvEpisode::StillJudging);
}

void OpenEnvEpisode::Rewarded(uint64_t number, bool fresh, const std::string& request_id, const ApiAsk& ask,
                              const tl::expected<json, Refusal>& rewarded) {
  if (rewarded && EndedIn((*rewarded)["evaluation"])) {
    const json view = (*rewarded)["evaluation"];
    const std::string target = fmt::format("/v1/evaluations/{}?whole=true", view["id"].get<std::string>());
    const auto finish = [self = shared_from_this(), number, request_id, view,
                         rewarded = *rewarded](const HttpAnswer& whole) {
      const json read = whole.status == 200 ? json::parse(whole.body, nullptr, false) : json();
      self->Finish(number, request_id, rewarded, read.is_object() ? read : view);
    };
    ask({.target = target}, Guard(number, finish));
    return;
  }
  std::unique_lock lock(mutex_);
  const Told told = Close(number);
  if (!told) return;
  if (rewarded) {
    DropText();
    json still = StillJudging();
    lock.unlock();
    return told(std::move(still));
  }
  // What was accepted may still be asked for.
  if (fresh || !rewarded.error().retryable) pending_ = nullptr;
  lock.unlock();
  told(tl::make_unexpected(rewarded.error()));
}

// What was accepted is in the store, and its digest names it.
void OpenEnvEpisode::DropText() {
  if (!pending_.contains("source")) return;
  pending_["sha256"] = Sha256(pending_["source"].get_ref<const std::string&>());
  pending_.erase("source");
}

// Asked again under its key it is the same evaluation.
void OpenEnvEpisode::Await(uint64_t number, double wait_s, const ApiAsk& ask,
                           std::function<void(const tl::expected<json, Refusal>&)> then) {
  Asked asked{.method = "POST", .target = "/v1/rewards"};
  {
    const std::lock_guard lock(mutex_);
    asked.body = {{"reward", setting_.reward}, {"timeout_s", std::clamp(wait_s, 0.0, kMostWait)}};
    asked.body["evaluations"] = json::array({pending_});
  }
  Forget forget = ask(std::move(asked), Guard(number, [then = std::move(then)](const HttpAnswer& answer) {
                        if (answer.status != 200) return then(tl::make_unexpected(RefusalIn(answer)));
                        const json rewards = json::parse(answer.body, nullptr, false);
                        then(rewards["rewards"][0]);
                      }));
  const std::lock_guard lock(mutex_);
  if (number == call_) forget_ = std::move(forget);
}

// The reward is what this one adds to the best so far, so those of an episode sum up to that of its best candidate.
void OpenEnvEpisode::Finish(uint64_t number, const std::string& request_id, const json& rewarded, const json& view) {
  Told told;
  json result;
  {
    const std::lock_guard lock(mutex_);
    told = Close(number);
    if (!told) return;
    pending_ = nullptr;
    ++turn_;
    json increment;
    if (rewarded["reward"].is_number()) {
      const double reward = rewarded["reward"];
      increment = best_reward_ ? std::max(0.0, reward - *best_reward_) : reward;
      best_reward_ = best_reward_ ? std::max(*best_reward_, reward) : reward;
    }
    json observation = setting_.observation;
    observation["turn"] = turn_;
    AddVerdict(view, &observation);
    if (view["verdict"] == "correct" && view["speedup"].is_number()) {
      best_speedup_ = std::max(best_speedup_.value_or(0), view["speedup"].get<double>());
      const json& interval = view["speedup_interval"];
      solved_ = solved_ || (interval.is_array() && interval[0].is_number() && interval[0].get<double>() > 1);
    }
    std::string feedback = (other_code_ ? kOtherCode : "") + observation["feedback"].get<std::string>();
    while (feedback.ends_with('\n')) feedback.pop_back();
    if (increment.is_null()) {
      feedback += fmt::format("\n\nThis turn has no reward: {}.", NoRewardReason(view));
      observation["metadata"]["no_reward"] = NoRewardReason(view);
    }
    observation["feedback"] = feedback + fmt::format("\n\nThis was turn {} of {}.", turn_, setting_.max_turns);
    observation["metadata"]["reward_applicable"] = !increment.is_null();
    observation["metadata"]["evaluation_id"] = view["evaluation_id"];
    result = Result(std::move(observation), std::move(increment));
    finished_ = {request_id, request_id.empty() ? json() : result};
  }
  told(std::move(result));
}

json OpenEnvEpisode::StillJudging() const {
  json observation = setting_.observation;
  observation["turn"] = turn_;
  observation["judging"] = true;
  observation["feedback"] = fmt::format(
      "{}Still judging. Send a step to wait on: whatever its code, it is answered with what becomes of the "
      "candidate before.",
      other_code_ ? "The code that was sent now is not judged. " : "");
  observation["metadata"]["reward_applicable"] = false;
  observation["metadata"]["no_reward"] = "it is still being judged";
  return Result(std::move(observation), nullptr);
}

json OpenEnvEpisode::Result(json observation, json reward) const {
  observation["metadata"]["episode_id"] = id_;
  observation["metadata"]["reward_name"] = setting_.reward;
  observation["metadata"]["best_reward"] = best_reward_ ? json(*best_reward_) : json();
  const json metadata = observation["metadata"];
  return {
      {"observation", std::move(observation)}, {"reward", std::move(reward)}, {"done", done()}, {"metadata", metadata}};
}

// ---- The state, and the end ---------------------------------------------------------------------------------------

json OpenEnvEpisode::StateNow() const {
  return {{"episode_id", id_},
          {"step_count", turn_},
          {"problem_id", setting_.observation["problem_id"]},
          {"turn", turn_},
          {"max_turns", setting_.max_turns},
          {"judging", !pending_.is_null() && !judged_},
          {"done", done()},
          {"solved", solved_},
          {"best_speedup", best_speedup_ ? json(*best_speedup_) : json()},
          {"best_reward", best_reward_ ? json(*best_reward_) : json()}};
}

json OpenEnvEpisode::NoState() {
  return {{"episode_id", nullptr},   {"step_count", 0},       {"problem_id", nullptr}, {"turn", 0},
          {"max_turns", 0},          {"judging", false},      {"done", false},         {"solved", false},
          {"best_speedup", nullptr}, {"best_reward", nullptr}};
}

Forget OpenEnvEpisode::State(double wait_s, const ApiAsk& ask, Told told) {
  std::unique_lock lock(mutex_);
  if (told_ || pending_.is_null() || judged_) {
    json state = StateNow();
    lock.unlock();
    told(std::move(state));
    return [] {};
  }
  const uint64_t number = Open(std::move(told));
  lock.unlock();
  Await(number, wait_s, ask, [self = shared_from_this(), number](const tl::expected<json, Refusal>& rewarded) {
    std::unique_lock held(self->mutex_);
    const Told tell = self->Close(number);
    if (!tell) return;
    self->judged_ = rewarded && EndedIn((*rewarded)["evaluation"]);
    if (rewarded) self->DropText();
    json state = self->StateNow();
    held.unlock();
    tell(std::move(state));
  });
  return LetGo(number, &OpenEnvEpisode::StateNow);
}

void OpenEnvEpisode::Abandon(const ApiAsk& ask) {
  json request;
  Forget forget;
  {
    const std::lock_guard lock(mutex_);
    request = std::exchange(pending_, nullptr);
    forget = std::exchange(forget_, nullptr);
    turn_ = setting_.max_turns;
  }
  if (forget) forget();
  if (request.is_null()) return;
  ask({.method = "POST", .target = "/v1/evaluations", .body = std::move(request)}, [ask](const HttpAnswer& answer) {
    const json view = json::parse(answer.body, nullptr, false);
    if (answer.status > 202 || EndedIn(view)) return;
    ask({.method = "DELETE", .target = "/v1/evaluations/" + view["id"].get<std::string>()}, [](const HttpAnswer&) {});
  });
}

}  // namespace kb::server
