#include "server/faces/mcp_tool_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "server/evaluation_view.h"
#include "server/verdict_text.h"

namespace kb::server {
namespace {

using nlohmann::json;

constexpr double kSoon = 2, kLate = 30;  // seconds between two looks, where the client wants progress, and where not
constexpr int kMostEarly = 3;
constexpr double kWaitS = 300;  // unless the model says how long

// What the API tells its clients to do is done with tools here.
std::string ForModels(std::string text) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kWords = {{
      {"GET /v1/problems lists them", "list_problems names them"},
      {"POST /v1/evaluations keeps what it judges", "evaluate does that"},
      {"an evaluation says what a call takes", "evaluate says what a call takes"},
  }};
  for (const auto& [from, to] : kWords) {
    if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, std::string_view(from).size(), to);
  }
  return text;
}

json ContentOf(std::string text) { return json::array({{{"type", "text"}, {"text", std::move(text)}}}); }

}  // namespace

std::string McpEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("-._~/:").find(c) != std::string_view::npos;
    if (plain) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

void McpToolCall::Ask(Asked asked, Then then) {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (forgotten_) return;
    number = ++asked_;
  }
  kb::server::Forget forget =
      ask_(std::move(asked),
           [self = shared_from_this(), then = std::move(then)](const HttpAnswer& answer) { self->Take(answer, then); });
  {
    const std::lock_guard lock(mutex_);
    if (number == asked_) forget_ = forget;  // else it was answered already, and another one was asked
    if (!forgotten_) return;
  }
  forget();
}

void McpToolCall::Take(const HttpAnswer& answer, const Then& then) {
  const json body = json::parse(answer.body, nullptr, false);
  const bool made = answer.status < 400 && body.is_object() && body.contains("id") && body["id"].is_string();
  {
    std::unique_lock lock(mutex_);
    if (unkept_ && made) made_ = body["id"];
    if (forgotten_) {
      const std::string id = std::exchange(made_, {});
      lock.unlock();
      return Cancel(id);
    }
  }
  if (answer.status == 404 && !hint_.empty()) return Refuse(ForModels(RefusalText(answer, body)) + "; " + hint_);
  if (answer.status >= 400) return Refuse(ForModels(RefusalText(answer, body)));
  try {
    return then(answer.status, body);
  } catch (const json::exception&) {
    Refuse("the service is of another version of kernelbench: `kernelbench service stop` ends it, then call again");
  }
}

void McpToolCall::Await(const std::string& route, const std::string& query, json request,
                        std::function<void(const json& view)> then) {
  {
    const std::lock_guard lock(mutex_);
    unkept_ = request.is_object() && (route != "/v1/evaluations" || !request.value("keep", true));
  }
  if (ends_.progress) ends_.progress("asked");
  Poll(route, query, std::move(request), std::move(then));
}

void McpToolCall::Poll(const std::string& route, const std::string& query, json request,
                       std::function<void(const json& view)> then) {
  const std::chrono::duration<double> spent = Clock::now() - begun_;
  const double left = std::max(0.0, arguments_.value("wait_s", kWaitS) - spent.count());
  const double wait = std::min(left, ends_.progress ? kSoon : kLate);
  const std::string target = fmt::format("{}?wait={:.3f}{}", route, wait, query);
  const bool made = !request.is_null();
  const auto asked_at = Clock::now();
  Ask({made ? "POST" : "GET", target, std::move(request)},
      [this, route, query, then = std::move(then), made, left, wait, asked_at](int, const json& view) {
        const std::chrono::duration<double> waited = Clock::now() - asked_at;
        // What is answered at once again and again is not this service's to wait for: another process has it, say.
        if (waited.count() < wait / 2) ++early_;
        if (HasEnded(view) || left <= wait || early_ > kMostEarly) return then(view);
        if (ends_.progress) {
          const std::chrono::duration<double> all = Clock::now() - begun_;
          ends_.progress(fmt::format("{}, {:.0f} s", view.at("state").get<std::string>(), all.count()));
        }
        Poll(made ? fmt::format("{}/{}", route, view.at("id").get<std::string>()) : route, query, nullptr, then);
      });
}

void McpToolCall::Tell(std::string text, json structured) {
  Done({{"content", ContentOf(std::move(text))}, {"structuredContent", std::move(structured)}});
}

void McpToolCall::Refuse(std::string text) {
  if (text.starts_with('/')) text.erase(0, 1);  // a pointer becomes the argument's name
  Done({{"content", ContentOf(std::move(text))}, {"isError", true}});
}

void McpToolCall::Done(json result) {
  {
    const std::lock_guard lock(mutex_);
    if (forgotten_ || std::exchange(ended_, true)) return;
  }
  ends_.done(std::move(result));
}

// Between two looks nobody waits for it, as far as the service knows.
void McpToolCall::Cancel(const std::string& id) {
  if (!id.empty()) (void)ask_({"DELETE", "/v1/evaluations/" + id}, [](const HttpAnswer&) {});
}

void McpToolCall::Forget() {
  kb::server::Forget forget;
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    forgotten_ = true;
    forget = std::exchange(forget_, {});
    if (!ended_) id = std::exchange(made_, {});
  }
  if (forget) forget();
  Cancel(id);
}

}  // namespace kb::server
