// Less of torch/extension.h. It brings PyTorch's C++ frontend and all of its Python bindings, which kernels seldom use:
// two thirds of the time of compiling one. Nothing is known in what is left out that changes the meaning of what
// compiles without it; what does not is compiled once more with all, whose word counts.
#ifndef JUDGE_COMPILE_LEAN_HEADERS_H_
#define JUDGE_COMPILE_LEAN_HEADERS_H_

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "judge/compile/build_cache.h"

namespace kb {

// Whether an extension (as extension_request.h describes one) may do with less: its text names nothing that only the
// whole header has. A wrong guess costs time and nothing else.
bool MayDoWithLess(const nlohmann::json& extension);

// An entry with two directories to be searched before PyTorch's: host/ for what binds functions to Python, device/ for
// what nvcc compiles. Made if it is not there.
Result<CacheEntry> LeanHeaders(const BuildCache& cache);

}  // namespace kb

#endif  // JUDGE_COMPILE_LEAN_HEADERS_H_
