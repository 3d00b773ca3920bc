#include "agents/client_settings.h"

#include <gmock/gmock.h>
#include <toml++/toml.h>

#include <map>
#include <nlohmann/json.hpp>

namespace kb {
namespace {

using nlohmann::json;

TEST(ClientSettingsTest, EachClientIsToldTheSameInItsOwnForm) {
  const std::string program = "/a \"b\"/c\\d'", store = "/s\n\x7f";
  std::map<std::string, std::string> files;
  for (const auto& [path, text] : ClientSettings({{program, "mcp", "--devices", "cuda"}, {{"STORE", store}}})) {
    files[path] = text;
  }
  ASSERT_EQ(files.size(), 5U);
  const json arguments = {"mcp", "--devices", "cuda"};
  for (const char* path : {".mcp.json", ".gemini/settings.json", ".qwen/settings.json"}) {
    const json server = json::parse(files[path])["mcpServers"]["kernelbench"];
    EXPECT_EQ(server["command"], program) << path;
    EXPECT_EQ(server["args"], arguments);
    EXPECT_EQ(server["env"]["STORE"], store);
  }
  const json opencode = json::parse(files["opencode.json"])["mcp"]["kernelbench"];
  EXPECT_EQ(opencode["command"], json({program, "mcp", "--devices", "cuda"}));
  EXPECT_EQ(opencode["environment"]["STORE"], store);
  const toml::table codex = toml::parse(files[".codex/config.toml"]);
  const auto server = codex["mcp_servers"]["kernelbench"];
  EXPECT_EQ(server["command"].value<std::string>(), program);
  EXPECT_EQ(server["args"][2].value<std::string>(), "cuda");
  EXPECT_EQ(server["env"]["STORE"].value<std::string>(), store);
  EXPECT_EQ(server["tool_timeout_sec"].value<int>(), 3600);
}

TEST(ClientSettingsTest, WithoutAnEnvironmentNoneIsSaid) {
  for (const auto& [path, text] : ClientSettings({{"/kernelbench", "mcp"}, {}})) {
    EXPECT_EQ(text.find("env"), std::string::npos) << path << "\n" << text;
  }
}

}  // namespace
}  // namespace kb
