#include "server/faces/mcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/json_shape.h"
#include "base/random.h"
#include "server/faces/mcp_tools.h"

namespace kb::server {
namespace {

using nlohmann::json;

// Without 2025-03-26, the only one whose servers must take batches of messages.
constexpr std::array<const char*, 3> kHandshake = {"2024-11-05", "2025-06-18", "2025-11-25"};
constexpr const char* kStateless = "2026-07-28";
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr int kFreshMs = 300'000;  // how long a client may keep what tools/list said

enum RpcCode : int {
  kNoJson = -32700,
  kNoRequest = -32600,
  kNoMethod = -32601,
  kWrongParams = -32602,
  kHeaderMismatch = -32020,
  kUnknownVersion = -32022,
};

json Revisions() {
  json all = kHandshake;
  all.push_back(kStateless);
  return all;
}

// The newest one that is not newer than what the client asks for, which it may know, too.
std::string AgreedOn(const json& asked) {
  const std::string revision = asked.is_string() ? asked.get<std::string>() : "";
  const auto newer = std::find_if(kHandshake.begin(), kHandshake.end(), [&](const char* r) { return revision < r; });
  return newer == kHandshake.begin() ? kHandshake.back() : *std::prev(newer);
}

struct RpcError {
  int code = 0;
  std::string text;
  json data = nullptr;
};

// The status is as 2026-07-28 has it; before, what is a JSON-RPC request is answered with 200.
McpAnswer Wrong(const json& id, const RpcError& error, bool stateless = false) {
  json told = {{"code", error.code}, {"message", error.text}};
  if (!error.data.is_null()) told["data"] = error.data;
  int status = 400;
  if (error.code == kNoMethod) status = stateless ? 404 : 200;
  if (error.code == kWrongParams && !stateless) status = 200;
  return {status, {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(told)}}};
}

std::string HeaderOf(const McpMessage& message, const char* name) {
  const auto found = message.head->headers.find(name);
  return found == message.head->headers.end() ? "" : found->second;
}

std::optional<RpcError> UnknownVersion(const std::string& version) {
  const json known = Revisions();
  if (std::find(known.begin(), known.end(), version) != known.end()) return std::nullopt;
  return RpcError{kUnknownVersion,
                  fmt::format("revision {} of the protocol is not spoken here", version),
                  {{"supported", known}, {"requested", version}}};
}

// What a proxy was told must be what the body says.
std::optional<RpcError> HeaderMismatch(const McpMessage& message, const std::string& method, const json& params) {
  const auto differs = [](const char* header) {
    return RpcError{kHeaderMismatch, fmt::format("the header {} does not say what the body says", header)};
  };
  if (HeaderOf(message, "mcp-protocol-version") != params.at("_meta").at(kVersionKey)) {
    return differs("MCP-Protocol-Version");
  }
  if (HeaderOf(message, "mcp-method") != method) return differs("Mcp-Method");
  const bool named = method == "tools/call" && params.contains("name");
  if (named && params["name"] != HeaderOf(message, "mcp-name")) return differs("Mcp-Name");
  return std::nullopt;
}

// Of a request of 2026-07-28, which says with each one how it is to be understood.
std::optional<RpcError> WrongEnvelope(const McpMessage& message, const std::string& method, const json& params) {
  const json meta = params.value("_meta", json());
  for (const char* key : {kVersionKey, kCapabilitiesKey}) {
    if (meta.is_object() && meta.contains(key)) continue;
    return RpcError{kWrongParams, fmt::format("params._meta lacks {}", key)};
  }
  if (!meta[kVersionKey].is_string()) return RpcError{kWrongParams, fmt::format("{} is no string", kVersionKey)};
  if (message.head != nullptr) {
    if (auto differs = HeaderMismatch(message, method, params)) return differs;
  }
  const std::string version = meta[kVersionKey];
  if (version == kStateless) return std::nullopt;
  if (auto unknown = UnknownVersion(version)) return unknown;
  return RpcError{kUnknownVersion,
                  fmt::format("revision {} begins with initialize", version),
                  {{"supported", Revisions()}, {"requested", version}}};
}

json Implementation(const std::string& version) {
  return {{"name", "kernelbench"}, {"title", "KernelBench"}, {"version", version}};
}

std::string Quoted(const json& value) { return value.is_string() ? value.get<std::string>() : Dump(value); }

}  // namespace

