// How long does a native CUDA candidate take to build, the way the engine builds it: by NVRTC and g++ where its source
// allows that, and by nvcc alone? No GPU is needed. Nothing is found in a cache: each build gets an empty one.
//
//   kb_native_build_bench [--without-nvcc] CANDIDATE.cu...
//
// --without-nvcc: not by nvcc alone.
// KERNELBENCH_NVRTC: PyTorch's libnvrtc, used where the toolkit has none. Without either there is nothing to compare.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "judge/devices/cuda/cuda_builder.h"
#include "judge/sandbox/sandbox.h"

namespace kb {
namespace {

constexpr int kRepetitions = 5;
constexpr char kCapability[] = "9.0";

struct Times {
  std::string compiler;         // with its version
  std::vector<double> seconds;  // ascending, by this program's clock: with the sandbox and what is done for the cache
  double Median() const { return seconds[seconds.size() / 2]; }
  std::string Text() const {
    return fmt::format("{:.2f} ({:.2f} to {:.2f})", Median(), seconds.front(), seconds.back());
  }
};

Result<Times> BuildTimes(const Candidate& candidate, const Installation& installation, const Sandbox& sandbox,
                         bool with_nvcc_alone) {
  const char* nvrtc = std::getenv("KERNELBENCH_NVRTC");
  const GpuBuildFacts gpu{
      .capability = kCapability, .nvrtc = nvrtc == nullptr ? "" : nvrtc, .with_nvcc_alone = with_nvcc_alone};
  Times times;
  for (int i = 0; i < kRepetitions; ++i) {
    KB_ASSIGN_OR_RETURN(const TempDir cache, TempDir::Create("native-build-bench"));
    setenv("KERNELBENCH_CACHE", cache.path().c_str(), 1);
    KB_ASSIGN_OR_RETURN(const Builder builder, Builder::Create(installation, &sandbox));
    const auto start = std::chrono::steady_clock::now();
    KB_ASSIGN_OR_RETURN(const BuildResult built, BuildCuda(builder, candidate, gpu, {}));
    times.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!built.ok || built.cached) {
      return Fail(ErrorCode::kUsage, fmt::format("{} was not built: {}", candidate.path.string(), built.log));
    }
    times.compiler = built.compiler;
  }
  std::sort(times.seconds.begin(), times.seconds.end());
  return times;
}

Result<void> Measure(const std::vector<std::string>& paths, bool with_nvcc) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const Sandbox sandbox, Sandbox::Create(installation, Isolation::kNamespaces));
  fmt::print("{} cores, for compute capability {}; seconds of a build, median (least to largest) of {}\n\n",
             std::thread::hardware_concurrency(), kCapability, kRepetitions);
  fmt::print("| candidate | the engine's choice | s |{}\n|---|---|---|{}\n", with_nvcc ? " nvcc alone, s |" : "",
             with_nvcc ? "---|" : "");
  std::vector<double> medians;
  for (const std::string& path : paths) {
    KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(path));
    const Candidate candidate{.path = path, .kind = CandidateKind::kNative, .source = source};
    KB_ASSIGN_OR_RETURN(const Times chosen, BuildTimes(candidate, installation, sandbox, false));
    fmt::print("| {} | {} | {} |", path, chosen.compiler, chosen.Text());
    if (with_nvcc) {
      KB_ASSIGN_OR_RETURN(const Times nvcc, BuildTimes(candidate, installation, sandbox, true));
      fmt::print(" {} |", nvcc.Text());
    }
    fmt::print("\n");
    std::fflush(stdout);
    medians.push_back(chosen.Median());
  }
  std::sort(medians.begin(), medians.end());
  fmt::print("\n{} candidates: half of them within {:.2f} s, all within {:.2f}\n", medians.size(),
             medians[(medians.size() - 1) / 2], medians.back());
  return {};
}

}  // namespace
}  // namespace kb

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  const bool without_nvcc = !paths.empty() && paths.front() == "--without-nvcc";
  if (without_nvcc) paths.erase(paths.begin());
  if (paths.empty() || paths.front().starts_with("-")) {
    fmt::print(stderr, "usage: kb_native_build_bench [--without-nvcc] CANDIDATE.cu...\n");
    return 2;
  }
  const auto measured = kb::Measure(paths, !without_nvcc);
  if (measured) return 0;
  fmt::print(stderr, "kb_native_build_bench: {}\n", measured.error().message);
  return measured.error().code == kb::ErrorCode::kUsage ? 2 : 3;
}
