// Settings with which coding agents start `kernelbench mcp` in a folder.
#ifndef AGENTS_CLIENT_SETTINGS_H_
#define AGENTS_CLIENT_SETTINGS_H_

#include <string>
#include <utility>
#include <vector>

#include "agents/harness.h"

namespace kb {

struct McpServerCommand {
  std::vector<std::string> command;  // its first word a whole path: many clients have a PATH of their own
  std::vector<std::pair<std::string, std::string>> environment;
};

// A file for each kind of client, as it looks for it in the folder that it works in.
std::vector<Harness::File> ClientSettings(const McpServerCommand& server);

}  // namespace kb

#endif  // AGENTS_CLIENT_SETTINGS_H_
