// Builder::BuildExtension(): what load_inline or load would build, with PyTorch's flags and semantics.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>

#include "base/hash.h"
#include "judge/compile/builder.h"
#include "judge/compile/lean_headers.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Of `load`: its files lie in a folder of their own, and each source is compiled by itself.
constexpr const char* kFiles = "files/";

}  // namespace

std::vector<std::string> StringsOf(const json& list) {
  std::vector<std::string> strings;
  for (const json& item : list) strings.push_back(item.get<std::string>());
  return strings;
}

bool IsOfFiles(const json& wanted) { return !wanted.at("files").empty(); }

std::string NameFlag(const json& wanted) { return "-DTORCH_EXTENSION_NAME=" + wanted.at("name").get<std::string>(); }

// Those that are no absolute paths are folders among the files.
std::vector<std::string> IncludeFlags(const json& wanted) {
  std::vector<std::string> flags;
  for (const std::string& path : StringsOf(wanted.at("include_paths"))) {
    flags.push_back((IsOfFiles(wanted) && !path.starts_with('/') ? std::string("-I") + kFiles : "-I") + path);
  }
  return flags;
}

namespace {

constexpr const char* kPrecompiledName = "kb_torch_extension.h";
constexpr const char* kDeviceSource = "kernels.cu";

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
  for (const std::string& part : StringsOf(request.at("cpp"))) source += part + "\n";
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

std::vector<std::string> FileSources(const json& wanted, const char* part) {
  std::vector<std::string> sources = StringsOf(wanted.at(part));
  for (std::string& source : sources) source.insert(0, kFiles);
  return sources;
}

std::vector<fs::path> TorchPaths(const TorchBuildFacts& torch, const CompilerIdentity& compiler) {
  std::vector<fs::path> paths(torch.include_paths.begin(), torch.include_paths.end());
  paths.insert(paths.end(), compiler.paths.begin(), compiler.paths.end());
  paths.insert(paths.end(), {torch.python_include, torch.library_path});
  return paths;
}

// PyTorch's flags for the host part. Warnings are the candidate's affair.
std::vector<std::string> HostFlags(const json& wanted, const TorchBuildFacts& torch, const std::string& toolkit) {
  std::vector<std::string> flags = {"-DTORCH_API_INCLUDE_EXTENSION_H"};
  for (const std::string& path : torch.include_paths) flags.insert(flags.end(), {"-isystem", path});
  if (!toolkit.empty()) flags.insert(flags.end(), {"-isystem", toolkit + "/include"});
  flags.insert(flags.end(),
               {"-isystem", torch.python_include, "-fPIC", "-std=" + torch.standard, "-fdiagnostics-color=never"});
  for (const std::string& flag : StringsOf(wanted.at("cflags"))) flags.push_back(flag);
  if (IsOfFiles(wanted)) flags.push_back(NameFlag(wanted));
  return Joined(flags, IncludeFlags(wanted));
}

}  // namespace

