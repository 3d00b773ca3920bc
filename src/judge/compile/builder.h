// From a candidate's source to what a runner can load. Builds hold no device and run in parallel.
#ifndef JUDGE_COMPILE_BUILDER_H_
#define JUDGE_COMPILE_BUILDER_H_

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
#include "judge/candidate/candidate.h"
#include "judge/compile/build_cache.h"
#include "judge/compile/compiler.h"
#include "judge/compile/extension_request.h"
#include "judge/devices/device_kind.h"
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
  std::string capability;  // of the GPU that device code is built for: "9.0"
  const DeviceKind* device = nullptr;
  std::map<std::string, ops::BuildFacts::Library> libraries;  // as BuildFacts
};

// What the part of an extension that runs on a device of its own is compiled with.
struct DevicePart {
  CompilerIdentity compiler;
  std::vector<std::string> flags, libraries;
  std::string source;  // of load_inline; empty: there is none, or files have it
  // What it reads beside the compiler's files, and what tells whether that has changed.
  std::vector<std::filesystem::path> read_only;
  std::vector<std::string> states;
  // A shell script that does what `command` would do, which compiles `source` in file `name`.
  Result<std::string> (*script)(const Sandbox& sandbox, const std::string& name, const std::string& source,
                                const std::vector<std::string>& command,
                                const std::vector<std::filesystem::path>& read_only,
                                const CompileLimits& limits) = nullptr;
};

// Of all that an artefact depends on, each field delimited.
std::string BuildKey(const CompilerIdentity& compiler, const std::vector<std::string>& flags,
                     const std::vector<std::string>& contents);
// Of an extension that is asked for: its list of that name, and what of it each compiler is told.
std::vector<std::string> StringsOf(const nlohmann::json& list);
std::vector<std::string> IncludeFlags(const nlohmann::json& wanted);
std::string NameFlag(const nlohmann::json& wanted);
bool IsOfFiles(const nlohmann::json& wanted);  // of `load`

class Builder {
 public:
  // `cache_bytes`: what the cache may take; 0: no limit.
  static Result<Builder> Create(const Installation& installation, const Sandbox* sandbox, uint64_t cache_bytes = 0);

  // As the kind of device does that the candidate is written for. `facts`: of the device, unless that is the host.
  Result<BuildResult> BuildNative(const Candidate& candidate, const ops::DeviceFacts& facts,
                                  const CompileLimits& limits) const {
    return KindOfSource(candidate.path)->build(*this, candidate, facts, limits);
  }
  // PyTorch's flags and semantics, with less of its headers where that will do (lean_headers.h); for flags that come
  // again the host part is precompiled.
  Result<BuildResult> BuildExtension(const ExtensionRequest& request, const TorchBuildFacts& torch,
                                     const CompileLimits& limits) const;

  // What a module compiles at its first call: `job` makes an archive of it, `identity` is all that it depends on.
  Result<BuildResult> FirstCall(const CompileJob& job, const std::vector<std::string>& identity) const;

  const CompilerIdentity& compiler() const { return compiler_; }
  const BuildCache& cache() const { return cache_; }
  const Installation& installation() const { return installation_; }
  const Sandbox& sandbox() const { return *sandbox_; }
  const std::string& header() const { return header_; }

  enum class Keep { kEverything, kSuccess };
  // `compiler`: as the result records it. What may not be kept is returned without an artefact.
  Result<BuildResult> CompileCached(const std::string& key, const CompileJob& job, const std::string& compiler,
                                    Keep keep = Keep::kEverything) const;

 private:
  Builder(Installation installation, const Sandbox* sandbox, BuildCache cache, CompilerIdentity compiler,
          std::string header)
      : installation_(std::move(installation)),
        sandbox_(sandbox),
        cache_(std::move(cache)),
        compiler_(std::move(compiler)),
        header_(std::move(header)) {}

  // What an extension is built of, before its headers are chosen.
  struct ExtensionParts {
    const nlohmann::json* wanted;
    std::vector<std::string> host_flags;
    DevicePart device;
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

#endif  // JUDGE_COMPILE_BUILDER_H_
