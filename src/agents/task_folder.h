// What lies in an agent's folder when it begins.
#ifndef AGENTS_TASK_FOLDER_H_
#define AGENTS_TASK_FOLDER_H_

#include <string>

#include "agents/folder.h"
#include "base/file.h"
#include "base/result.h"
#include "prompt/prompt.h"
#include "prompt/template.h"

namespace kb {

struct TaskFolderRequest {
  PromptRequest prompt;  // `shots` candidates go to examples/
  PromptTemplate parts;  // default.toml, perhaps with a user's file over it
  std::string how;       // how it is checked and submitted: with tools (AgentTools::HowTo()), or on a command line
};

struct TaskFolderContents {
  Snapshot files;  // TASK.md, reference.py, examples/, and for native candidates kernelbench/kernel.h
  Prompt prompt;   // what TASK.md is made of: its system part, examples and notes
};

// TASK.md has prompts/task.toml's parts, with the texts of `parts` that they name. Nothing in the folder is read when a
// candidate is judged. Errors: as BuildPrompt().
Result<TaskFolderContents> TaskFolder(const TaskFolderRequest& request, const Installation& installation);

}  // namespace kb

#endif  // AGENTS_TASK_FOLDER_H_
