// Tools for a model that has none: a call is a block of its answer's text, and results are text too.
//
//   ```tool
//   {"name": "write_file", "arguments": {"path": "model_new.py"}}
//   import torch
//   ```
//
// What follows the JSON in the block is the argument that is long: content of write_file, command of bash.
#ifndef AGENTS_TEXT_FORM_H_
#define AGENTS_TEXT_FORM_H_

#include <string>
#include <vector>

#include "agents/stored_turn.h"
#include "model/provider.h"

namespace kb {

// What the system prompt says of it.
std::string TextFormRules(const std::vector<Tool>& tools);
// Puts the answer's call into `calls`: one at most, or none where there is no block or more than one. What is no JSON
// with a name becomes a call without one.
void ReadTextCalls(Completion* completion);
std::string TextResults(const StoredResults& results);

}  // namespace kb

#endif  // AGENTS_TEXT_FORM_H_
