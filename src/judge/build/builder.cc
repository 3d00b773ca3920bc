#include "judge/build/builder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/hash.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPrecompiledName = "kb_torch_extension.h";

std::string KeyOf(const CompilerIdentity& compiler, const std::vector<std::string>& flags,
                  const std::vector<std::string>& contents) {
  Hasher hasher;
  hasher.Add("kernelbench build 1").Add(compiler.command).Add(compiler.version).Add(compiler.target);
  hasher.Add(std::to_string(flags.size()));
  for (const std::string& flag : flags) hasher.Add(flag);
  for (const std::string& text : contents) hasher.Add(text);
  return hasher.Hex();
}

std::vector<std::string> Strings(const json& list) {
  std::vector<std::string> strings;
  for (const json& item : list) strings.push_back(item.get<std::string>());
  return strings;
}

// What load_inline makes of its sources: an implicit header, the sources, one binding for each function.
std::string ExtensionSource(const json& request, bool precompiled) {
  std::string source;
  if (precompiled) {
    source += fmt::format("#include \"{}\"\n", kPrecompiledName);
  } else if (request.at("implicit_headers")) {
    source += "#include <torch/extension.h>\n";
  }
  source += fmt::format("#ifndef TORCH_EXTENSION_NAME\n#define TORCH_EXTENSION_NAME {}\n#endif\n",
                        request.at("name").get<std::string>());
  for (const std::string& part : Strings(request.at("cpp"))) source += part + "\n";
  const json& functions = request.at("functions");
  if (functions.empty()) return source;
  source += "PYBIND11_MODULE(TORCH_EXTENSION_NAME, kb_module) {\n";
  for (const auto& [name, documentation] : functions.items()) {
    const std::string target =
        request.at("error_handling") ? fmt::format("torch::wrap_pybind_function({})", name) : "&" + name;
    source += fmt::format("  kb_module.def(\"{}\", {}, {});\n", name, target, documentation.dump());
  }
  return source + "}\n";
}

std::vector<fs::path> TorchPaths(const TorchBuildFacts& torch, const CompilerIdentity& compiler) {
  std::vector<fs::path> paths(torch.include_paths.begin(), torch.include_paths.end());
  paths.insert(paths.end(), compiler.paths.begin(), compiler.paths.end());
  paths.insert(paths.end(), {torch.python_include, torch.library_path});
  return paths;
}

}  // namespace

Result<Builder> Builder::Create(const Installation& installation, const Sandbox* sandbox) {
  KB_ASSIGN_OR_RETURN(BuildCache cache, BuildCache::Open(CacheDirectory() / "builds"));
  KB_ASSIGN_OR_RETURN(CompilerIdentity compiler, FindCompiler());
  KB_ASSIGN_OR_RETURN(std::string header, ReadFile(installation.include / "kernelbench" / "kernel.h"));
  return Builder(installation, sandbox, std::move(cache), std::move(compiler), std::move(header));
}

Result<BuildResult> Builder::CompileCached(const std::string& key, const CompileJob& job) const {
  if (auto found = cache_.Find(key)) return *found;
  KB_ASSIGN_OR_RETURN(Compiled compiled, Compile(*sandbox_, job));
  if (compiled.killed) {  // may have been no fault of the source: once more, and never kept
    KB_ASSIGN_OR_RETURN(compiled, Compile(*sandbox_, job));
  }
  BuildResult result;
  result.ok = compiled.ok;
  result.killed = compiled.killed;
  result.timed_out = compiled.timed_out;
  result.log = compiled.log;
  result.seconds = compiled.seconds;
  return cache_.Put(key, std::move(result), compiled.output);
}

// nvcc, for the one architecture that is there, with the instructions that only this one has.
Result<BuildResult> Builder::BuildCuda(const Candidate& candidate, const std::string& capability,
                                       const CompileLimits& limits) const {
  KB_ASSIGN_OR_RETURN(const CompilerIdentity nvcc, FindCudaCompiler());
  std::string target;
  std::copy_if(capability.begin(), capability.end(), std::back_inserter(target), [](char c) { return c != '.'; });
  if (capability >= "9" || capability.size() > 3) target += "a";
  const std::vector<std::string> flags = {"-O3",
                                          "-std=c++20",
                                          "-gencode",
                                          fmt::format("arch=compute_{0},code=sm_{0}", target),
                                          "-lineinfo",
                                          "--cudart=static",
                                          "-shared",
                                          "-Xcompiler=-fPIC,-fopenmp",
                                          "-ccbin=" + compiler_.command};
  CompileJob job;
  job.sources = {{"candidate.cu", candidate.source}};
  job.argv = {nvcc.command};
  job.argv.insert(job.argv.end(), flags.begin(), flags.end());
  job.argv.insert(job.argv.end(), {"-I" + installation_.include.string(), "candidate.cu", "-o", "candidate.so"});
  job.output = "candidate.so";
  job.read_only = {installation_.include};
  for (const CompilerIdentity* compiler : {&nvcc, &compiler_}) {
    job.read_only.insert(job.read_only.end(), compiler->paths.begin(), compiler->paths.end());
  }
  job.limits = limits;
  return CompileCached(KeyOf(compiler_, flags, {nvcc.command, nvcc.version, header_, candidate.source}), job);
}

