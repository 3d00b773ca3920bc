#include "server/remote_executor.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "judge/candidate/folder.h"

namespace kb::server {
namespace {

using nlohmann::json;

// As many as keep a device and its compilers busy.
constexpr size_t kMostAtOnce = 48;
constexpr std::chrono::milliseconds kPoll{50};
constexpr int kWait_s = 300;  // of one request; what has not ended then is asked for again

json RequestOf(const Task& task, const Candidate& candidate) {
  const json keys = task.protocol->ToJson();
  json request = {{"problem", std::filesystem::absolute(task.problem.path).string()},
                  {"problem_name", task.problem.name},
                  {"size", task.size},
                  {"protocol", task.protocol->name},
                  {"name", candidate.path.string()},
                  {"priority", std::clamp(task.priority, -100, 100)},
                  {"keep", false}};
  for (const std::string& key : task.protocol->changed) request["keys"][key] = keys.at(key);
  if (!candidate.rejection.empty()) request["rejection"] = candidate.rejection;
  if (const auto files = Unpack(candidate.source); IsPacked(candidate.source) && files) {
    request["files"] = *files;
  } else {
    request["source"] = candidate.source;
  }
  return request;
}

tl::unexpected<Error> Refused(const json& problem, const std::string& detail) {
  const std::string fault = problem.value("fault", "engine");
  const ErrorCode code = fault == "caller"    ? ErrorCode::kUsage
                         : fault == "machine" ? ErrorCode::kUnavailable
                                              : ErrorCode::kEngine;
  return Fail(code, detail);
}

Result<json> Gone(const Error& error) {
  if (error.code == ErrorCode::kInterrupted) return tl::make_unexpected(error);
  return Fail(ErrorCode::kUnavailable,
              fmt::format("the service went away ({}); the same command judges what is left", error.message));
}

// The evaluation, once it has ended.
Result<json> Ask(HttpClient* client, const json& request) {
  HttpCall call{
      .method = "POST", .target = fmt::format("/v1/evaluations?whole=true&wait={}", kWait_s), .body = Dump(request)};
  call.timeout = std::chrono::seconds(kWait_s + 30);
  for (;;) {
    auto answer = client->Send(call);
    if (!answer) return Gone(answer.error());
    json body = json::parse(answer->body, nullptr, false);
    if (body.is_discarded() || !body.is_object())
      return Fail(ErrorCode::kEngine, "the service answered what is no JSON");
    if (answer->status == 503) return Gone({ErrorCode::kUnavailable, body.value("detail", "it is stopping")});
    if (answer->status >= 400) return Refused(body, body.value("detail", "the service refused"));
    const std::string state = body.value("state", "");
    if (state == "done") return std::move(body["evaluation"]);
    if (state == "failed") return Refused(body, body.value("error", "the service failed"));
    if (state == "cancelled") return Fail(ErrorCode::kInterrupted, "cancelled");
    call.method = "GET";
    call.body.clear();
    call.target = fmt::format("/v1/evaluations/{}?whole=true&wait={}", body.value("id", ""), kWait_s);
  }
}

// The time that its device was held for it, which ended now.
Span SpanOf(const Task& task, const json& evaluation) {
  Span span{evaluation.value("device", ""), task.problem.name, 0, NowNs(), 0};
  double held_us = 0;
  const json times = evaluation.value("engine_us", json::object());
  for (const auto& [step, us] : times.items()) held_us += us.is_number() && step != "build" ? us.get<double>() : 0;
  span.start_ns = span.end_ns - static_cast<int64_t>(held_us * 1e3);
  span.calls_us = times.value("calls", 0.0);
  return span;
}

}  // namespace

RemoteExecutor::RemoteExecutor(std::filesystem::path socket, ExecutorCalls calls)
    : socket_(std::move(socket)), calls_(std::move(calls)) {}

void RemoteExecutor::Submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.Push(std::move(task));
    ++open_;
    if (idle_ == 0 && threads_.size() < kMostAtOnce) threads_.emplace_back([this] { Work(); });
  }
  changed_.notify_all();
}

bool RemoteExecutor::Cancel(int64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.Remove(id)) return false;
    --open_;
  }
  changed_.notify_all();
  return true;
}

void RemoteExecutor::Drain() {
  std::unique_lock lock(mutex_);
  while (open_ > 0 && !interrupted() && !ending_) changed_.wait_for(lock, kPoll);
}

void RemoteExecutor::Interrupt() { interrupted_ = ending_ = true; }

void RemoteExecutor::Stop() {
  ending_ = true;
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void RemoteExecutor::Work() {
  const WorksUnder flag(ending_);
  std::optional<HttpClient> client;
  std::unique_lock lock(mutex_);
  while (!ending_ && !interrupted()) {
    std::optional<Task> task = queue_.Pop(0);
    if (!task) {
      ++idle_;
      changed_.wait_for(lock, kPoll);
      --idle_;
      continue;
    }
    lock.unlock();
    if (calls_.begin(task->id)) {
      if (!client) {
        if (auto connected = HttpClient::ConnectUnix(socket_)) client.emplace(std::move(*connected));
      }
      Judge(*task, client ? &*client : nullptr);
    }
    lock.lock();
    --open_;
    changed_.notify_all();
  }
}

void RemoteExecutor::Judge(const Task& task, HttpClient* client) {
  ExecutorEnd end{task.id, "",
                  Fail(ErrorCode::kUnavailable, fmt::format("no service listens on {}", socket_.string()))};
  const Result<Candidate> candidate = task.read();
  if (!candidate) {
    end.evaluation = tl::make_unexpected(candidate.error());
  } else if (client != nullptr) {
    if (calls_.judging) calls_.judging(task);
    end.evaluation = Ask(client, RequestOf(task, *candidate));
  }
  const std::lock_guard lock(telling_);
  if (end.evaluation) {
    end.device = end.evaluation->value("device", "");
    if (calls_.span) calls_.span(SpanOf(task, *end.evaluation));
  }
  calls_.end(std::move(end));
}

}  // namespace kb::server
