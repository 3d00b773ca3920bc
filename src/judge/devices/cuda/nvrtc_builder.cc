// BuildWithNvrtc(): both halves of a split source at the same time, then one shared object of them.
#include <fmt/format.h>

#include "judge/devices/cuda/cuda_builder.h"
#include "judge/devices/cuda/cuda_split.h"
#include "judge/devices/cuda/nvcc.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = "candidate.cu";
constexpr const char* kHostHalf = "host.cc";
constexpr const char* kDeviceHalf = "device.cu";

// What nvcc passes on to the host's compiler.
std::vector<std::string> HostFlags() { return {"-O3", "-std=c++20", "-fPIC", "-fopenmp", "-Wno-psabi"}; }

// As nvcc's: contraction on, everything that fast mathematics would give up kept.
std::vector<std::string> DeviceFlags(const std::string& target) {
  return {"--gpu-architecture=" + target, "-std=c++20", "-lineinfo"};
}

// nvcc's own layout of a toolkit, or that of distributions.
std::vector<std::string> ToolkitDirectories(const fs::path& toolkit, const char* flag,
                                            std::initializer_list<const char*> names) {
  std::vector<std::string> flags;
  std::error_code ignored;
  for (const char* name : names) {
    if (fs::is_directory(toolkit / name, ignored)) flags.push_back(flag + (toolkit / name).string());
  }
  return flags;
}

// "sm_90a" of "arch=compute_90a,code=sm_90a".
std::string TargetOf(const std::string& capability) {
  const std::string gencode = GencodeOf(capability);
  return gencode.substr(gencode.rfind('=') + 1);
}

struct Tools {
  std::string host, nvrtc_program, fatbinary;
  fs::path nvrtc, toolkit, include;
};

// Both halves, each with a log of its own, then the link.
std::string Script(const Tools& tools, const CudaSplit& split, const std::string& target) {
  const auto includes = [&](const char* flag) {
    return ToolkitDirectories(tools.toolkit, flag, {"include", "include/cccl"});
  };
  const std::vector<std::string> host =
      Joined(Joined(Joined({tools.host}, HostFlags()), includes("-I")),
             {"-I" + tools.include.string(), "-fdiagnostics-color=never", "-c", kHostHalf, "-o", "host.o"});
  const std::vector<std::string> device =
      Joined(Joined(Joined(Joined({tools.nvrtc_program, tools.nvrtc.string(), kDeviceHalf, "image.cubin", "image.s"},
                                  split.kernels),
                           {"--"}),
                    DeviceFlags(target)),
             includes("-I"));
  const std::vector<std::string> embed = {
      tools.fatbinary, "-64", "--create=image.fatbin",
      fmt::format("--image3=kind=elf,sm={},file=image.cubin", target.substr(target.find('_') + 1))};
  const std::vector<std::string> link =
      Joined(Joined({tools.host, "-shared", "-fopenmp", "-Wl,--no-undefined", "host.o", "image.s"},
                    ToolkitDirectories(tools.toolkit, "-L", {"lib64", "lib", "targets/x86_64-linux/lib"})),
             {"-lcudart_static", "-lrt", "-lpthread", "-ldl", "-o", "candidate.so"});
  return fmt::format(
      "{{ {} && {}; }} >device.log 2>&1 & device=$!\n{} >host.log 2>&1; host=$?\nwait $device; device=$?\n"
      "cat host.log device.log; [ $host = 0 ] || exit $host; [ $device = 0 ] || exit $device\n{}\n",
      ShellCommand(device), ShellCommand(embed), ShellCommand(host), ShellCommand(link));
}

}  // namespace

Result<std::optional<BuildResult>> BuildWithNvrtc(const Builder& builder, const Candidate& candidate,
                                                  const CompilerIdentity& nvcc, const GpuBuildFacts& gpu,
                                                  const CompileLimits& limits) {
  const auto nvrtc = FindNvrtc(nvcc, gpu.nvrtc);
  const Tools tools{builder.compiler().command,
                    (builder.installation().libexec / "kb-nvrtc").string(),
                    (nvcc.toolkit / "bin" / "fatbinary").string(),
                    nvrtc.value_or(""),
                    nvcc.toolkit,
                    builder.installation().include};
  std::error_code ignored;
  if (!nvrtc || !fs::exists(tools.nvrtc_program, ignored) || !fs::exists(tools.fatbinary, ignored)) {
    return std::nullopt;
  }
  const CudaSplit split = SplitCuda(candidate.source, kSource);
  if (!split.refusal.empty()) return std::nullopt;
  const std::string target = TargetOf(gpu.capability);
  CompileJob job;
  job.sources = {{kHostHalf, split.host}, {kDeviceHalf, split.device}};
  job.script = Script(tools, split, target);
  job.output = "candidate.so";
  job.read_only = {builder.installation().include, builder.installation().libexec, nvrtc->parent_path()};
  for (const CompilerIdentity* compiler : {&nvcc, &builder.compiler()}) {
    job.read_only.insert(job.read_only.end(), compiler->paths.begin(), compiler->paths.end());
  }
  job.limits = limits;
  std::vector<std::string> contents = {nvcc.command,     nvcc.version, nvrtc->string(),
                                       builder.header(), split.host,   split.device};
  contents.insert(contents.end(), split.kernels.begin(), split.kernels.end());
  const std::string key = BuildKey(builder.compiler(), Joined(HostFlags(), DeviceFlags(target)), contents);
  const std::string compilers = fmt::format("NVRTC {} with {}", nvcc.release, builder.compiler().version);
  KB_ASSIGN_OR_RETURN(BuildResult result, builder.CompileCached(key, job, compilers));
  if (result.ok || !result.conclusive()) return result;
  return std::nullopt;  // nvcc says what is wrong, and has the last word
}

}  // namespace kb
