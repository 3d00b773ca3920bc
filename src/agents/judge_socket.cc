#include "agents/judge_socket.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fd.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "server/faces/mcp.h"
#include "server/faces/mcp_lines.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kLongestLine = size_t{1} << 20;
constexpr size_t kMostConnections = 32;
constexpr size_t kMostWaiting = 16;  // calls
constexpr const char* kTooMany = "error\ntoo many connections: end some of them, and ask again\n";
constexpr const char* kInstructions =
    "The judge of your task. compile says whether a candidate can be built, evaluate whether it is correct and how "
    "fast, "
    "submit hands it in.";

json ListedTool(const Tool& tool) {
  return {{"name", tool.name}, {"description", tool.description}, {"inputSchema", json::parse(tool.parameters)}};
}

// "evaluate  a file.py" with the argument that the tool takes first.
ToolCall CallInWords(const std::string& line, const std::vector<Tool>& offered) {
  const auto trimmed = [](const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
    return first == text.npos ? std::string() : text.substr(first, last - first + 1);
  };
  const std::string words = trimmed(line);
  const size_t end = std::min(words.find_first_of(" \t"), words.size());
  ToolCall call{.id = "words", .name = words.substr(0, end), .arguments = "{}"};
  const std::string argument = trimmed(words.substr(end));
  for (const Tool& tool : offered) {
    if (tool.name != call.name || argument.empty()) continue;
    const auto schema = nlohmann::ordered_json::parse(tool.parameters);
    const auto properties = schema.value("properties", nlohmann::ordered_json::object());
    if (!properties.empty()) call.arguments = Dump(json{{properties.begin().key(), argument}});
  }
  return call;
}

// A client that has closed its sending side only waits for an answer.
bool HasGone(int fd) {
  pollfd hung_up{fd, 0, 0};
  return ::poll(&hung_up, 1, 0) > 0;
}

}  // namespace

struct JudgeSocket::State {
  // A call that waits for its turn or is made.
  struct Waiting {
    ToolCall call;
    std::function<void(const ToolOutcome&)> done;
    std::atomic<bool> forgotten = false;
  };

  Fd listener;
  JudgeTools tools;
  server::McpOffer offer;
  std::atomic<bool> closing = false;
  struct Connection {
    std::atomic<bool> ended = false;
    std::thread thread;
  };
  std::list<Connection> connections;  // the acceptor's alone
  std::thread acceptor, caller;

  mutable std::mutex mutex;  // of what follows
  std::condition_variable changed;
  std::deque<std::shared_ptr<Waiting>> waiting;
  std::optional<Error> error;

  void Accept();
  void Serve(Fd fd);
  void ServeWords(const std::string& line, int fd, server::McpOutput* output);
  void MakeCalls();
  void Make(const Waiting& one);
  void Add(std::shared_ptr<Waiting> one);
  server::McpCall CallOf(const std::string& tool, json arguments, server::McpToolCall::Ends ends);
};

void JudgeSocket::State::Accept() {
  pollfd waits{listener.get(), POLLIN, 0};
  while (!closing) {
    if (::poll(&waits, 1, static_cast<int>(kInterruptSlice.count())) <= 0) continue;
    Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    connections.remove_if([](Connection& each) {
      if (each.ended) each.thread.join();
      return each.ended.load();
    });
    if (!fd.valid()) continue;
    if (connections.size() >= kMostConnections) {
      (void)::send(fd.get(), kTooMany, std::strlen(kTooMany), MSG_NOSIGNAL | MSG_DONTWAIT);
      continue;
    }
    Connection& one = connections.emplace_back();
    one.thread = std::thread([this, &one, held = std::move(fd)]() mutable {
      Serve(std::move(held));
      one.ended = true;
    });
  }
  for (Connection& one : connections) one.thread.join();
}

void JudgeSocket::State::Serve(Fd fd) {
  const auto stop = [this] { return closing.load(); };
  server::McpInput input(fd.get(), kLongestLine, stop);
  // An answer may come when the connection has ended.
  struct Output {
    Fd fd;
    server::McpOutput lines;
    explicit Output(Fd held) : fd(std::move(held)), lines(fd.get()) {}
  };
  const auto output = std::make_shared<Output>(std::move(fd));
  server::Mcp mcp(KB_VERSION, offer);
  for (bool first = true; auto line = input.Next(); first = false) {
    if (first && !line->starts_with('{')) return ServeWords(*line, output->fd.get(), &output->lines);
    if (line->find_first_not_of(" \t\r") == line->npos) continue;
    const auto answer = [output, stop](const server::McpAnswer& told) {
      if (!told.message.is_null()) (void)output->lines.Write(Dump(told.message) + "\n", stop);
    };
    (void)mcp.Take({.text = std::move(*line), .scope = "socket", .ask = {}, .notify = {}, .answer = answer});
  }
  mcp.ForgetAll();
}

