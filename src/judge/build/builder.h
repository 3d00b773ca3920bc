// From a candidate's source to what a runner can load. Builds hold no device and run in parallel.
#ifndef JUDGE_BUILD_BUILDER_H_
#define JUDGE_BUILD_BUILDER_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "judge/build/build_cache.h"
#include "judge/build/compiler.h"
#include "judge/build/extension_request.h"
#include "judge/candidate/candidate.h"
#include "judge/sandbox/sandbox.h"

namespace kb {

// What torch's headers and libraries need, told by the device process.
struct TorchBuildFacts {
  std::string version;
  std::vector<std::string> include_paths;
  std::string python_include;
  std::string library_path;
  std::string standard;    // "c++20"
  std::string capability;  // of the GPU that device code is built for: "9.0"; empty: the device is the CPU
};

// Of all that an artefact depends on, each field delimited.
std::string BuildKey(const CompilerIdentity& compiler, const std::vector<std::string>& flags,
                     const std::vector<std::string>& contents);
// "arch=compute_90a,code=sm_90a" for "9.0": with the instructions that only this architecture has.
std::string GencodeOf(const std::string& capability);

class Builder {
 public:
  static Result<Builder> Create(const Installation& installation, const Sandbox* sandbox);

  // `capability`: of the GPU that a .cu candidate is built for, as "9.0"; not used for others.
  Result<BuildResult> BuildNative(const Candidate& candidate, const std::string& capability,
                                  const CompileLimits& limits) const;
  // PyTorch's flags and semantics; the host part of its headers is precompiled once for each set of flags.
  Result<BuildResult> BuildExtension(const ExtensionRequest& request, const TorchBuildFacts& torch,
                                     const CompileLimits& limits) const;

  const CompilerIdentity& compiler() const { return compiler_; }
  const BuildCache& cache() const { return cache_; }

 private:
  Builder(Installation installation, const Sandbox* sandbox, BuildCache cache, CompilerIdentity compiler,
          std::string header)
      : installation_(std::move(installation)),
        sandbox_(sandbox),
        cache_(std::move(cache)),
        compiler_(std::move(compiler)),
        header_(std::move(header)) {}

  Result<BuildResult> BuildCuda(const Candidate& candidate, const std::string& capability,
                                const CompileLimits& limits) const;
  Result<std::string> DeviceScript(const std::string& source, const std::vector<std::string>& command,
                                   const std::vector<std::filesystem::path>& read_only,
                                   const CompileLimits& limits) const;
  Result<BuildResult> CompileCached(const std::string& key, const CompileJob& job) const;
  // Directory that holds the precompiled torch/extension.h for these flags; empty if it cannot be precompiled.
  Result<std::filesystem::path> PrecompiledHeader(const std::vector<std::string>& flags, const TorchBuildFacts& torch,
                                                  const CompileLimits& limits) const;

  Installation installation_;
  const Sandbox* sandbox_;
  BuildCache cache_;
  CompilerIdentity compiler_;
  std::string header_;  // contents of kernel.h: part of every native key
};

}  // namespace kb

#endif  // JUDGE_BUILD_BUILDER_H_
