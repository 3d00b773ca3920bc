#include "runner/kernel_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef KB_CUPTI_HEADER
#include <cupti.h>
#endif

namespace kb::runner {
namespace {

using testing::HasSubstr;

#ifdef KB_CUPTI_HEADER
template <typename Real>
constexpr bool SameLayout() {
  return offsetof(Real, kind) == offsetof(CuptiKernel, kind) &&
         offsetof(Real, registersPerThread) == offsetof(CuptiKernel, registers) &&
         offsetof(Real, start) == offsetof(CuptiKernel, start) && offsetof(Real, end) == offsetof(CuptiKernel, end) &&
         offsetof(Real, gridX) == offsetof(CuptiKernel, grid) &&
         offsetof(Real, gridZ) == offsetof(CuptiKernel, grid) + 8 &&
         offsetof(Real, blockX) == offsetof(CuptiKernel, block) &&
         offsetof(Real, blockZ) == offsetof(CuptiKernel, block) + 8 &&
         offsetof(Real, staticSharedMemory) == offsetof(CuptiKernel, static_shared) &&
         offsetof(Real, dynamicSharedMemory) == offsetof(CuptiKernel, dynamic_shared) &&
         offsetof(Real, localMemoryPerThread) == offsetof(CuptiKernel, local) &&
         offsetof(Real, name) == offsetof(CuptiKernel, name) && sizeof(Real) >= sizeof(CuptiKernel);
}
static_assert(SameLayout<CUpti_ActivityKernel4>() && SameLayout<CUpti_ActivityKernel7>() &&
              SameLayout<CUpti_ActivityKernel9>());
#if CUPTI_API_VERSION >= 130000
static_assert(SameLayout<CUpti_ActivityKernel10>());
#endif
static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == kCuptiConcurrentKernel);
static_assert(CUPTI_ACTIVITY_KIND_KERNEL == kCuptiKernel);
static_assert(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == kCuptiFlushForced);
TEST(KernelTrace, RecordsLieAsInNvidiasHeader) {}
#else
TEST(KernelTrace, RecordsLieAsInNvidiasHeader) { GTEST_SKIP() << "there is no cupti.h here"; }
#endif

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

TEST(AddUp, WhatThereIsNoRoomForIsOneRow) {
  std::vector<KernelLaunch> launches;
  for (size_t i = 0; i < kMaxKernels + 10; ++i) {
    launches.push_back({"k" + std::to_string(i), 100 * i, 100 * i + i, {1, 1, 1}, {32, 1, 1}});
  }
  const TracedKernels traced = AddUp(launches);
  ASSERT_EQ(traced.kernels.size(), kMaxKernels);
  EXPECT_EQ(traced.kernels[0].name, "k" + std::to_string(kMaxKernels + 9));
  EXPECT_EQ(traced.kernels.back().name, "");
  EXPECT_EQ(traced.kernels.back().calls, 11u);
  EXPECT_EQ(traced.kernels.back().total_ns, 55u);
  EXPECT_TRUE(AddUp({}).kernels.empty());
  EXPECT_EQ(AddUp({}).span_ns, 0u);
}

TEST(KernelTrace, AddsUpWhatCuptiTells) {
  const auto trace = KernelTrace::Start(KB_FAKE_CUPTI);
  ASSERT_TRUE(trace) << trace.error().message;
  const auto traced = trace->Stop();
  ASSERT_TRUE(traced) << traced.error().message;
  ASSERT_EQ(traced->kernels.size(), 4u);
  EXPECT_EQ(traced->kernels[0].name, "triton_kernel");
  const KernelUse& relu = traced->kernels[1];
  EXPECT_EQ(relu.name, "relu<float>");
  EXPECT_EQ(relu.calls, 2u);
  EXPECT_EQ(relu.total_ns, 1200u);
  EXPECT_EQ(relu.grid[0], 8u);
  EXPECT_EQ(relu.block[0], 256u);
  EXPECT_EQ(relu.registers, 40u);
  EXPECT_EQ(relu.static_shared, 1024u);
  EXPECT_EQ(relu.dynamic_shared, 0u);
  EXPECT_EQ(relu.local, 16u);
  EXPECT_EQ(traced->kernels[2].total_ns, 100u);
  EXPECT_EQ(traced->kernels[3].name, "?");  // no name, and an end before its start
  EXPECT_EQ(traced->kernels[3].total_ns, 0u);
  EXPECT_EQ(traced->span_ns, 8500u);

  // A second trace starts anew; one that was ended cannot be read again.
  const auto again = KernelTrace::Start(KB_FAKE_CUPTI);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->Stop()->kernels.size(), 4u);
  const auto ended = again->Stop();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("made up: not enabled"));
}

TEST(KernelTrace, SaysWhatIsMissing) {
  EXPECT_THAT(KernelTrace::Start("").error().message, HasSubstr("CUPTI was found neither"));
  EXPECT_THAT(KernelTrace::Start("/nowhere/libcupti.so.13").error().message, HasSubstr("/nowhere/libcupti.so.13"));
  EXPECT_THAT(KernelTrace::Start("libm.so.6").error().message, HasSubstr("lacks a function"));
}

// Without a GPU the real one must refuse, and not crash.

}  // namespace
}  // namespace kb::runner