struct Mcp::Request {
  json id, params;
  std::string method;
  bool stateless = false, notifies = false;

  McpAnswer Answer(json result) const {
    if (stateless) result["resultType"] = "complete";
    return {200, {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}};
  }
};

// Calls under way, by scope and id.
struct Mcp::Running {
  std::mutex mutex;
  std::map<std::string, std::function<void()>> cancel;

  static std::string KeyOf(const std::string& scope, const json& id) { return scope + "\n" + Dump(id); }
  void Cancel(const std::string& key) {
    std::function<void()> cancels;
    {
      const std::lock_guard lock(mutex);
      if (const auto found = cancel.find(key); found != cancel.end()) cancels = found->second;
    }
    if (cancels) cancels();
  }
  void Erase(const std::string& key) {
    const std::lock_guard lock(mutex);
    cancel.erase(key);
  }
};

McpOffer McpOfService() {
  McpOffer offer{.instructions = kMcpInstructions, .tools = json::array()};
  for (const McpTool& tool : McpTools()) offer.tools.push_back(McpDescribed(tool));
  offer.call = [](const std::string& name, json arguments, ApiAsk ask, McpToolCall::Ends ends) -> McpCall {
    const auto tool =
        std::find_if(McpTools().begin(), McpTools().end(), [&](const McpTool& each) { return name == each.name; });
    const auto call = std::make_shared<McpToolCall>(std::move(arguments), std::move(ask), std::move(ends));
    const auto begin = [call, tool] {
      if (const Status right = Check(tool->arguments, call->arguments()); right) {
        tool->call(call);
      } else {
        call->Refuse(right.error().message + ". Call it again with arguments as its inputSchema says");
      }
    };
    return {begin, [call] { call->Forget(); }};
  };
  return offer;
}

Mcp::Mcp(std::string version, McpOffer offer)
    : version_(std::move(version)), offer_(std::move(offer)), running_(std::make_shared<Running>()) {}
Mcp::~Mcp() = default;

void Mcp::ForgetAll() {
  std::map<std::string, std::function<void()>> all;
  {
    const std::lock_guard lock(running_->mutex);
    all = running_->cancel;
  }
  for (const auto& [key, cancel] : all) cancel();
}

json Mcp::Initialized(const json& params) const {
  return {{"protocolVersion", AgreedOn(params.value("protocolVersion", json()))},
          {"capabilities", {{"tools", json::object()}}},
          {"serverInfo", Implementation(version_)},
          {"instructions", offer_.instructions}};
}

json Mcp::Discovered() const {
  return {{"supportedVersions", Revisions()},
          {"capabilities", {{"tools", json::object()}}},
          {"instructions", offer_.instructions},
          {"ttlMs", kFreshMs},
          {"cacheScope", "public"},
          {"_meta", {{"io.modelcontextprotocol/serverInfo", Implementation(version_)}}}};
}

// What the message asks for, of whichever era; or what is wrong with it.
std::variant<Mcp::Request, McpAnswer> Mcp::Read(McpMessage* message) {
  if (const Status shape = CheckShape(message->text); !shape) return Wrong(nullptr, {kNoJson, shape.error().message});
  json body = json::parse(std::exchange(message->text, {}), nullptr, false);
  if (body.is_discarded()) return Wrong(nullptr, {kNoJson, "the message is no JSON"});
  if (!body.is_object() || body.value("jsonrpc", json()) != "2.0") {
    McpAnswer answer = Wrong(nullptr, {kNoRequest, "the message must be one object of JSON-RPC 2.0"});
    if (body.is_object() && body.empty()) answer.status = 200;  // so `openenv validate` asks whether anybody is there
    return answer;
  }
  Request request{.id = body.value("id", json()), .params = body.value("params", json::object())};
  const json method = body.value("method", json());
  const bool identified = request.id.is_string() || request.id.is_number_integer();
  request.notifies = !body.contains("id");
  if (!method.is_string() || identified == request.notifies) {
    return Wrong(identified ? request.id : json(), {kNoRequest, "it must be a request with an id, or a notification"});
  }
  request.method = method;
  if (!request.params.is_object()) return Wrong(request.id, {kWrongParams, "params must be an object"});
  const std::string header = message->head == nullptr ? "" : HeaderOf(*message, "mcp-protocol-version");
  const json meta = request.params.value("_meta", json());
  request.stateless = header == kStateless || (meta.is_object() && meta.contains(kVersionKey));
  const bool enveloped = request.stateless && !request.notifies;
  const auto wrong = enveloped        ? WrongEnvelope(*message, request.method, request.params)
                     : header.empty() ? std::nullopt
                                      : UnknownVersion(header);
  if (wrong) return Wrong(request.id, *wrong, request.stateless);
  return request;
}

