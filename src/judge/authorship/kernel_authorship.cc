#include "judge/authorship/kernel_authorship.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <span>

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kObjectsShown = 8;

// How qualified names of libraries' kernels begin.
constexpr std::string_view kLibraryBeginnings[] = {
    // PyTorch
    "at::", "at_cuda_detail::", "c10::", "caffe2::", "torch::", "pytorch_flash::", "PyTorchMemEffAttention::",
    "fmha_cutlass", "softmax_warp_forward", "softmax_warp_backward",
    // what torch.compile writes
    "triton_poi_fused", "triton_red_fused", "triton_per_fused", "triton_for_fused", "triton_tem_fused",
    "triton_unk_fused",
    // across the device; what a kernel uses of them in a block is part of that kernel
    "cub::", "thrust::",
    // cuBLAS and cuBLASLt
    "nvjet_", "cutlass_", "internal::gemvx::", "gemv2T_kernel", "gemv2N_kernel", "gemvNSP_kernel", "gemmSN_",
    "gemmk1_kernel", "splitKreduce_kernel", "gemm_kernel1x1_core", "gemm_kernel2x2_core",
    // cuDNN
    "xmma_new::", "cask_", "implicit_convolve_", "explicit_convolve_", "convolve_common_engine", "conv2d_c1_k1_",
    "conv2d_grouped_direct_kernel", "fft2d_", "fft1d_", "compute_gemm_pointers", "flip_filter", "wgrad_alg", "wgrad2d_",
    "dgrad_engine", "dgrad2d_", "dgrad_alg", "winograd_", "generateWinogradTiles", "im2col4d_kernel", "pooling_fw_4d",
    "elemWiseRNNcell", "LSTM_elementWise", "GRU_elementWise", "RNN_blockPersist", "persistRNN",
    "op_generic_tensor_kernel", "op_tensor_kernel", "bn_fw_", "tensorTransformGeneric", "nchwToNhwcKernel",
    "nhwcToNchwKernel",
    // cuFFT, NCCL, MAGMA
    "regular_fft", "vector_fft", "composite_2way_fft", "ncclDevKernel", "ncclKernel", "magma_"};

// Words that only these libraries' kernels have, parameters of templates included.
constexpr std::string_view kLibraryWords[] = {"cublas", "cudnn", "cusparse", "cusolver", "at::native::", "at::cuda::"};

// Matrix products and convolutions of cuBLAS and cuDNN: "ampere_sgemm_128x64_nn", "sm80_xmma_fprop_implicit_gemm_...".
constexpr std::string_view kGenerations[] = {"kepler_", "maxwell_", "pascal_", "volta_",
                                             "turing_", "ampere_",  "hopper_", "blackwell_"};
constexpr std::string_view kGenerationWords[] = {"gemm", "conv", "winograd", "xmma"};

bool BeginsWithOneOf(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view one) { return name.starts_with(one); });
}
bool HasOneOf(std::string_view name, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view one) { return name.find(one) != std::string_view::npos; });
}

// "sm90_xmma_..."
bool IsXmma(std::string_view name) {
  if (!name.starts_with("sm")) return false;
  const size_t after = name.find_first_not_of("0123456789", 2);
  return after != std::string_view::npos && after > 2 && name.substr(after).starts_with("_xmma_");
}

// CUTLASS's kernels, which cuBLAS and cuDNN launch under names of their own
// ("cutlass::Kernel2<cutlass_80_tensorop_...>") and others as they are
// ("cutlass::Kernel<cutlass::gemm::kernel::Gemm<...> >"); its entry may be given somebody else's kernel too
// ("cutlass::device_kernel<mine::Attention>"). Their names are so long that they may come mangled and cut.
bool IsCutlass(std::string_view kernel) {
  constexpr std::string_view kMangled = "_ZN7cutlass";
  if (!kernel.starts_with(kMangled)) {
    const size_t argument = kernel.find('<');
    return kernel.starts_with("cutlass::") && argument != std::string_view::npos &&
           kernel.substr(argument + 1).starts_with("cutlass");
  }
  std::string_view rest = kernel.substr(kMangled.size());
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  size_t length = 0;
  std::from_chars(rest.data(), rest.data() + digits, length);
  rest.remove_prefix(std::min(digits + length, rest.size()));
  if (!rest.starts_with("I")) return false;
  rest.remove_prefix(1);
  if (rest.starts_with("NS_") || rest.starts_with("N7cutlass")) return true;
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
  return rest.starts_with("cutlass_");
}

bool IsOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether `word` is in the name with nothing of `not_after` before it and, if `whole`, as an identifier.
bool Tells(std::string_view name, std::string_view word, std::string_view not_after, bool whole) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (at > 0 && not_after.find(name[at - 1]) != std::string_view::npos) continue;
    if (whole && ((at > 0 && IsOfName(name[at - 1])) || (end < name.size() && IsOfName(name[end])))) continue;
    return true;
  }
  return false;
}

struct ArithmeticWord {
  std::string_view word, type;
  std::string_view not_after = {};
  bool whole = false;
};