Result<BuildResult> Builder::BuildNative(const Candidate& candidate, const std::string& capability,
                                         const CompileLimits& limits) const {
  if (candidate.path.extension() == ".cu") return BuildCuda(candidate, capability, limits);
  const bool is_c = candidate.path.extension() == ".c";
  const std::string name = is_c ? "candidate.c" : "candidate.cpp";
  std::vector<std::string> flags = {is_c ? "-std=gnu17" : "-std=c++20",
                                    "-O3",
                                    "-march=native",
                                    "-ffp-contract=fast",
                                    "-fopenmp",
                                    "-fPIC",
                                    "-shared",
                                    "-Wall",
                                    "-fdiagnostics-color=never"};
  CompileJob job;
  job.sources = {{name, candidate.source}};
  job.argv = {compiler_.command};
  job.argv.insert(job.argv.end(), flags.begin(), flags.end());
  job.argv.insert(job.argv.end(), {"-I" + installation_.include.string(), name, "-o", "candidate.so"});
  if (is_c) job.argv.insert(job.argv.end() - 3, {"-x", "c"});
  job.output = "candidate.so";
  job.read_only = {installation_.include};
  job.read_only.insert(job.read_only.end(), compiler_.paths.begin(), compiler_.paths.end());
  job.limits = limits;
  return CompileCached(KeyOf(compiler_, flags, {header_, candidate.source}), job);
}

Result<fs::path> Builder::PrecompiledHeader(const std::vector<std::string>& flags, const TorchBuildFacts& torch,
                                            const CompileLimits& limits) const {
  const std::string key = KeyOf(compiler_, flags, {"precompiled header", torch.version, torch.library_path});
  const fs::path directory = cache_.directory() / ("pch-" + key.substr(0, 32));
  const fs::path compiled_header = directory / (std::string(kPrecompiledName) + ".gch");
  std::error_code error;
  if (fs::exists(compiled_header, error)) return directory;
  fs::create_directories(directory, error);
  // Only one process precompiles; the lock goes with its holder, so a killed engine leaves none behind.
  const Fd lock(::open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) return fs::path();
  if (fs::exists(compiled_header, error)) return directory;
  const std::string header = "#pragma once\n#include <torch/extension.h>\n";
  CompileJob job;
  job.sources = {{kPrecompiledName, header}};
  job.argv = {compiler_.command};
  job.argv.insert(job.argv.end(), flags.begin(), flags.end());
  job.argv.insert(job.argv.end(), {"-x", "c++-header", kPrecompiledName, "-o", "out.gch"});
  job.output = "out.gch";
  job.read_only = TorchPaths(torch, compiler_);
  job.limits = limits;
  job.limits.output_bytes = uint64_t{1} << 30;
  KB_ASSIGN_OR_RETURN(const Compiled compiled, Compile(*sandbox_, job));
  if (!compiled.ok) return fs::path();
  KB_RETURN_IF_ERROR(WriteFileAtomic(directory / kPrecompiledName, header));
  KB_RETURN_IF_ERROR(WriteFileAtomic(compiled_header, compiled.output));
  return directory;
}

Result<BuildResult> Builder::BuildExtension(const ExtensionRequest& request, const TorchBuildFacts& torch,
                                            const CompileLimits& limits) const {
  const json& wanted = request.description;
  if (!wanted.at("cuda").empty()) {
    BuildResult refused;
    refused.log = "load_inline with cuda_sources needs a CUDA device; this device is cpu";
    return refused;
  }
  std::vector<std::string> flags = {"-DTORCH_API_INCLUDE_EXTENSION_H"};
  for (const std::string& path : torch.include_paths) flags.insert(flags.end(), {"-isystem", path});
  flags.insert(flags.end(),
               {"-isystem", torch.python_include, "-fPIC", "-std=" + torch.standard, "-fdiagnostics-color=never"});
  for (const std::string& flag : Strings(wanted.at("cflags"))) flags.push_back(flag);
  for (const std::string& path : Strings(wanted.at("include_paths"))) flags.push_back("-I" + path);
  const std::string key =
      KeyOf(compiler_, flags,
            {torch.version, torch.library_path, ExtensionSource(wanted, false), wanted.at("ldflags").dump()});
  if (auto found = cache_.Find(key)) return *found;
  fs::path precompiled;
  if (wanted.at("implicit_headers")) {
    KB_ASSIGN_OR_RETURN(precompiled, PrecompiledHeader(flags, torch, limits));
  }
  CompileJob job;
  job.sources = {{"extension.cpp", ExtensionSource(wanted, !precompiled.empty())}};
  job.argv = {compiler_.command};
  job.argv.insert(job.argv.end(), flags.begin(), flags.end());
  job.read_only = TorchPaths(torch, compiler_);
  if (!precompiled.empty()) {
    job.argv.push_back("-I" + precompiled.string());
    job.read_only.push_back(precompiled);
  }
  job.argv.insert(job.argv.end(), {"extension.cpp", "-shared", "-o", "extension.so"});
  for (const std::string& flag : Strings(wanted.at("ldflags"))) job.argv.push_back(flag);
  job.argv.insert(job.argv.end(), {"-L" + torch.library_path, "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"});
  job.output = "extension.so";
  job.limits = limits;
  return CompileCached(key, job);
}

}  // namespace kb
