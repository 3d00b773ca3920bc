// The code in a text of Markdown as models write it: between fences, or without any.
#ifndef PROMPT_CODE_BLOCKS_H_
#define PROMPT_CODE_BLOCKS_H_

#include <string>
#include <string_view>
#include <vector>

namespace kb {

struct CodeBlock {
  std::string text;  // lines end in \n
  std::string info;  // what follows the opening fence, in lower case: "python", "cpp", "python:model.py"
  bool closed = true;
};

// Lines, without their ends.
std::vector<std::string_view> SplitLines(std::string_view text);

// The blocks between fences of three or more backticks or tildes, in order. A fence inside a triple-quoted string of
// Python does not close a block; a fence that opens with a language inside a block ends it as one that was not closed.
// Of a block that is Markdown itself the blocks inside are given: an answer may be wrapped as a whole.
std::vector<CodeBlock> CodeBlocks(std::string_view text);

// Whether a line opens or closes a fence outside of Python's triple-quoted strings, which no line of code does.
bool HoldsFences(std::string_view text);

// Whether what follows an opening fence names C++ or CUDA.
bool IsCpp(std::string_view info);

// Runs of lines that look like Python, or like C++, between lines that look like prose. `closed` is false for one that
// goes on to the end of the text.
std::vector<CodeBlock> UnfencedBlocks(std::string_view text, bool python);

// Whether a Python text ends inside a triple-quoted string.
bool EndsInsidePythonString(std::string_view text);

}  // namespace kb

#endif  // PROMPT_CODE_BLOCKS_H_
