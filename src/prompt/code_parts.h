// What a block of code defines and what it leaves to others, so that it can be told which blocks of an answer belong
// together and which are sketches. From the text alone; names that it does not show are not there.
#ifndef PROMPT_CODE_PARTS_H_
#define PROMPT_CODE_PARTS_H_

#include <set>
#include <string>

#include "judge/static/syntax.h"

namespace kb {

struct CodeParts {
  std::set<std::string> defines;  // at the top level: functions, classes, variables, imports
  // Of them: those whose bodies are left out.
  std::set<std::string> sketched_functions, sketched_classes;
  std::set<std::string> uses;   // names that occur, but for attributes and the like
  std::set<std::string> needs;  // of them: those that it binds nowhere, builtins left aside
  bool broken = false;          // does not follow the grammar, as prose and shell commands do not
};

// A method is a sketch if its body is `pass`, `...` or a `raise` besides a docstring; so is a function, unless it
// raises something else than NotImplementedError; and so is a class if its forward() is one, or without forward() all
// of its methods. A text that is too long or too involved has no parts.
CodeParts PartsOfPython(const std::string& text, ParseBudget* budget);

// The same for C++ and CUDA, where a function whose body returns a constant or throws is a sketch. An include is a name
// like any other: "<cmath>". Every file needs "<kernelbench/kernel.h>".
CodeParts PartsOfCpp(const std::string& text, ParseBudget* budget);

}  // namespace kb

#endif  // PROMPT_CODE_PARTS_H_
