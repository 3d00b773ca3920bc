// The rules for C++ and CUDA: native candidates, and sources inside Python strings.
#ifndef JUDGE_STATIC_NATIVE_RULES_H_
#define JUDGE_STATIC_NATIVE_RULES_H_

#include <string>
#include <vector>

#include "judge/static/kernels.h"
#include "judge/static/rules.h"
#include "judge/static/syntax.h"

namespace kb {

struct NativeResult {
  std::vector<RuleHit> hits;
  KernelFacts kernels;
  std::vector<std::string> kernel_names;  // of __global__ functions: "relu", "mine::relu"
};

NativeResult CheckNative(const SyntaxTree& tree);

}  // namespace kb

#endif  // JUDGE_STATIC_NATIVE_RULES_H_
