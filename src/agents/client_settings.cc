#include "agents/client_settings.h"

#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace kb {
namespace {

using nlohmann::ordered_json;

constexpr const char* kName = "kernelbench";
constexpr int kTimeoutSeconds = 3600;  // a judgement takes minutes, and others may be before it

std::string Text(const ordered_json& settings) { return settings.dump(2) + "\n"; }

std::string CodexText(const McpServerCommand& server) {
  toml::array arguments;
  for (size_t i = 1; i < server.command.size(); ++i) arguments.push_back(server.command[i]);
  toml::table one{{"command", server.command[0]}, {"args", arguments}, {"tool_timeout_sec", kTimeoutSeconds}};
  toml::table environment;
  for (const auto& [name, value] : server.environment) environment.insert(name, value);
  if (!environment.empty()) one.insert("env", environment);
  std::ostringstream text;
  text << toml::table{{"mcp_servers", toml::table{{kName, one}}}} << "\n";
  return text.str();
}

}  // namespace

std::vector<Harness::File> ClientSettings(const McpServerCommand& server) {
  ordered_json environment = ordered_json::object();
  for (const auto& [name, value] : server.environment) environment[name] = value;
  ordered_json one = {{"command", server.command[0]},
                      {"args", std::vector(server.command.begin() + 1, server.command.end())}};
  if (!environment.empty()) one["env"] = environment;
  ordered_json patient = one;
  patient["timeout"] = kTimeoutSeconds * 1000;
  ordered_json opencode = {
      {"type", "local"}, {"command", server.command}, {"enabled", true}, {"timeout", kTimeoutSeconds * 1000}};
  if (!environment.empty()) opencode["environment"] = environment;
  const ordered_json usual = {{"mcpServers", {{kName, patient}}}};
  return {{".mcp.json", Text({{"mcpServers", {{kName, one}}}})},
          {".codex/config.toml", CodexText(server)},
          {"opencode.json", Text({{"$schema", "https://opencode.ai/config.json"}, {"mcp", {{kName, opencode}}}})},
          {".gemini/settings.json", Text(usual)},
          {".qwen/settings.json", Text(usual)}};
}

}  // namespace kb
