// Which of an answer's blocks make up the candidate.
#ifndef PROMPT_BLOCK_CHOICE_H_
#define PROMPT_BLOCK_CHOICE_H_

#include <optional>
#include <string>
#include <vector>

#include "prompt/code_blocks.h"
#include "prompt/target.h"

namespace kb {

struct BlockChoice {
  std::string source;
  size_t block = 0;     // the one with the entry point
  bool sketch = false;  // its body is left out, and so it is in every other block
};

// The last block that defines the entry point; before it counts, in this order, that it is more than a sketch, that it
// stands on its own, and that the other blocks have what it lacks. Those that define names which it needs come before
// it, in the answer's order. Nothing if no block defines the entry point. A block that is not closed counts where
// `open`.
std::optional<BlockChoice> ChooseBlocks(const std::vector<CodeBlock>& blocks, const Target& target, bool open);

// Whether the text defines what a candidate must: class ModelNew, or kb_forward() with a body.
bool DefinesEntryPoint(const std::string& text, const Target& target);

// Without a first line that is only the name of a file.
std::string WithoutFileName(const std::string& text);

}  // namespace kb

#endif  // PROMPT_BLOCK_CHOICE_H_