// The story of one message.
Forget Mcp::Take(McpMessage message) {
  auto read = Read(&message);
  if (auto* wrong = std::get_if<McpAnswer>(&read)) {
    message.answer(std::move(*wrong));
    return [] {};
  }
  auto& request = std::get<Request>(read);
  if (request.notifies) {
    const bool cancels = request.method == "notifications/cancelled" && request.params.contains("requestId");
    if (cancels && !message.scope.empty()) running_->Cancel(Running::KeyOf(message.scope, request.params["requestId"]));
    message.answer({202});
    return [] {};
  }
  if (request.method == "tools/call") return Call(std::move(request), std::move(message));
  message.answer(AtOnce(request, message.head != nullptr));
  return [] {};
}

McpAnswer Mcp::AtOnce(const Request& request, bool over_http) const {
  if (request.method == "tools/list") {
    json result = {{"tools", offer_.tools}};
    if (request.stateless) result.update({{"ttlMs", kFreshMs}, {"cacheScope", "public"}});
    return request.Answer(std::move(result));
  }
  if (request.method == "server/discover") return request.Answer(Discovered());
  if (request.method == "ping" && !request.stateless) return request.Answer(json::object());
  if (request.method == "initialize" && !request.stateless) {
    McpAnswer answer = request.Answer(Initialized(request.params));
    // A name for its requests, so that it can cancel them; nothing is remembered under it.
    if (over_http) {
      answer.headers = {{"Mcp-Session-Id", fmt::format("{:016x}{:016x}", RandomBits(), RandomBits())}};
    }
    return answer;
  }
  return Wrong(request.id, {kNoMethod, fmt::format("there is no method {}", request.method)}, request.stateless);
}

Forget Mcp::Call(Request request, McpMessage message) {
  const json name = request.params.value("name", json()), meta = request.params.value("_meta", json::object());
  const bool known =
      std::any_of(offer_.tools.begin(), offer_.tools.end(), [&](const json& tool) { return tool.at("name") == name; });
  if (!known) {
    message.answer(Wrong(request.id,
                         {kWrongParams, fmt::format("there is no tool {}; tools/list names them", Quoted(name))},
                         request.stateless));
    return [] {};
  }
  json arguments = request.params.value("arguments", json());
  if (arguments.is_null()) arguments = json::object();
  const std::string key = message.scope.empty() ? "" : Running::KeyOf(message.scope, request.id);
  McpToolCall::Ends ends;
  const json token = meta.is_object() ? meta.value("progressToken", json()) : json();
  if (message.notify && (token.is_string() || token.is_number())) {
    ends.progress = [notify = message.notify, token, count = 0](const std::string& text) mutable {
      notify({{"jsonrpc", "2.0"},
              {"method", "notifications/progress"},
              {"params", {{"progressToken", token}, {"progress", ++count}, {"message", text}}}});
    };
  }
  ends.done = [running = std::weak_ptr(running_), key, request, answer = message.answer](json result) {
    if (const auto those = running.lock()) those->Erase(key);
    answer(request.Answer(std::move(result)));
  };
  const McpCall call = offer_.call(name, std::move(arguments), message.ask, std::move(ends));
  if (!key.empty()) {
    const std::lock_guard lock(running_->mutex);
    running_->cancel[key] = [running = std::weak_ptr(running_), key, forget = call.forget, answer = message.answer] {
      forget();
      if (const auto those = running.lock()) those->Erase(key);
      answer({202});
    };
  }
  call.begin();
  return [running = running_, key, forget = call.forget] {
    forget();
    running->Erase(key);
  };
}

}  // namespace kb::server
