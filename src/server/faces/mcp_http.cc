// MCP over HTTP without state: each message is a POST of its own.
#include <atomic>

#include "base/json.h"
#include "server/api.h"
#include "server/faces/mcp.h"

namespace kb::server {
namespace {

// One answer, as JSON; or as events, once something was told before it.
class McpReply {
 public:
  explicit McpReply(std::shared_ptr<HttpResponder> responder) : responder_(std::move(responder)) {}

  void Notify(const nlohmann::json& message) {
    if (!begun_.exchange(true)) responder_->BeginEvents();
    responder_->SendEvent("message", Dump(message));
  }
  void Answer(McpAnswer answer) {
    if (begun_) {
      if (!answer.message.is_null()) responder_->SendEvent("message", Dump(answer.message));
      return responder_->EndEvents();
    }
    const bool none = answer.message.is_null();
    responder_->Send(
        {answer.status, none ? "" : "application/json", none ? "" : Dump(answer.message), std::move(answer.headers)});
  }

 private:
  const std::shared_ptr<HttpResponder> responder_;
  std::atomic<bool> begun_ = false;
};

std::string HeaderOf(const HttpHead& head, const char* name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? "" : found->second;
}

}  // namespace

void Api::PostMcp(Call call) {
  const auto reply = std::make_shared<McpReply>(call.responder);
  McpMessage message{.text = std::move(call.text), .head = &call.head, .ask = AskAs(call)};
  if (const std::string session = HeaderOf(call.head, "mcp-session-id"); !session.empty()) {
    message.scope = call.client.name + "\n" + session;
  }
  const std::string accepted = HeaderOf(call.head, "accept");
  if (accepted.find("text/event-stream") != std::string::npos) {
    message.notify = [reply](const nlohmann::json& told) { reply->Notify(told); };
  }
  message.answer = [reply](McpAnswer answer) { reply->Answer(std::move(answer)); };
  call.responder->WhenGone(mcp_->Take(std::move(message)));
}

}  // namespace kb::server