Result<std::optional<CacheEntry>> Builder::PrecompiledHeader(const std::vector<std::string>& flags,
                                                             const TorchBuildFacts& torch, const CompileLimits& limits,
                                                             const fs::path& lean, bool make) const {
  const std::string key = BuildKey(compiler_, flags, {"precompiled header", torch.version, torch.library_path});
  const std::string name = "pch-" + key.substr(0, 32), compiled_header = std::string(kPrecompiledName) + ".gch";
  if (!sandbox_->CheckReadable({cache_.directory()})) return std::nullopt;
  if (auto held = cache_.Hold(name, compiled_header)) return held;
  if (!make) return std::nullopt;
  // It takes twice as long as compiling an extension without it, so it is made when flags come a second time.
  const fs::path seen = cache_.directory() / (name + ".seen");
  const Fd first(::open(seen.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (first.valid()) return std::nullopt;
  // Only one process precompiles, and the others do without; the lock goes with its holder, so a killed engine leaves
  // none behind.
  const Fd lock(::open(seen.c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.valid() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  if (auto held = cache_.Hold(name, compiled_header)) return held;
  const std::string header = "#pragma once\n#include <torch/extension.h>\n";
  CompileJob job;
  job.sources = {{kPrecompiledName, header}};
  job.argv = {compiler_.command};
  job.argv.insert(job.argv.end(), flags.begin(), flags.end());
  job.argv.insert(job.argv.end(), {"-x", "c++-header", kPrecompiledName, "-o", "out.gch"});
  job.output = "out.gch";
  job.read_only = TorchPaths(torch, compiler_);
  if (!lean.empty()) job.read_only.push_back(lean);
  job.limits = limits;
  job.limits.output_bytes = uint64_t{1} << 30;
  KB_ASSIGN_OR_RETURN(const Compiled compiled, Compile(*sandbox_, job));
  if (!compiled.ok) return std::nullopt;
  return cache_.Keep(name, {{compiled_header, compiled.output}, {kPrecompiledName, header}});
}

Result<CompileJob> Builder::ExtensionJob(const ExtensionParts& parts, const TorchBuildFacts& torch,
                                         const CompileLimits& limits, const fs::path& lean) const {
  const json& wanted = *parts.wanted;
  const auto searched_first = [&](const char* part) {
    return lean.empty() ? std::vector<std::string>() : std::vector<std::string>{"-I" + (lean / part).string()};
  };
  const std::vector<std::string> host_flags = Joined(searched_first("host"), parts.host_flags);
  std::optional<CacheEntry> precompiled;
  if (wanted.at("implicit_headers")) {
    const bool make = parts.device.source.empty();  // nvcc takes longer than the host part anyway
    KB_ASSIGN_OR_RETURN(precompiled, PrecompiledHeader(host_flags, torch, limits, lean, make));
  }
  CompileJob job;
  if (IsOfFiles(wanted)) {
    for (const auto& [name, text] : wanted.at("files").items()) job.sources.emplace_back(kFiles + name, text);
  } else {
    job.sources = {{"extension.cpp", ExtensionSource(wanted, precompiled.has_value())}};
  }
  job.read_only = TorchPaths(torch, compiler_);
  job.read_only.insert(job.read_only.end(), parts.device.compiler.paths.begin(), parts.device.compiler.paths.end());
  job.read_only.insert(job.read_only.end(), parts.device.read_only.begin(), parts.device.read_only.end());
  if (!lean.empty()) job.read_only.push_back(lean);
  std::vector<std::string> host = Joined({compiler_.command}, host_flags);
  if (precompiled) {
    host.push_back("-I" + precompiled->folder.string());
    job.read_only.push_back(precompiled->folder);
    job.hold = precompiled->hold;
  }
  job.output = "extension.so";
  job.limits = limits;
  const std::vector<std::string> libraries =
      Joined(StringsOf(wanted.at("ldflags")),
             {"-L" + torch.library_path, "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"});
  const std::vector<std::string> device_libraries = Joined(libraries, parts.device.libraries);
  if (IsOfFiles(wanted)) {
    std::vector<std::string> units = FileSources(wanted, "cpp");
    for (const std::string& source : FileSources(wanted, "cuda")) {
      const std::string object = fmt::format("kernels{}.o", units.size());
      job.script += ShellCommand(
          Joined(Joined({parts.device.compiler.command}, parts.device.flags), {"-c", source, "-o", object}));
      job.script += " || exit $?\n";
      units.push_back(object);
    }
    const std::vector<std::string> link = Joined(Joined(host, units), {"-shared", "-o", "extension.so"});
    job.script += ShellCommand(Joined(link, wanted.at("cuda").empty() ? libraries : device_libraries)) + "\n";
    return job;
  }
  if (parts.device.source.empty()) {
    job.argv = Joined(Joined(host, {"extension.cpp", "-shared", "-o", "extension.so"}), libraries);
    return job;
  }
  const std::vector<std::string> device =
      Joined(Joined({parts.device.compiler.command}, Joined(searched_first("device"), parts.device.flags)),
             {"-c", kDeviceSource, "-o", "kernels.o"});
  KB_ASSIGN_OR_RETURN(
      const std::string device_script,
      parts.device.script(*sandbox_, kDeviceSource, parts.device.source, device, job.read_only, limits));
  const std::vector<std::string> link =
      Joined({compiler_.command, "extension.o", "kernels.o", "-shared", "-o", "extension.so"}, device_libraries);
  job.sources.emplace_back(kDeviceSource, parts.device.source);
  job.script = fmt::format(
      "{} >extension.log 2>&1 & extension=$!\n( {} ); kernels=$?\n"
      "[ $kernels = 0 ] || {{ kill $extension; exit $kernels; }}\n"
      "wait $extension; extension=$?\ncat extension.log; [ $extension = 0 ] || exit $extension\n{}\n",
      ShellCommand(Joined(host, {"-c", "extension.cpp", "-o", "extension.o"})), device_script, ShellCommand(link));
  return job;
}

Result<BuildResult> Builder::BuildExtension(const ExtensionRequest& request, const TorchBuildFacts& torch,
                                            const CompileLimits& limits) const {
  const json& wanted = request.description;
  const bool has_device_part = !wanted.at("cuda").empty();
  if (has_device_part && torch.device->extension_part == nullptr) {
    BuildResult refused;
    refused.log = IsOfFiles(wanted) ? "load of .cu files needs a CUDA device; this device is cpu"
                                    : "load_inline with cuda_sources needs a CUDA device; this device is cpu";
    return refused;
  }
  ExtensionParts parts{.wanted = &wanted};
  if (has_device_part) {
    KB_ASSIGN_OR_RETURN(parts.device, torch.device->extension_part(wanted, torch, compiler_.command));
  }
  parts.host_flags = HostFlags(wanted, torch, parts.device.compiler.toolkit.string());
  std::vector<std::string> contents = {torch.version, torch.library_path, ExtensionSource(wanted, false),
                                       wanted.at("ldflags").dump()};
  if (IsOfFiles(wanted)) {
    for (const char* part : {"files", "cpp", "cuda"}) contents.push_back(wanted.at(part).dump());
  }
  if (has_device_part)
    contents.insert(contents.end(),
                    {parts.device.compiler.command, parts.device.compiler.version, parts.device.source});
  contents = Joined(std::move(contents), parts.device.states);
  const std::string key = BuildKey(compiler_, Joined(parts.host_flags, parts.device.flags), contents);
  const std::string& compiler = has_device_part ? parts.device.compiler.version : compiler_.version;
  if (auto found = cache_.Find(key)) return *found;

  if (MayDoWithLess(wanted) && sandbox_->CheckReadable({cache_.directory()})) {
    KB_ASSIGN_OR_RETURN(const CacheEntry lean, LeanHeaders(cache_));
    KB_ASSIGN_OR_RETURN(const CompileJob job, ExtensionJob(parts, torch, limits, lean.folder));
    KB_ASSIGN_OR_RETURN(const BuildResult built, CompileCached(key, job, compiler, Keep::kSuccess));
    if (built.ok || !built.conclusive()) return built;  // the whole takes more of all
  }
  KB_ASSIGN_OR_RETURN(const CompileJob job, ExtensionJob(parts, torch, limits, {}));
  return CompileCached(key, job, compiler);
}

}  // namespace kb
