// The judge's tools for a program in a box: a Unix socket. Each connection speaks the Model Context Protocol, a message
// a line; or, if its first line does not begin with a brace, asks for one call in words, "evaluate model_new.py", and
// is answered with "ok" or "error", a line, and what the tool says.
//
// All of a connection is hostile: lines, connections and calls that wait are bounded.
#ifndef AGENTS_JUDGE_SOCKET_H_
#define AGENTS_JUDGE_SOCKET_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/agent_tools.h"
#include "base/result.h"
#include "model/provider.h"

namespace kb {

struct JudgeTools {
  std::vector<Tool> offered;
  // Of all connections one after the other, on a thread of the socket's. An error ends the socket's work.
  std::function<Result<ToolOutcome>(const ToolCall& call)> call;
  // After each call, on the same thread; may be empty.
  std::function<void(const ToolCall& call, const ToolOutcome& outcome)> told;
};

class JudgeSocket {
 public:
  // Makes the socket, whose file stays behind: commands in boxes that show it can be started to the last. Whoever
  // connects waits until Open().
  static Result<std::unique_ptr<JudgeSocket>> Listen(const std::filesystem::path& path);
  JudgeSocket(const JudgeSocket&) = delete;  // threads refer to it
  JudgeSocket& operator=(const JudgeSocket&) = delete;
  ~JudgeSocket();  // Close()

  // Once.
  void Open(JudgeTools tools);
  // Waits for a call that goes on, makes no further one, and ends all connections.
  void Close();
  // The error of a call, if there was one.
  std::optional<Error> error() const;

 private:
  struct State;
  explicit JudgeSocket(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace kb

#endif  // AGENTS_JUDGE_SOCKET_H_
