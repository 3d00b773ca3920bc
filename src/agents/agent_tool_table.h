// What a model is told of each tool (agent_tools.h).
#ifndef AGENTS_AGENT_TOOL_TABLE_H_
#define AGENTS_AGENT_TOOL_TABLE_H_

#include <string>
#include <vector>

#include "agents/agent_tools.h"
#include "base/result.h"
#include "model/provider.h"
#include "server/fields.h"

namespace kb {

struct AgentToolRow {
  const char* name;
  std::string description;
  server::Table arguments;
  bool of_judge = false;
  const char* not_offered = nullptr;  // an argument that is of no use here, and is told so if it comes all the same
};

std::vector<AgentToolRow> AgentToolTable(const AgentToolLimits& limits, const AgentToolOptions& options);

Tool AsOffered(const AgentToolRow& row);

// What the model wrote, as the row says. Null stands for what is absent. Errors (usage) are texts for the model.
Result<nlohmann::json> ReadArguments(const AgentToolRow& row, const std::string& arguments);

}  // namespace kb

#endif  // AGENTS_AGENT_TOOL_TABLE_H_
