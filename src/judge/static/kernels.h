// What kinds of kernels a candidate holds, and the rules "is it really written in this backend".
#ifndef JUDGE_STATIC_KERNELS_H_
#define JUDGE_STATIC_KERNELS_H_

#include <optional>
#include <string>

#include "judge/static/rules.h"

namespace kb {

struct KernelFacts {
  bool cuda_kernel = false, cuda_launch = false;  // a __global__ function; <<<...>>> or a launch function
  bool hip = false;                               // includes hip/ headers or launches as HIP does
  bool kittens = false;                           // names kittens:: or includes kittens.cuh
  bool cute = false;                              // names cute:: or cutlass::, or a cutlass.cute kernel in Python
  bool native_loop = false;                       // a loop or a vector intrinsic in C++
  bool triton_kernel = false, triton_launch = false;
  bool tilelang_kernel = false;
  bool other_kernel = false;   // numba and the like
  bool unseen_source = false;  // it builds sources that its text does not show, so nothing can be missed

  void Add(const KernelFacts& other);
  bool Any() const;
};

// What backend `backend` (KernelBench's name) lacks; nothing if all is there. The byte is 0.
std::optional<RuleHit> CheckBackend(const std::string& backend, const KernelFacts& facts);

}  // namespace kb

#endif  // JUDGE_STATIC_KERNELS_H_
