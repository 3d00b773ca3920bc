// The Model Context Protocol, spoken to programs that drive a model: JSON-RPC messages in, tools that ask the API,
// JSON-RPC messages out. Both of its eras: the handshake of the revisions until 2025-11-25, and 2026-07-28, whose
// requests stand for themselves. It holds no state but which calls are under way.
#ifndef SERVER_FACES_MCP_H_
#define SERVER_FACES_MCP_H_

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "server/ask.h"
#include "server/faces/mcp_tool_call.h"

namespace kb::server {

// A call of a tool that can be begun, once, and forgotten at any time.
struct McpCall {
  std::function<void()> begin;
  Forget forget;
};

// The tools that there are.
struct McpOffer {
  std::string instructions;  // what a model is told of all of them
  nlohmann::json tools;      // as tools/list tells of them
  std::function<McpCall(const std::string& tool, nlohmann::json arguments, ApiAsk ask, McpToolCall::Ends ends)> call;
};

// Those of a service.
McpOffer McpOfService();

struct McpAnswer {
  int status = 200;                  // over HTTP
  nlohmann::json message = nullptr;  // null: none is sent
  HttpHeaders headers = {};
};

struct McpMessage {
  std::string text;
  const HttpHead* head = nullptr;  // over HTTP; null: a line of stdio
  // Whose requests a notification may cancel: those that came with the same words. Empty: none.
  std::string scope;
  ApiAsk ask;
  std::function<void(nlohmann::json message)> notify;  // before the answer; empty: the client takes none
  std::function<void(McpAnswer answer)> answer;        // once, on any thread, perhaps before Take() returns
};

class Mcp {
 public:
  explicit Mcp(std::string version, McpOffer offer = McpOfService());
  Mcp(const Mcp&) = delete;  // calls refer to it
  Mcp& operator=(const Mcp&) = delete;
  ~Mcp();

  // Nobody waits for any answer any more; of calls that came with a scope.
  void ForgetAll();
  // What is returned says that nobody waits for the answer any more.
  Forget Take(McpMessage message);

 private:
  struct Running;
  struct Request;
  static std::variant<Request, McpAnswer> Read(McpMessage* message);
  Forget Call(Request request, McpMessage message);
  McpAnswer AtOnce(const Request& request, bool over_http) const;
  nlohmann::json Initialized(const nlohmann::json& params) const;
  nlohmann::json Discovered() const;

  const std::string version_;
  const McpOffer offer_;
  const std::shared_ptr<Running> running_;  // may outlive it with a call
};

}  // namespace kb::server

#endif  // SERVER_FACES_MCP_H_
