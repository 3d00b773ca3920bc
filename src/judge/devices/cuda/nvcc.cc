#include "judge/devices/cuda/nvcc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>

#include "base/hash.h"
#include "base/subprocess.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/devices/cuda/nvcc_passes.h"

namespace kb {
namespace {

// nvcc may be a script or a link to another place, so it is asked.
std::filesystem::path ToolkitOf(const std::string& nvcc, const std::vector<std::string>& environment) {
  SpawnOptions ask{.argv = {nvcc, "--dryrun", "-x", "cu", "-c", "/dev/null", "-o", "/dev/null"},
                   .environment = environment};
  const auto told = RunToEnd(ask, std::chrono::seconds(20));
  std::error_code ignored;
  if (told) {
    constexpr std::string_view kTop = "#$ TOP=";
    const size_t begin = told->output.find(kTop);
    if (begin != std::string::npos) {
      const size_t from = begin + kTop.size();
      return std::filesystem::weakly_canonical(told->output.substr(from, told->output.find('\n', from) - from),
                                               ignored);
    }
  }
  return std::filesystem::path(nvcc).parent_path().parent_path();
}

Result<CompilerIdentity> AskCudaCompilers(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    const std::vector<std::string> environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C"};
    SpawnOptions version{.argv = {place, "--version"}, .environment = environment};
    const auto told = RunToEnd(version, std::chrono::seconds(20));
    if (!told || !told->status.ok()) continue;
    CompilerIdentity identity;
    identity.command = place;
    const size_t release = told->output.find("release ");
    identity.version = "nvcc " + told->output.substr(release == std::string::npos ? 0 : release);
    identity.version = identity.version.substr(0, identity.version.find('\n'));
    if (release != std::string::npos) {
      const size_t number = release + std::string_view("release ").size();
      identity.release = told->output.substr(number, told->output.find_first_not_of("0123456789.", number) - number);
    }
    identity.toolkit = ToolkitOf(place, environment);
    identity.paths = PathsOf(place);
    if (!IsOfTheSystem(identity.toolkit)) identity.paths.push_back(identity.toolkit);
    return identity;
  }
  return Fail(ErrorCode::kUnavailable,
              "no CUDA compiler: nvcc is not in PATH; install the CUDA toolkit or set CUDA_HOME");
}

}  // namespace

Result<CompilerIdentity> FindCudaCompiler() {
  const char* home = std::getenv("CUDA_HOME");
  std::vector<std::string> places;
  if (home != nullptr && *home != '\0') places.push_back(std::string(home) + "/bin/nvcc");
  places.push_back(FindProgram("nvcc").value_or("nvcc"));
  places.emplace_back("/usr/local/cuda/bin/nvcc");
  // Asking takes as long as a tenth of a small build, and every build asks.
  static std::mutex mutex;
  static std::map<std::vector<std::string>, CompilerIdentity> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(places); found != known.end()) return found->second;
  auto asked = AskCudaCompilers(places);
  if (asked) known.emplace(places, *asked);
  return asked;
}

std::optional<std::filesystem::path> FindNvrtc(const CompilerIdentity& nvcc, const std::filesystem::path& offered) {
  if (nvcc.release.empty()) return std::nullopt;
  const std::string major = nvcc.release.substr(0, nvcc.release.find('.'));
  std::vector<std::filesystem::path> directories;
  for (const char* name : {"lib64", "lib", "targets/x86_64-linux/lib"}) directories.push_back(nvcc.toolkit / name);
  if (!offered.empty()) directories.push_back(offered.parent_path());
  for (const std::filesystem::path& directory : directories) {
    std::error_code ignored;
    const std::filesystem::path library = directory / ("libnvrtc.so." + major);
    // The library's name has no minor number, its companion's has.
    if (std::filesystem::exists(library, ignored) &&
        std::filesystem::exists(directory / ("libnvrtc-builtins.so." + nvcc.release), ignored)) {
      return library;
    }
  }
  return std::nullopt;
}

std::string GencodeOf(const std::string& capability) {
  std::string target;
  std::copy_if(capability.begin(), capability.end(), std::back_inserter(target), [](char c) { return c != '.'; });
  if (capability >= "9" || capability.size() > 3) target += "a";
  return fmt::format("arch=compute_{0},code=sm_{0}", target);
}

