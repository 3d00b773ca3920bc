#include "judge/authorship/kernel_authorship.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;

TEST(KernelOrigin, KnowsLibrariesByTheNamesOfTheirKernels) {
  const char* const libraries[] = {
      "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >",
      "at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>",
      "(anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>",
      "at_cuda_detail::cub::DeviceReduceSingleTileKernel<at_cuda_detail::cub::DeviceReducePolicy<int> >",
      "cub::CUB_200700_900_NS::DeviceScanKernel<int>",
      "thrust::cuda_cub::core::_kernel_agent<int>",
      "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >",
      "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
      "ampere_sgemm_128x64_nn",
      "volta_sgemm_32x128_tn",
      "maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n_nt",
      "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8",
      "sm90_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw",
      "nvjet_hsh_128x256_64x4_1x2_h_bz_TNT",
      "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>",
      "cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaPipelined<int> > >",
      "cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int> > >",
      "_ZN7cutlass7Kernel2I46cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4",
      "_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS1_11threadblock12MmaPipelinedINS1_9GemmShapeILi128ELi128ELi8EEENS_9tr",
      "cutlass_80_tensorop_f16_s16816gemm_relu_f16",
      "gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>",
      "internal::gemvx::kernel<int, int, float, float, float, float, false>",
      "dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const>, cublasGemvTensorStrided<float> > >",
      "cublasLt::splitKreduce_kernel<32, 16, int, float>",
      "splitKreduce_kernel<32, 16, int, float, float>",
      "cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>",
      "cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
      "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false>",
      "cudnn_generated_fort_native_sdpa_sm90_flash_fprop",
      "fft2d_r2c_32x32<float, false, 1u, false>",
      "triton_poi_fused_relu_0",
      "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
  };
  for (const char* name : libraries) EXPECT_EQ(OriginOfKernel(name, {}), KernelOrigin::kLibrary) << name;
}

TEST(KernelOrigin, EverythingElseIsTheCandidates) {
  const char* const own[] = {"relu_kernel",
                             "relu<float, 4>",
                             "(anonymous namespace)::softmax_rows",
                             "cutlass::device_kernel<mine::Attention<cutlass::bfloat16_t> >",
                             "_ZN7cutlass13device_kernelIN4mine9AttentionINS_10bfloat16_tEEEEEvNT_6ParamsE",
                             "_ZN7cutlass13device_kernelI20my_cutlass_attentionEEvNT_6ParamsE",
                             "_ZN7cutlass",
                             "matmul_kernel",
                             "sm90_gemm",
                             "smooth_xmma_",
                             "ampere_friendly_relu",
                             "atomic_sum",
                             "main_kernel"};
  for (const char* name : own) EXPECT_EQ(OriginOfKernel(name, {}), KernelOrigin::kCustom) << name;
  EXPECT_EQ(OriginOfKernel("", {}), KernelOrigin::kOther);
}

TEST(KernelOrigin, NamesOfTheSourceCountWhateverTheyLookLike) {
  const std::set<std::string> own = {"gemv2T_kernel_val", "mine::cudnn_like", "vectorized_elementwise_kernel"};
  EXPECT_EQ(OriginOfKernel("gemv2T_kernel_val<float>", own), KernelOrigin::kCustom);
  EXPECT_EQ(OriginOfKernel("mine::(anonymous namespace)::cudnn_like<4>", own), KernelOrigin::kCustom);
  // Another namespace's is another kernel.
  EXPECT_EQ(OriginOfKernel("at::native::vectorized_elementwise_kernel<4>", own), KernelOrigin::kLibrary);
}