// In lower case.
constexpr ArithmeticWord kArithmeticWords[] = {
    {"tf32", "tf32"},
    {"tfloat32", "tf32"},
    {"bf16", "bf16"},
    {"bfloat16", "bf16"},
    {"f16", "f16", "b"},
    {"fp16", "f16"},
    {"float16", "f16", "b"},
    {"h884", "f16"},
    {"h1688", "f16"},
    {"h16816", "f16"},
    {"hgemm", "f16"},
    {"hcudnn", "f16"},
    {"half", "f16", "", true},
    {"half_t", "f16", "", true},
    {"__half", "f16", "", true},
    {"__half2", "f16", "", true},
    {"e4m3", "f8"},
    {"e5m2", "f8"},
    {"fp8", "f8"},
    {"float8", "f8"},
    {"imma", "i8"},
    {"i8816", "i8"},
    {"i16832", "i8"},
};

// Products of this shape with sums in fp32 are of the type that the name tells beside, else of this one.
constexpr ArithmeticWord kShapes[] = {{"s884", "f16"}, {"s1688", "tf32"}, {"s16816", "f16"}, {"hmma", "f16"}};

// Of what cuBLAS calls "nvjet_", by the letter behind that.
constexpr ArithmeticWord kNvjets[] = {{"nvjet_h", "f16"}, {"nvjet_t", "bf16"}, {"nvjet_q", "f8"}, {"nvjet_o", "f8"}};

double Us(const json& kernel) { return kernel.at("us").get<double>(); }

}  // namespace

const char* KernelOriginName(KernelOrigin origin) {
  return origin == KernelOrigin::kCustom ? "custom" : origin == KernelOrigin::kLibrary ? "library" : "other";
}

std::string QualifiedName(std::string_view kernel) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string name(kernel.substr(0, kernel.find('<')));
  for (size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous)) {
    name.erase(at, kAnonymous.size());
  }
  return name;
}

KernelOrigin OriginOfKernel(const std::string& kernel, const std::set<std::string>& own) {
  if (kernel.empty()) return KernelOrigin::kOther;
  const std::string name = QualifiedName(kernel);
  if (own.contains(name)) return KernelOrigin::kCustom;
  const bool library = BeginsWithOneOf(name, kLibraryBeginnings) || HasOneOf(kernel, kLibraryWords) || IsXmma(name) ||
                       (BeginsWithOneOf(name, kGenerations) && HasOneOf(name, kGenerationWords)) || IsCutlass(kernel);
  return library ? KernelOrigin::kLibrary : KernelOrigin::kCustom;
}

std::vector<std::string> ArithmeticOfKernel(std::string_view kernel) {
  std::string name(kernel);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  std::set<std::string_view> told;
  const auto take = [&](std::span<const ArithmeticWord> words) {
    for (const ArithmeticWord& one : words) {
      if (Tells(name, one.word, one.not_after, one.whole)) told.insert(one.type);
    }
  };
  take(kArithmeticWords);
  if (told.empty()) take(kShapes);
  if (name.starts_with("nvjet_")) take(kNvjets);
  std::vector<std::string> types;
  for (const char* type : {"tf32", "bf16", "f16", "f8", "i8"}) {
    if (told.contains(type)) types.emplace_back(type);
  }
  return types;
}

json KernelAuthorship(const json& kernels, double span_us, const std::set<std::string>& own) {
  double all = 0;
  int64_t launches = 0;
  for (const json& kernel : kernels) {
    all += Us(kernel);
    launches += kernel.at("calls").get<int64_t>();
  }
  const auto share = [&](double us) { return all > 0 ? us / all : 0.0; };
  std::map<KernelOrigin, double> us;
  std::map<std::string, double> objects;
  json rows = json::array();
  std::set<std::string> arithmetic;
  for (const json& kernel : kernels) {
    const std::string name = kernel.at("name");
    const KernelOrigin origin = OriginOfKernel(name, own);
    us[origin] += Us(kernel);
    objects[name.empty() ? "other kernels" : name] += Us(kernel);
    for (std::string& type : ArithmeticOfKernel(name)) arithmetic.insert(std::move(type));
    json row = kernel;
    row["origin"] = KernelOriginName(origin);
    row["share"] = share(Us(kernel));
    rows.push_back(std::move(row));
  }
  const double custom = us[KernelOrigin::kCustom], library = us[KernelOrigin::kLibrary], both = custom + library;
  json out = {{"class", nullptr},
              {"custom", share(custom)},
              {"library", share(library)},
              {"python", 0.0},
              {"other", share(us[KernelOrigin::kOther])},
              {"samples", launches},
              {"by_object", json::array()},
              {"arithmetic", std::move(arithmetic)},
              {"kernels", std::move(rows)},
              {"kernels_span_us", span_us}};
  if (both > 0) {
    out["class"] = custom >= 0.9 * both ? "custom" : library >= 0.9 * both ? "library" : "mixed";
  } else {
    out["why"] = "no kernel ran on the GPU in the traced call";
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, time] : objects) sorted.emplace_back(time, name);
  std::sort(sorted.rbegin(), sorted.rend());
  sorted.resize(std::min(sorted.size(), kObjectsShown));
  for (const auto& [time, name] : sorted) out["by_object"].push_back({{"object", name}, {"share", share(time)}});
  return out;
}

}  // namespace kb
