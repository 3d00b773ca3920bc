#include "cli/serve_demo.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"

namespace kb::cli {
namespace {

using nlohmann::json;

constexpr char kCandidate[] =
    "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.clamp(min=0)\n";

std::string InShell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string TokenLines(const Demo& demo) {
  if (demo.tokens.empty()) return "";
  return fmt::format("# a token, for all that follows\nexport KERNELBENCH_TOKEN=$({} token add demo --tokens {})\n\n",
                     InShell(demo.binary), InShell(demo.tokens));
}

std::string CurlLines(const Demo& demo) {
  const json request = {{"problem", "1/19"}, {"size", "small"}, {"protocol", "quick"}, {"source", kCandidate}};
  return fmt::format("# curl\ncurl -sS {}{} -d {}\n\n",
                     demo.tokens.empty() ? "" : "-H \"Authorization: Bearer $KERNELBENCH_TOKEN\" ",
                     InShell(demo.url + "/v1/evaluations?wait=300"), InShell(Dump(request)));
}

std::string PythonLines(const Demo& demo) {
  return fmt::format(
      "# Python, with clients/python installed\npython3 - <<'END'\nfrom kernelbench_client import Candidate, Client\n"
      "\nclient = Client({0})\nanswer = \"Like this:\\n```python\\n\" + {1} + \"```\"\n"
      "told = client.evaluate(Candidate(\"1/19\", answer=answer, size=\"small\", protocol=\"quick\"))\n"
      "print(told.verdict, told.speedup, told.speedup_interval)\nEND\n\n",
      Dump(json(demo.url)), Dump(json(kCandidate)));
}

std::string TrlLines(const Demo& demo) {
  return fmt::format(
      "# TRL: for reward_funcs of GRPOTrainer\npython3 - <<'END'\nfrom kernelbench_client import Client\n"
      "from kernelbench_client.trl import reward_func\n\n"
      "reward = reward_func(Client({}), reward=\"sure_gain\", size=\"small\", protocol=\"quick\")\n"
      "print(reward(prompts=[\"?\"], completions=[\"I cannot.\"], problem=[\"1/19\"]))\nEND\n\n",
      Dump(json(demo.url)));
}

std::string McpLines(const Demo& demo) {
  json arguments = {"mcp"};
  if (demo.store != DefaultStore()) arguments.insert(arguments.end(), {"--store", demo.store});
  json http = {{"type", "http"}, {"url", demo.url + "/mcp"}};
  if (!demo.tokens.empty()) http["headers"] = {{"Authorization", "Bearer ${KERNELBENCH_TOKEN}"}};
  return fmt::format("# MCP: settings of a client on this machine\n{}\n\n# MCP: settings of a client over HTTP\n{}\n\n",
                     Dump(json{{"mcpServers", {{"kernelbench", {{"command", demo.binary}, {"args", arguments}}}}}}),
                     Dump(json{{"mcpServers", {{"kernelbench", http}}}}));
}

}  // namespace

std::string DemoText(const Demo& demo) {
  return TokenLines(demo) + CurlLines(demo) + PythonLines(demo) + TrlLines(demo) + McpLines(demo) +
         fmt::format("# KernelGYM: reward_model.server_url of its trainer\n{}\n", demo.url);
}

}  // namespace kb::cli
