// What a model can have done, and how each of it becomes requests of the API.
#ifndef SERVER_FACES_MCP_TOOLS_H_
#define SERVER_FACES_MCP_TOOLS_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/faces/mcp_tool_call.h"
#include "server/fields.h"

namespace kb::server {

using McpToolCallPtr = std::shared_ptr<McpToolCall>;

struct McpTool {
  const char* name;
  const char* title;
  const char* description;  // for the model: what it does, and when to call it
  bool reads = true;        // has nothing judged
  Table arguments, result;
  void (*call)(const McpToolCallPtr& call);  // its arguments are as the table says
};

const std::vector<McpTool>& McpTools();

// What a model is told of all of them.
extern const char* const kMcpInstructions;

// As tools/list tells of it.
nlohmann::json McpDescribed(const McpTool& tool);

// mcp_catalogue.cc
void McpListProblems(const McpToolCallPtr& call);
void McpShowProblem(const McpToolCallPtr& call);
void McpBestSoFar(const McpToolCallPtr& call);
// mcp_candidates.cc
void McpCompile(const McpToolCallPtr& call);
void McpEvaluate(const McpToolCallPtr& call);
void McpProfile(const McpToolCallPtr& call);
void McpExplainVerdict(const McpToolCallPtr& call);

// What results tell of what the API tells.
using McpKeys = std::vector<const char*>;
const McpKeys& McpVerdictKeys();
const McpKeys& McpProblemKeys();
const McpKeys& McpCompiledKeys();
const McpKeys& McpProfiledKeys();
const McpKeys& McpBestKeys();

// Those of `object`; null where it lacks one.
nlohmann::json McpPicked(const nlohmann::json& object, const McpKeys& keys);

}  // namespace kb::server

#endif  // SERVER_FACES_MCP_TOOLS_H_
