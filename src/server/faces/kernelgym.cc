#include "server/faces/kernelgym.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "server/evaluation_view.h"
#include "server/faces/kernelgym_form.h"
#include "server/refusal.h"

namespace kb::server::kernelgym {
namespace {

using nlohmann::json;

constexpr int kMostTimes = 1000;  // that a task is judged anew

// What one of their requests asks of the API, one after the other.
class Chain : public std::enable_shared_from_this<Chain> {
 public:
  explicit Chain(ApiAsk ask) : ask_(std::move(ask)) {}

  // `next` is given the body, where that is JSON.
  void Ask(Asked asked, std::function<void(const HttpAnswer&, const json&)> next) {
    {
      const std::lock_guard lock(mutex_);
      if (gone_) return;
    }
    Forget forget = ask_(std::move(asked), [self = shared_from_this(), next = std::move(next)](HttpAnswer answer) {
      next(answer, json::parse(answer.body, nullptr, false));
    });
    const std::lock_guard lock(mutex_);
    if (gone_) {
      forget();
    } else {
      asked_.push_back(std::move(forget));
    }
  }

  void Leave() {
    std::vector<Forget> asked;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      asked.swap(asked_);
    }
    for (const Forget& forget : asked) forget();
  }

 private:
  const ApiAsk ask_;
  std::mutex mutex_;
  std::vector<Forget> asked_;
  bool gone_ = false;
};

using ChainPtr = std::shared_ptr<Chain>;

// What one task is answered with.
struct Outcome {
  HttpAnswer answer;
  json body = nullptr;  // null: it is to be sent again
};
using Then = std::function<void(Outcome outcome)>;

// What has no result is a problem as everywhere, with their code and the task's id.
HttpAnswer ProblemOf(const json& result, int status, const HttpHeaders& headers) {
  HttpAnswer answer = Problem(status, "");
  json problem = json::parse(answer.body);
  if (const json& why = result["error_message"]; why.is_string()) problem["detail"] = why;
  for (const char* key : {"fault", "retryable"}) {
    if (const json& value = result["metadata"][key]; !value.is_null()) problem[key] = value;
  }
  for (const char* key : {"task_id", "error_code"}) {
    if (result.contains(key)) problem[key] = result[key];
  }
  answer.body = Dump(problem) + "\n";
  for (const auto& [name, value] : headers) {
    if (name == "Retry-After") answer.headers.emplace_back(name, value);
  }
  answer.headers.emplace_back("X-Error-Code", result["error_code"].get<std::string>());
  return answer;
}

Outcome Refused(const std::string& task_id, const HttpAnswer& answer) {
  json result = RefusalOf(task_id, answer);
  return {ProblemOf(result, answer.status, answer.headers), result};
}

Outcome Refused(const std::string& task_id, int status, const std::string& why) {
  json result = RefusalOf(task_id, status, why);
  return {ProblemOf(result, status, {}), result};
}

// Its task is to be sent again.
HttpAnswer NotYet(const json& result) { return ProblemOf(result, 503, {{"Retry-After", "1"}}); }

std::string KeyOf(const std::string& task_id, int number) {
  return fmt::format("kernelgym-{}-{}", Sha256(task_id), number);
}

// The evaluation of a task that was asked for last: a line of the list; null if there is none.
struct Latest {
  int number = 0;
  json line;
};

void FindLatest(const ChainPtr& chain, const std::string& task_id, Latest before, const Then& refused,
                const std::function<void(Latest)>& found) {
  if (before.number == kMostTimes) {
    return refused(
        Refused(task_id, 400, fmt::format("task {} was judged {} times: use another task_id", task_id, kMostTimes)));
  }
  const std::string target =
      fmt::format("/v1/evaluations?limit=1&idempotency_key={}", KeyOf(task_id, before.number + 1));
  chain->Ask({.target = target}, [=](const HttpAnswer& answer, const json& told) {
    if (answer.status != 200) return refused(Refused(task_id, answer));
    if (told["evaluations"].empty()) return found(before);
    FindLatest(chain, task_id, {before.number + 1, told["evaluations"][0]}, refused, found);
  });
}

// As the `number`th evaluation of the task. `stale`: that one had ended before, so if it was spoilt another one is
// asked for. What has not ended in time, or was spoilt, is no answer: its client would poll what nobody judges anew,
// but it sends a task again after 503, and that waits on, or judges anew.
void Submit(const ChainPtr& chain, const Task& task, int number, bool stale, const Then& then) {
  json request = task.request;
  request["idempotency_key"] = KeyOf(task.id, number);
  const std::string target = fmt::format("/v1/evaluations?wait={:.3f}&whole=true", task.wait_s);
  chain->Ask({"POST", target, std::move(request)}, [=](const HttpAnswer& answer, const json& told) {
    if (answer.status == 409 && task.anew && number < kMostTimes) return Submit(chain, task, number + 1, false, then);
    if (answer.status == 409) {
      return then(Refused(
          task.id, 409,
          fmt::format("task {} was another request before: send force_refresh, or use another task_id", task.id)));
    }
    if (answer.status == 403) {
      return then(Refused(task.id, 403,
                          "reference_code is none of our problems, and for one of its own a client needs the right "
                          "problems (kernelbench token add NAME --rights judge,problems)"));
    }
    if (answer.status != 200 && answer.status != 202) return then(Refused(task.id, answer));
    if (stale && IsSpoilt(told)) return Submit(chain, task, number + 1, false, then);
    if (!HasEnded(told)) {
      return then({NotYet(RefusalOf(task.id, 503, "it is not judged yet: send the task again to wait on"))});
    }
    json body = ResultOf(task.id, told);
    HttpAnswer with = IsSpoilt(told) ? NotYet(body) : JsonAnswer(body);
    then({std::move(with), std::move(body)});
  });
}

// A task that is there already is answered with its result, unless it was spoilt.
void Judge(const ChainPtr& chain, const Task& task, const Then& then) {
  const std::string target = fmt::format("/v1/problems?sha256={}", Sha256(task.reference));
  chain->Ask({.target = target}, [=](const HttpAnswer& answer, const json& told) {
    if (answer.status != 200) return then(Refused(task.id, answer));
    Task named = task;
    if (told["problems"].empty()) {
      named.request["problem_text"] = std::exchange(named.reference, {});
    } else {
      named.request["problem"] = told["problems"][0]["name"];
    }
    FindLatest(chain, task.id, {}, then, [=](const Latest& latest) {
      if (latest.number == 0 || (named.anew && HasEnded(latest.line))) {
        return Submit(chain, named, latest.number + 1, false, then);
      }
      Submit(chain, named, latest.number, HasEnded(latest.line), then);
    });
  });
}

void FindEvaluation(const ChainPtr& chain, const std::string& task_id, bool whole, const Told& told,
                    const std::function<void(const json& evaluation)>& found) {
  const auto refused = [told](Outcome outcome) { told(std::move(outcome.answer)); };
  FindLatest(chain, task_id, {}, refused, [=](const Latest& latest) {
    if (latest.number == 0) return refused(Refused(task_id, 404, fmt::format("there is no task {}", task_id)));
    const std::string target =
        fmt::format("/v1/evaluations/{}{}", latest.line["id"].get<std::string>(), whole ? "?whole=true" : "");
    chain->Ask({.target = target}, [=](const HttpAnswer& answer, const json& evaluation) {
      if (answer.status != 200 && answer.status != 202) return refused(Refused(task_id, answer));
      if (IsSpoilt(evaluation)) return told(NotYet(ResultOf(task_id, evaluation)));
      found(evaluation);
    });
  });
}

// Of a task that came without one: the same again when it is sent again.
std::string IdOf(const json& task) { return fmt::format("task-{}", Sha256(Dump(task)).substr(0, 32)); }

Forget LeavingOf(const ChainPtr& chain) {
  return [chain] { chain->Leave(); };
}

struct Batch {
  std::mutex mutex;
  std::string id;
  std::vector<std::optional<Outcome>> outcomes;
  size_t left = 0;
};

// All of it is to be sent again where one is, and refused where none was accepted.
HttpAnswer AnswerOf(const Batch& batch) {
  const bool none =
      std::none_of(batch.outcomes.begin(), batch.outcomes.end(), [](const auto& o) { return o->answer.status == 200; });
  for (const auto& outcome : batch.outcomes) {
    const int status = outcome->answer.status;
    if (status == 429 || status == 503) return outcome->answer;
  }
  if (none) return batch.outcomes.front()->answer;
  json results = json::array();
  int completed = 0, failed = 0;
  for (const auto& outcome : batch.outcomes) {
    const std::string status = outcome->body["status"];
    completed += status == "completed" ? 1 : 0;
    failed += status == "failed" || status == "timeout" || status == "cancelled" ? 1 : 0;
    results.push_back(outcome->body);
  }
  return JsonAnswer({{"batch_id", batch.id.empty() ? json() : json(batch.id)},
                     {"total_tasks", batch.outcomes.size()},
                     {"completed_tasks", completed},
                     {"failed_tasks", failed},
                     {"results", std::move(results)},
                     {"batch_status", "completed"}});
}

}  // namespace

