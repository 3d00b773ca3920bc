// From a candidate's source to what a runner can load. Builds hold no device and run in parallel.
#ifndef JUDGE_BUILD_BUILDER_H_
#define JUDGE_BUILD_BUILDER_H_

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "judge/build/build_cache.h"
#include "judge/build/compiler.h"
#include "judge/build/cuda_libraries.h"
#include "judge/build/extension_request.h"
#include "judge/candidate/candidate.h"
#include "judge/sandbox/sandbox.h"

namespace kb {

// Arguments of a command, one list after the other.
inline std::vector<std::string> Joined(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// What torch's headers and libraries need, told by the device process.
struct TorchBuildFacts {
  std::string version;
  std::vector<std::string> include_paths;
  std::string python_include;
  std::string library_path;
  std::string standard;    // "c++20"
  std::string capability;  // of the GPU that device code is built for: "9.0"; empty: the device is the CPU
};

// Of the GPU that a .cu candidate is built for, told by the device process.
struct GpuBuildFacts {
  std::string capability;        // as "9.0"
  std::filesystem::path nvrtc;   // PyTorch's, for want of one in the toolkit; may be empty
  CudaLibraries libraries = {};  // that candidates may be linked with
  bool with_nvcc_alone = false;  // for tests: also what could be built with NVRTC
};

// Of all that an artefact depends on, each field delimited.
std::string BuildKey(const CompilerIdentity& compiler, const std::vector<std::string>& flags,
                     const std::vector<std::string>& contents);
// "arch=compute_90a,code=sm_90a" for "9.0": with the instructions that only this architecture has.
std::string GencodeOf(const std::string& capability);

class Builder {
 public:
  // `cache_bytes`: what the cache may take; 0: no limit.
  static Result<Builder> Create(const Installation& installation, const Sandbox* sandbox, uint64_t cache_bytes = 0);

  // `gpu` is not used for others than .cu candidates. Those are built with NVRTC where that is certain to mean the same
  // (cuda_split.h), and with nvcc otherwise; what does not compile is always refused in nvcc's words.
  Result<BuildResult> BuildNative(const Candidate& candidate, const GpuBuildFacts& gpu,
                                  const CompileLimits& limits) const;
  // PyTorch's flags and semantics, with less of its headers where that will do (lean_headers.h); for flags that come
  // again the host part is precompiled.
  Result<BuildResult> BuildExtension(const ExtensionRequest& request, const TorchBuildFacts& torch,
                                     const CompileLimits& limits) const;

  // What a module compiles at its first call: `job` makes an archive of it, `identity` is all that it depends on.
  Result<BuildResult> FirstCall(const CompileJob& job, const std::vector<std::string>& identity) const;

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

  Result<BuildResult> BuildCuda(const Candidate& candidate, const GpuBuildFacts& gpu,
                                const CompileLimits& limits) const;
  // `more_flags`: beside those that every candidate gets.
  Result<BuildResult> BuildWithNvcc(const Candidate& candidate, const CompilerIdentity& nvcc, const GpuBuildFacts& gpu,
                                    const CompileLimits& limits, const std::vector<std::string>& more_flags) const;
  // No result: nvcc has to do it.
  Result<std::optional<BuildResult>> BuildWithNvrtc(const Candidate& candidate, const CompilerIdentity& nvcc,
                                                    const GpuBuildFacts& gpu, const CompileLimits& limits) const;
  // Sets `job->argv`: compiles `source` and links it. `command`: nvcc with all flags but those that say what to do.
  // What the job may read, and its limits, are set.
  Status PlanNvcc(const std::string& source, const std::vector<std::string>& command, CompileJob* job) const;
  // A shell script that does what `command`, an nvcc that compiles `source` in file `name`, would do: its host pass and
  // its device pass at the same time, where that is possible.
  Result<std::string> NvccScript(const std::string& name, const std::string& source,
                                 const std::vector<std::string>& command,
                                 const std::vector<std::filesystem::path>& read_only,
                                 const CompileLimits& limits) const;
  enum class Keep { kEverything, kSuccess };
  // `compiler`: as the result records it. What may not be kept is returned without an artefact.
  Result<BuildResult> CompileCached(const std::string& key, const CompileJob& job, const std::string& compiler,
                                    Keep keep = Keep::kEverything) const;
  // What an extension is built of, before its headers are chosen.
  struct ExtensionParts {
    const nlohmann::json* wanted;
    std::vector<std::string> host_flags, device_flags;
    std::string device_source;  // of load_inline
    CompilerIdentity nvcc;
  };
  // `lean`: as lean_headers.h makes it; empty: with all of PyTorch's headers.
  Result<CompileJob> ExtensionJob(const ExtensionParts& parts, const TorchBuildFacts& torch,
                                  const CompileLimits& limits, const std::filesystem::path& lean) const;
  // The precompiled torch/extension.h for these flags; nothing if there is none, and none is made.
  Result<std::optional<CacheEntry>> PrecompiledHeader(const std::vector<std::string>& flags,
                                                      const TorchBuildFacts& torch, const CompileLimits& limits,
                                                      const std::filesystem::path& lean, bool make) const;

  // Compilations of this engine by key: equal ones one after the other, so that the later find what the first made.
  struct InFlight {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<std::mutex>> keys;
    std::shared_ptr<std::mutex> Of(const std::string& key);
  };

  Installation installation_;
  const Sandbox* sandbox_;
  BuildCache cache_;
  CompilerIdentity compiler_;
  std::string header_;  // contents of kernel.h: part of every native key
  std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>();
};

}  // namespace kb

#endif  // JUDGE_BUILD_BUILDER_H_
