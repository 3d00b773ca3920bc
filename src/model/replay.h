// A provider that answers from files, so that everything which calls a model also works, and is tested, without one.
#ifndef MODEL_REPLAY_H_
#define MODEL_REPLAY_H_

#include <filesystem>
#include <memory>

#include "model/provider.h"

namespace kb {

// `path` is a file of JSON Lines, or a directory with files PROBLEM/SAMPLE.TURN.txt (level1/19/0.0.txt: the text of the
// answer) and, where there are any, PROBLEM/SAMPLE.TURN.json beside them with the other members of a line, or any of
// the two with a file answers.jsonl. docs/reference/models.md has the members. Of several lines that fit a request the
// first counts; a request that nothing answers is kUsage and names it. Files of a directory are read when they are
// asked for.
Result<std::unique_ptr<Provider>> OpenReplay(const std::filesystem::path& path);

}  // namespace kb

#endif  // MODEL_REPLAY_H_
