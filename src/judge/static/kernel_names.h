// Names of the kernels that a candidate's files define.
#ifndef JUDGE_STATIC_KERNEL_NAMES_H_
#define JUDGE_STATIC_KERNEL_NAMES_H_

#include <set>
#include <string>

#include "judge/static/static_check.h"

namespace kb {

// __global__ functions with their namespaces ("mine::relu"), also those in the sources that a Python file embeds, and
// Python functions under triton.jit and the like. What the text does not show (macros, code made at run time) is not
// there; nor is anything of a text that is too long or too involved to be analysed.
std::set<std::string> KernelNames(const std::vector<StaticSource>& sources);

}  // namespace kb

#endif  // JUDGE_STATIC_KERNEL_NAMES_H_
