// How long does a native CUDA candidate take to build, the way the engine builds it: by NVRTC and g++ where its source
// allows that, and by nvcc alone? No GPU is needed. Nothing is found in a cache: each build gets an empty one.
//
//   kb_native_build_bench CANDIDATE.cu...
//
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
#include "judge/build/builder.h"
#include "judge/sandbox/sandbox.h"

namespace kb {
namespace {

constexpr int kRepetitions = 5;
constexpr char kCapability[] = "9.0";

struct Times {
  std::string compiler;         // with its version
  std::vector<double> seconds;  // ascending, by this program's clock: with the sandbox and what is done for the cache
  std::string Text() const {
    return fmt::format("{:.2f} ({:.2f} to {:.2f})", seconds[seconds.size() / 2], seconds.front(), seconds.back());
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
    KB_ASSIGN_OR_RETURN(const BuildResult built, builder.BuildNative(candidate, gpu, {}));
    times.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!built.ok || built.cached) {
      return Fail(ErrorCode::kUsage, fmt::format("{} was not built: {}", candidate.path.string(), built.log));
    }
    times.compiler = built.compiler;
  }
  std::sort(times.seconds.begin(), times.seconds.end());
  return times;
}

Result<void> Measure(const std::vector<std::string>& paths) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const Sandbox sandbox, Sandbox::Create(installation, Isolation::kNamespaces));
  fmt::print("{} cores, for compute capability {}; seconds of a build, median (least to largest) of {}\n\n",
             std::thread::hardware_concurrency(), kCapability, kRepetitions);
  fmt::print("| candidate | the engine's choice | s | nvcc alone, s |\n|---|---|---|---|\n");
  for (const std::string& path : paths) {
    KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(path));
    const Candidate candidate{.path = path, .kind = CandidateKind::kNative, .source = source};
    KB_ASSIGN_OR_RETURN(const Times chosen, BuildTimes(candidate, installation, sandbox, false));
    KB_ASSIGN_OR_RETURN(const Times nvcc, BuildTimes(candidate, installation, sandbox, true));
    fmt::print("| {} | {} | {} | {} |\n", path, chosen.compiler, chosen.Text(), nvcc.Text());
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace kb

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: kb_native_build_bench CANDIDATE.cu...\n");
    return 2;
  }
  const auto measured = kb::Measure({argv + 1, argv + argc});
  if (measured) return 0;
  fmt::print(stderr, "kb_native_build_bench: {}\n", measured.error().message);
  return measured.error().code == kb::ErrorCode::kUsage ? 2 : 3;
}