void JudgeSocket::State::ServeWords(const std::string& line, int fd, server::McpOutput* output) {
  const auto one = std::make_shared<Waiting>();
  one->call = CallInWords(line, tools.offered);
  const auto said = std::make_shared<std::optional<ToolOutcome>>();
  one->done = [this, said](const ToolOutcome& outcome) {
    const std::lock_guard lock(mutex);
    *said = outcome;
    changed.notify_all();
  };
  Add(one);
  std::unique_lock lock(mutex);
  const auto over = [&] { return said->has_value() || closing; };
  while (!one->forgotten && !changed.wait_for(lock, kInterruptSlice, over)) one->forgotten = HasGone(fd);
  if (!said->has_value()) return;
  const ToolOutcome outcome = **said;
  lock.unlock();
  (void)output->Write(fmt::format("{}\n{}\n", outcome.is_error ? "error" : "ok", outcome.text),
                      [this] { return closing.load(); });
}

void JudgeSocket::State::Add(std::shared_ptr<Waiting> one) {
  {
    const std::lock_guard lock(mutex);
    std::erase_if(waiting, [](const auto& each) { return each->forgotten.load(); });
    if (!closing && waiting.size() < kMostWaiting) {
      waiting.push_back(std::move(one));
      changed.notify_all();
      return;
    }
  }
  one->done({.text = "too many calls wait; wait for their results, and then call again", .is_error = true});
}

server::McpCall JudgeSocket::State::CallOf(const std::string& tool, json arguments, server::McpToolCall::Ends ends) {
  const auto one = std::make_shared<Waiting>();
  one->call = {.id = "mcp", .name = tool, .arguments = Dump(arguments)};
  one->done = [ends = std::move(ends)](const ToolOutcome& outcome) {
    ends.done({{"content", {{{"type", "text"}, {"text", outcome.text}}}}, {"isError", outcome.is_error}});
  };
  return {[this, one] { Add(one); }, [one] { one->forgotten = true; }};
}

void JudgeSocket::State::MakeCalls() {
  for (;;) {
    std::shared_ptr<Waiting> next;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return closing || !waiting.empty(); });
      if (closing) return;
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    if (!next->forgotten) Make(*next);
  }
}

void JudgeSocket::State::Make(const Waiting& one) {
  if (error) return one.done({.text = "the run is over", .is_error = true});
  const Result<ToolOutcome> outcome = tools.call(one.call);
  if (!outcome) {
    {
      const std::lock_guard lock(mutex);
      error = outcome.error();
    }
    return one.done({.text = "the judge could not be asked; the run is over", .is_error = true});
  }
  if (tools.told) tools.told(one.call, *outcome);
  if (!one.forgotten) one.done(*outcome);
}

JudgeSocket::JudgeSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}
JudgeSocket::~JudgeSocket() { Close(); }

Result<std::unique_ptr<JudgeSocket>> JudgeSocket::Listen(const std::filesystem::path& path) {
  sockaddr_un address{.sun_family = AF_UNIX};
  if (path.native().size() >= sizeof address.sun_path) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} is too long for the name of a socket: set TMPDIR to a shorter path", path.string()));
  }
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  auto state = std::make_unique<State>();
  state->listener = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!state->listener.valid() ||
      ::bind(state->listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(state->listener.get(), kMostConnections) != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot listen at {}: {}", path.string(), strerror(errno)));
  }
  return std::unique_ptr<JudgeSocket>(new JudgeSocket(std::move(state)));
}

void JudgeSocket::Open(JudgeTools tools) {
  KB_CHECK(!state_->acceptor.joinable());
  state_->tools = std::move(tools);
  state_->offer = {.instructions = kInstructions, .tools = json::array()};
  for (const Tool& tool : state_->tools.offered) state_->offer.tools.push_back(ListedTool(tool));
  state_->offer.call = [state = state_.get()](const std::string& tool, json arguments, const server::ApiAsk&,
                                              server::McpToolCall::Ends ends) {
    return state->CallOf(tool, std::move(arguments), std::move(ends));
  };
  state_->caller = std::thread([state = state_.get()] { state->MakeCalls(); });
  state_->acceptor = std::thread([state = state_.get()] { state->Accept(); });
}

void JudgeSocket::Close() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
  }
  if (state_->caller.joinable()) state_->caller.join();
  if (state_->acceptor.joinable()) state_->acceptor.join();
  state_->waiting.clear();
  state_->listener.Reset();
}

std::optional<Error> JudgeSocket::error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

}  // namespace kb
