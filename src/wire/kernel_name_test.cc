#include "wire/kernel_name.h"

#include <gtest/gtest.h>

#include "wire/report.h"

namespace kb {
namespace {

TEST(ReadableName, IsTheFunctionsWithItsTemplate) {
  const struct {
    const char* mangled;
    const char* readable;
  } cases[] = {
      {"_Z4reluIfEvPT_i", "relu<float>"},
      {"_Z3addPf", "add"},
      {"_ZN4mine4reluILi4EEEvPf", "mine::relu<4>"},
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
       "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >"},
      {"_ZN12_GLOBAL__N_14reluEPf", "(anonymous namespace)::relu"},
      // The return type has a template of its own.
      {"_ZN8internal5gemvx6kernelIiiEENSt9enable_ifIXntLb0EEvE4typeEi", "internal::gemvx::kernel<int, int>"},
      {"add_kernel", "add_kernel"},
      {"_Z", "_Z"},
      {"f", "f"},  // a demangler may take this for float
      {"", ""},
  };
  for (const auto& one : cases) EXPECT_EQ(ReadableName(one.mangled), one.readable);
  EXPECT_EQ(ReadableName(std::string(1000, 'k')).size(), kMaxKernelName);
}

}  // namespace
}  // namespace kb
