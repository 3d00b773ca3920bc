// The rules for Python: one pass over the tree, each node looked up by what it resolves to.
#ifndef JUDGE_STATIC_PYTHON_RULES_H_
#define JUDGE_STATIC_PYTHON_RULES_H_

#include <string>
#include <vector>

#include "judge/static/kernels.h"
#include "judge/static/python_names.h"
#include "judge/static/rules.h"

namespace kb {

// Source text inside string literals of a Python file.
struct EmbeddedSource {
  LiteralText source;
  Grammar grammar = Grammar::kCpp;
};

struct PythonResult {
  std::vector<RuleHit> hits;
  std::vector<EmbeddedSource> sources;
  KernelFacts kernels;
  std::vector<std::string> kernel_names;  // functions under triton.jit and the like
  size_t model_byte = 0;                  // where class ModelNew begins; 0 if nowhere
};

PythonResult CheckPython(const SyntaxTree& tree);

}  // namespace kb

#endif  // JUDGE_STATIC_PYTHON_RULES_H_