Result<std::string> NvccScript(const Sandbox& sandbox, const std::string& name, const std::string& source,
                               const std::vector<std::string>& command,
                               const std::vector<std::filesystem::path>& read_only, const CompileLimits& limits) {
  CompileJob job;
  job.sources = {{name, source}};
  const std::string dry_run = ShellCommand(Joined(command, {"--dryrun", "--keep"}));
  job.script = dry_run + " >plan.txt 2>&1";
  job.output = "plan.txt";
  job.read_only = read_only;
  job.limits = limits;
  KB_ASSIGN_OR_RETURN(const Compiled planned, Compile(sandbox, job));
  const auto script = planned.ok ? OverlappedPasses(planned.output, "kb_" + Sha256(source).substr(0, 32))
                                 : std::optional<std::string>();
  return script ? *script : ShellCommand(command) + "\n";
}

namespace {

using nlohmann::json;

bool NamesArchitecture(const std::string& flag) {
  return flag.find("arch") != std::string::npos || flag.starts_with("-code");
}

// PyTorch's flags for the device part, for the one architecture that is there unless the candidate names others.
std::vector<std::string> DeviceFlags(const json& wanted, const TorchBuildFacts& torch, const std::string& host) {
  std::vector<std::string> flags = {NameFlag(wanted),
                                    "-DTORCH_API_INCLUDE_EXTENSION_H",
                                    "-D__CUDA_NO_HALF_OPERATORS__",
                                    "-D__CUDA_NO_HALF_CONVERSIONS__",
                                    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
                                    "-D__CUDA_NO_HALF2_OPERATORS__",
                                    "--expt-relaxed-constexpr",
                                    "-Xcompiler=-fPIC",
                                    "-ccbin=" + host};
  for (const std::string& path : torch.include_paths) flags.insert(flags.end(), {"-isystem", path});
  flags.insert(flags.end(), {"-isystem", torch.python_include});
  flags = Joined(flags, IncludeFlags(wanted));
  const std::vector<std::string> own = StringsOf(wanted.at("cuda_cflags"));
  if (std::none_of(own.begin(), own.end(), NamesArchitecture)) {
    flags.insert(flags.end(), {"-gencode", GencodeOf(torch.capability)});
  }
  if (std::none_of(own.begin(), own.end(), [](const std::string& flag) { return flag.starts_with("-std="); })) {
    flags.push_back("-std=" + torch.standard);
  }
  flags.insert(flags.end(), own.begin(), own.end());
  return flags;
}

std::string DeviceSource(const json& request) {
  std::string source;
  if (request.at("implicit_headers")) {
    source += "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n";
  }
  for (const std::string& part : StringsOf(request.at("cuda"))) source += part + "\n";
  return source;
}

}  // namespace

Result<DevicePart> CudaExtensionPart(const json& wanted, const TorchBuildFacts& torch, const std::string& host) {
  if (torch.capability.empty()) {
    return Fail(ErrorCode::kUnavailable, "the device process has not said which instructions its GPU has");
  }
  DevicePart part{.script = NvccScript};
  KB_ASSIGN_OR_RETURN(part.compiler, FindCudaCompiler());
  part.flags = DeviceFlags(wanted, torch, host);
  part.libraries = {"-lc10_cuda", "-ltorch_cuda", "-L" + part.compiler.toolkit.string() + "/lib64", "-lcudart"};
  if (IsOfFiles(wanted)) return part;
  part.source = DeviceSource(wanted);
  const std::vector<std::string> included = LibrariesIncludedBy(part.source);
  for (const HeaderLibrary& library : HeaderLibraries()) {
    const auto found = torch.libraries.find(library.name);
    if (found == torch.libraries.end() || std::find(included.begin(), included.end(), library.name) == included.end())
      continue;
    part.flags.insert(part.flags.end(), {"-isystem", found->second.include});
    part.read_only.emplace_back(found->second.include);
    part.states.push_back(StateOf(library.name, found->second));
  }
  return part;
}

}  // namespace kb