TEST(KernelArithmetic, IsTheTypesThatNamesTell) {
  using Types = std::vector<std::string>;
  const struct {
    const char* name;
    Types types;
  } cases[] = {
      {"ampere_sgemm_128x64_nn", {}},
      {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8", {}},
      {"cutlass_80_simt_sgemm_128x128_8x4_nn_align1", {}},
      {"maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n_nt", {}},
      {"at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >", {}},
      {"half_sums", {}},
      {"", {}},
      {"sm90_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", {"tf32"}},
      {"cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>", {"tf32"}},
      {"nvjet_sss_tf32_128x256_TNT", {"tf32"}},
      {"cutlass_80_tensorop_f16_s16816gemm_relu_f16", {"f16"}},
      {"turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", {"f16"}},
      {"ampere_h16816gemm_128x128_ldg8_stages_32x5_nn", {"f16"}},
      {"sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x128x32", {"f16"}},
      {"volta_s884gemm_128x64_ldg8_tn", {"f16"}},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_TNT", {"f16"}},
      {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNN", {"bf16"}},
      {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_nn", {"bf16"}},
      {"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", {"bf16"}},
      {"mine::product<__nv_bfloat16, __half>", {"bf16", "f16"}},
      {"at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::Half> >", {"f16"}},
      {"mine::product<__nv_fp8_e4m3>", {"f8"}},
      {"cutlass_80_tensorop_i16832gemm_s8_128x128", {"i8"}},
  };
  for (const auto& one : cases) EXPECT_EQ(ArithmeticOfKernel(one.name), one.types) << one.name;
  const auto of = [](const json& kernels) { return KernelAuthorship(kernels, 0, {})["arithmetic"]; };
  const auto kernel = [](const char* name) -> json { return {{"name", name}, {"calls", 1}, {"us", 1}}; };
  EXPECT_EQ(of({kernel("mine<half>"), kernel("s1688gemm"), kernel("mine_tf32")}), json({"f16", "tf32"}));
  EXPECT_EQ(of(json::array({kernel("relu")})), json::array());
}

json Kernel(const char* name, int calls, double us) { return {{"name", name}, {"calls", calls}, {"us", us}}; }

TEST(KernelAuthorship, SharesAreOfTimeAndTheClassOfBothTogether) {
  const struct {
    double custom, library, unnamed;
    json expected;
  } cases[] = {{100, 0, 0, "custom"}, {0, 100, 0, "library"}, {50, 50, 0, "mixed"},   {90, 10, 0, "custom"},
               {89, 11, 0, "mixed"},  {10, 90, 0, "library"}, {90, 10, 50, "custom"}, {0, 0, 10, nullptr}};
  for (const auto& one : cases) {
    const json got = KernelAuthorship(
        {Kernel("mine", 2, one.custom), Kernel("nvjet_hsh", 1, one.library), Kernel("", 7, one.unnamed)}, 200, {});
    EXPECT_EQ(got["class"], one.expected) << got;
    EXPECT_EQ(got["samples"], 10);
    const double all = one.custom + one.library + one.unnamed;
    EXPECT_DOUBLE_EQ(got["custom"], one.custom / all);
    EXPECT_DOUBLE_EQ(got["library"], one.library / all);
    EXPECT_DOUBLE_EQ(got["other"], one.unnamed / all);
    EXPECT_EQ(got["kernels_span_us"], 200);
    EXPECT_EQ(got["kernels"][1]["origin"], "library");
    EXPECT_DOUBLE_EQ(got["kernels"][1]["share"], one.library / all);
    EXPECT_EQ(got.contains("why"), one.expected.is_null());
  }
}

TEST(KernelAuthorship, NothingRan) {
  const json got = KernelAuthorship(json::array(), 0, {});
  EXPECT_TRUE(got["class"].is_null());
  EXPECT_EQ(got["samples"], 0);
  EXPECT_EQ(got["custom"], 0.0);
  EXPECT_TRUE(got["by_object"].empty());
  EXPECT_TRUE(got.contains("why"));
}

TEST(KernelAuthorship, LargestFirstAndEightAtMost) {
  json kernels = json::array();
  for (int i = 0; i < 20; ++i) kernels.push_back(Kernel(("k" + std::to_string(i)).c_str(), 1, 1 + i));
  const json got = KernelAuthorship(kernels, 0, {});
  ASSERT_EQ(got["by_object"].size(), 8u);
  EXPECT_EQ(got["by_object"][0]["object"], "k19");
  EXPECT_EQ(got["kernels"].size(), 20u);
}

}  // namespace
}  // namespace kb
