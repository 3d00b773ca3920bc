#include "server/api.h"
#include "server/faces/openenv_tables.h"
#include "server/http_websocket.h"

namespace kb::server {

using nlohmann::json;

void Api::AnswerOpenEnv(Call call) {
  const std::string& path = call.head.path;
  if (path == "/schema") return call.responder->Send(JsonAnswer(OpenEnvSchemas()));
  if (path == "/metadata") {
    return call.responder->Send(
        JsonAnswer({{"name", "kernelbench"},
                    {"description", "Kernels that stand for PyTorch modules: are they correct, and how fast?"},
                    {"version", options_.version}}));
  }
  const ApiAsk ask = AskAs(call);
  if (path == "/reset") return openenv_.Reset(call.client.name, call.body, ask, call.responder);
  if (path == "/step") return openenv_.Step(call.client.name, call.body, ask, call.responder);
  if (path == "/state") return openenv_.State(call.client.name, call.query["episode_id"], ask, call.responder);
  if (auto refusal = RefuseWebSocket(call.head)) return call.responder->Send(std::move(*refusal));
  openenv_.Serve(call.client.name, ask, call.responder);
}

}  // namespace kb::server