Forget Evaluate(const ApiAsk& ask, const json& task, Told told) {
  const auto chain = std::make_shared<Chain>(ask);
  const auto read = ReadTask(task, IdOf(task));
  if (!read) {
    told(Refused("", 400, read.error().message).answer);
  } else {
    Judge(chain, *read, [told = std::move(told)](Outcome outcome) { told(std::move(outcome.answer)); });
  }
  return LeavingOf(chain);
}

Forget EvaluateBatch(const ApiAsk& ask, const json& batch, Told told) {
  const json& tasks = batch["tasks"];
  const auto shared = std::make_shared<Batch>();
  if (const auto id = batch.find("batch_id"); id != batch.end() && id->is_string()) shared->id = *id;
  shared->outcomes.resize(tasks.size());
  shared->left = tasks.size();
  const auto chain = std::make_shared<Chain>(ask);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const auto ended = [shared, i, told](Outcome outcome) {
      const std::lock_guard lock(shared->mutex);
      shared->outcomes[i] = std::move(outcome);
      if (--shared->left == 0) told(AnswerOf(*shared));
    };
    const auto given = tasks[i].find("task_id");
    const std::string id = given != tasks[i].end() && given->is_string() ? given->get<std::string>()
                           : shared->id.empty()                          ? IdOf(tasks[i])
                                                                         : fmt::format("{}/{}", shared->id, i);
    auto read = ReadTask(tasks[i], id);
    if (!read) {
      ended(Refused(id, 400, fmt::format("/tasks/{}{}", i, read.error().message)));
      continue;
    }
    read->wait_s = kLongestWait;  // they are judged one after the other
    Judge(chain, *read, ended);
  }
  return LeavingOf(chain);
}

Forget GetStatus(const ApiAsk& ask, const std::string& task_id, Told told) {
  const auto chain = std::make_shared<Chain>(ask);
  FindEvaluation(chain, task_id, false, told,
                 [=](const json& evaluation) { told(JsonAnswer(StatusOf(task_id, evaluation))); });
  return LeavingOf(chain);
}

Forget GetResult(const ApiAsk& ask, const std::string& task_id, Told told) {
  const auto chain = std::make_shared<Chain>(ask);
  FindEvaluation(chain, task_id, true, told, [=](const json& evaluation) {
    if (HasEnded(evaluation)) return told(JsonAnswer(ResultOf(task_id, evaluation)));
    told(Refused(task_id, 404, fmt::format("task {} has not ended: GET /status says how far it is", task_id)).answer);
  });
  return LeavingOf(chain);
}

Forget GetQueue(const ApiAsk& ask, Told told) {
  const auto chain = std::make_shared<Chain>(ask);
  chain->Ask({.target = "/metrics"}, [=](const HttpAnswer& answer, const json&) {
    told(answer.status == 200 ? JsonAnswer(QueueOf(answer.body)) : answer);
  });
  return LeavingOf(chain);
}

}  // namespace kb::server::kernelgym
