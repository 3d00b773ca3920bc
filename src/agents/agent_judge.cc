#include "agents/agent_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "judge/candidate/folder.h"
#include "server/evaluation_view.h"
#include "server/verdict_text.h"

namespace kb {

using nlohmann::json;
using server::Asked;
using server::HttpAnswer;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr milliseconds kLook{100};   // at `stop`
constexpr int kWaitS = 30;           // that the service may wait for the end before it answers
constexpr milliseconds kEarly{500};  // an answer that has come before was not waited for
constexpr milliseconds kLongestPause{60'000};
constexpr int kTriesWithVerdict = 2;  // of one that stands, and lacks a speedup for the machine's sake

// One request, and who waits for its answer.
struct Waiting {
  std::mutex mutex;
  std::condition_variable told;
  std::optional<HttpAnswer> answer;
  bool abandoned = false;
};

// Whichever kind it is of.
void Cancel(const server::ApiAsk& ask, const std::string& id) {
  if (!id.empty()) (void)ask({"DELETE", "/v1/evaluations/" + id}, [](const HttpAnswer&) {});
}

std::string IdOf(const json& body) {
  if (!body.is_object()) return "";
  const auto id = body.find("id");
  return id != body.end() && id->is_string() ? id->get<std::string>() : "";
}

json EvaluationOf(const json& view) {
  const auto evaluation = view.find("evaluation");
  return evaluation != view.end() && evaluation->is_object() ? *evaluation : json::object();
}

std::optional<double> NumberOf(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// On which cores something was measured, if it was.
void TellSeat(const json& view, Freezer* freezer) {
  const json seat = view.is_object() ? view.value("seat", json()) : json();
  if (!seat.is_object()) return;
  const json cores = seat.value("cores", json());
  freezer->Measured(cores.is_array() ? cores.get<std::vector<int>>() : std::vector<int>());
}

milliseconds PauseOf(const HttpAnswer& answer, milliseconds otherwise) {
  const auto said = server::RetryAfter(answer);
  int seconds = 0;
  if (!said || std::from_chars(said->data(), said->data() + said->size(), seconds).ec != std::errc()) return otherwise;
  return std::clamp<milliseconds>(std::chrono::seconds(seconds), milliseconds(0), kLongestPause);
}

}  // namespace

// What can be asked for.
struct AgentJudge::Kind {
  const char* tool;
  const char* route;
  const char* query;
  bool measures;
};

// What one try has come to.
struct AgentJudge::Outcome {
  json view;           // of what has ended; null: there is none
  std::string text;    // why there is none
  int tries = 1;       // that this may take in all
  bool later = false;  // it may be tried until patience is over instead
  milliseconds pause{0};

  static Outcome Nonsense(int tries, milliseconds pause) {
    return {
        .text = "The judge answers nonsense, or is of another version. The candidate is not the cause: call it again.",
        .tries = tries,
        .pause = pause};
  }
};

std::string LanguageOf(const AgentCandidate& candidate) {
  const std::string ending = std::filesystem::path(candidate.name).extension();
  return IsPacked(candidate.text) || ending.empty() ? "py" : ending.substr(1);
}

double DeviceSeconds(const json& engine_us) {
  double seconds = 0;
  if (!engine_us.is_object()) return seconds;
  for (const auto& [step, us] : engine_us.items()) {
    if (step != "build" && us.is_number()) seconds += us.get<double>() / 1e6;
  }
  return seconds;
}

bool AgentJudge::Stopped() const { return Interrupted() || (options_.stop && options_.stop()); }

std::optional<milliseconds> AgentJudge::PauseAfter(const HttpAnswer& answer) const {
  if (answer.status != 429 && answer.status != 503) return std::nullopt;
  return PauseOf(answer, options_.pause);
}

Status AgentJudge::Sleep(milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (Stopped()) return Fail(ErrorCode::kInterrupted, "interrupted");
    std::this_thread::sleep_for(std::min<Clock::duration>(kLook, end - Clock::now()));
  }
  return {};
}

Result<HttpAnswer> AgentJudge::Ask(Asked asked) {
  const auto waiting = std::make_shared<Waiting>();
  const auto tell = [waiting, ask = options_.ask](HttpAnswer answer) {
    std::unique_lock lock(waiting->mutex);
    if (!waiting->abandoned) {
      waiting->answer = std::move(answer);
      waiting->told.notify_all();
      return;
    }
    lock.unlock();
    Cancel(ask, IdOf(json::parse(answer.body, nullptr, false)));
  };
  const server::Forget forget = options_.ask(std::move(asked), tell);
  std::unique_lock lock(waiting->mutex);
  while (!waiting->told.wait_for(lock, kLook, [&] { return waiting->answer.has_value(); })) {
    if (!Stopped()) continue;
    waiting->abandoned = true;
    lock.unlock();
    forget();
    return Fail(ErrorCode::kInterrupted, "interrupted");
  }
  return std::move(*waiting->answer);
}

// From what POST answered to the end.
Result<AgentJudge::Outcome> AgentJudge::Follow(const Kind& kind, HttpAnswer answer) {
  std::string id;
  for (;;) {
    const json body = json::parse(answer.body, nullptr, false);
    if (answer.status == 404 && !id.empty()) {
      return Outcome{.text = "The judge was started anew and knows nothing of it any more. Call again.",
                     .tries = options_.tries};
    }
    if (answer.status >= 400) {
      std::string text = server::RefusalText(answer, body);
      if (text.starts_with('/')) text.erase(0, 1);  // a pointer becomes a field's name
      const auto later = PauseAfter(answer);
      const bool again = later || server::IsRetryable(answer, body);
      return Outcome{.text = fmt::format("The judge {}: {}.", again ? "cannot judge it now" : "refuses it", text),
                     .tries = again ? options_.tries : 1,
                     .later = later.has_value(),
                     .pause = later.value_or(options_.pause)};
    }
    id = IdOf(body);
    if (id.empty()) return Outcome::Nonsense(options_.tries, options_.pause);
    if (server::HasEnded(body)) {
      Outcome ended{.view = body, .pause = options_.pause};
      ended.text = server::NoResultText(body, kind.tool);
      if (!ended.text.empty()) ended.view = nullptr;
      const bool again = body.at("retryable") == true || body.at("state") == "cancelled";
      if (again) ended.tries = ended.text.empty() ? std::min(options_.tries, kTriesWithVerdict) : options_.tries;
      return ended;
    }
    const auto asked_at = Clock::now();
    auto next = Ask({.target = fmt::format("{}/{}?wait={}{}", kind.route, id, kWaitS, kind.query)});
    if (next && Clock::now() - asked_at < kEarly) {
      if (const Status slept = Sleep(kEarly); !slept) next = tl::make_unexpected(slept.error());
    }
    if (!next) {
      Cancel(options_.ask, id);
      return tl::make_unexpected(next.error());
    }
    answer = std::move(*next);
  }
}

Result<AgentJudge::Outcome> AgentJudge::TryOnce(const Kind& kind, const json& request) {
  const Freezer::Hold still(kind.measures ? options_.freezer : nullptr, this);
  KB_ASSIGN_OR_RETURN(HttpAnswer answer,
                      Ask({"POST", fmt::format("{}?wait={}{}", kind.route, kWaitS, kind.query), request}));
  try {
    Result<Outcome> outcome = Follow(kind, std::move(answer));
    if (outcome && kind.measures && options_.freezer != nullptr) TellSeat(outcome->view, options_.freezer);
    return outcome;
  } catch (const json::exception&) {
    return Outcome::Nonsense(options_.tries, options_.pause);
  }
}

namespace {

json RequestOf(const json& common, const AgentCandidate& candidate) {
  json request = common;
  request["keep"] = false;
  const auto files = IsPacked(candidate.text) ? Unpack(candidate.text) : FolderFiles();
  if (files && !files->empty()) {
    request["files"] = *files;
  } else {
    request["source"] = candidate.text;
    request["name"] = candidate.name;
  }
  return request;
}

TurnVerdict StoredOf(const std::string& tool, const AgentCandidate& candidate, json view, double device_seconds) {
  TurnVerdict stored;
  stored.tool = tool;
  stored.source_sha256 = Sha256(candidate.text);
  stored.language = LanguageOf(candidate);
  stored.source = candidate.text;
  stored.device_seconds = device_seconds;
  if (view.at("verdict").is_string()) stored.verdict = view.at("verdict");
  if (tool == "evaluate") {
    stored.speedup = NumberOf(view.at("speedup"));
    if (const json& interval = view.at("speedup_interval"); interval.is_array() && interval.size() == 2) {
      stored.low = NumberOf(interval[0]);
      stored.high = NumberOf(interval[1]);
    }
  }
  if (const auto evaluation = view.find("evaluation"); evaluation != view.end() && evaluation->is_object()) {
    if (const auto itself = evaluation->find("candidate"); itself != evaluation->end() && itself->is_object()) {
      itself->erase("source");  // which is stored once
    }
  }
  stored.view = Dump(view);
  return stored;
}

std::string TextOf(const std::string& tool, json view) {
  // An id that nothing takes: it is not kept.
  if (const auto evaluation = view.find("evaluation"); evaluation != view.end() && evaluation->is_object()) {
    evaluation->erase("id");
  }
  if (tool == "compile") return server::CompilationText(view) + server::NotesText(view);
  if (tool == "profile") return server::ProfileText(view);
  return server::VerdictText(view.at("evaluation").is_object() ? view.at("evaluation") : view);
}

}  // namespace

Result<AgentVerdict> AgentJudge::Have(const Kind& kind, const AgentCandidate& candidate) {
  if (!candidate.rejection.empty()) {
    return AgentVerdict{.text = fmt::format("It is no candidate: {}.", candidate.rejection), .is_error = true};
  }
  json request = RequestOf(options_.request, candidate);
  if (std::string_view(kind.tool) == "profile") request.erase("protocol");  // profiles have rules of their own
  const auto deadline = Clock::now() + options_.patience;
  double device_seconds = 0;
  for (int tries = 1;;) {
    KB_ASSIGN_OR_RETURN(const Outcome outcome, TryOnce(kind, request));
    if (outcome.view.is_object()) {
      const json evaluation = EvaluationOf(outcome.view);
      device_seconds += DeviceSeconds(evaluation.value("engine_us", json()));
    }
    const bool again = outcome.later ? Clock::now() + outcome.pause < deadline : tries < outcome.tries;
    if (!again) {
      if (!outcome.view.is_object()) {
        return AgentVerdict{.text = outcome.text, .is_error = true, .later = outcome.later || outcome.tries > 1};
      }
      try {
        return AgentVerdict{.text = TextOf(kind.tool, outcome.view),
                            .stored = StoredOf(kind.tool, candidate, outcome.view, device_seconds)};
      } catch (const json::exception&) {
        return AgentVerdict{.text = Outcome::Nonsense(1, {}).text, .is_error = true, .later = true};
      }
    }
    tries += outcome.later ? 0 : 1;
    KB_RETURN_IF_ERROR(Sleep(outcome.pause));
  }
}

Result<AgentVerdict> AgentJudge::Compile(const AgentCandidate& candidate) {
  return Have({"compile", "/v1/compilations", "", false}, candidate);
}

Result<AgentVerdict> AgentJudge::Evaluate(const AgentCandidate& candidate) {
  return Have({"evaluate", "/v1/evaluations", "&whole=true", true}, candidate);
}

Result<AgentVerdict> AgentJudge::Profile(const AgentCandidate& candidate) {
  return Have({"profile", "/v1/profiles", "", true}, candidate);
}

}  // namespace kb
