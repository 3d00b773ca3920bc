#include "judge/static/kernels.h"

namespace kb {

void KernelFacts::Add(const KernelFacts& other) {
  for (const auto fact :
       {&KernelFacts::cuda_kernel, &KernelFacts::cuda_launch, &KernelFacts::hip, &KernelFacts::kittens,
        &KernelFacts::cute, &KernelFacts::native_loop, &KernelFacts::triton_kernel, &KernelFacts::triton_launch,
        &KernelFacts::tilelang_kernel, &KernelFacts::other_kernel, &KernelFacts::unseen_source}) {
    this->*fact = this->*fact || other.*fact;
  }
}

bool KernelFacts::Any() const {
  return cuda_kernel || hip || kittens || cute || native_loop || triton_kernel || tilelang_kernel || other_kernel ||
         unseen_source;
}

std::optional<RuleHit> CheckBackend(const std::string& backend, const KernelFacts& facts) {
  const struct {
    const char* backend;
    const char* rule;
    bool has;
    const char* lacks;
  } rows[] = {
      {"cuda", "cuda_impl", facts.cuda_kernel, "there is no __global__ function"},
      {"cuda", "cuda_impl", facts.cuda_launch, "no CUDA kernel is launched"},
      {"triton", "triton_impl", facts.triton_kernel, "there is no function under triton.jit that computes"},
      {"triton", "triton_impl", facts.triton_launch, "no Triton kernel is launched"},
      {"tilelang", "tilelang_impl", facts.tilelang_kernel, "there is no TileLang kernel (T.prim_func or tilelang.jit)"},
      {"cute", "cute_impl", facts.cute, "there is no CuTe kernel (cute:: or cutlass:: in CUDA, cute.kernel in Python)"},
      {"thunderkittens", "tk_impl", facts.kittens, "nothing in it names kittens::"},
      {"thunderkittens", "tk_impl", facts.cuda_kernel, "there is no __global__ function"},
      {"hip", "hip_impl", facts.hip && facts.cuda_kernel, "there is no __global__ function under HIP's headers"},
      {"hip", "hip_impl", facts.cuda_launch, "no HIP kernel is launched"},
      {"cpp", "cpp_impl", facts.native_loop, "no function in C++ has a loop or a vector instruction"},
      {"torch", "no_kernel", facts.Any(), "it holds no kernel in any backend"},
  };
  if (facts.unseen_source) return std::nullopt;
  for (const auto& row : rows) {
    if (backend == row.backend && !row.has) return RuleHit{row.rule, 0, row.lacks};
  }
  return std::nullopt;
}

}  // namespace kb
