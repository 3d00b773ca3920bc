// What lies in an agent's folder when it begins: TASK.md, the reference, kernel.h, examples of form.
#ifndef AGENTS_TASK_FOLDER_H_
#define AGENTS_TASK_FOLDER_H_

#include <string>

#include "agents/folder.h"
#include "base/file.h"
#include "base/result.h"
#include "judge/problem/problem_catalog.h"
#include "prompt/prompt.h"
#include "prompt/target.h"

namespace kb {

struct TaskFolderRequest {
  ProblemFile problem;
  std::string size, precision;
  Target target;
  Prompt prompt;    // as a model without tools is asked (prompt/prompt.h): what TASK.md tells of the candidate's form
  std::string how;  // how it is checked and submitted: with the tools of our loop, over MCP, or on a command line
};

// TASK.md, reference.py, kernel.h and examples/ of a candidate in the target's language; nothing of inputs, tolerances'
// values are told but lie in no file that the judge reads.
Result<Snapshot> TaskFolder(const TaskFolderRequest& request, const Installation& installation);

}  // namespace kb

#endif  // AGENTS_TASK_FOLDER_H_
