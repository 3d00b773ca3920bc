#include "judge/build/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/hash.h"
#include "judge/build/nvcc_passes.h"

namespace kb {

std::string BuildKey(const CompilerIdentity& compiler, const std::vector<std::string>& flags,
                     const std::vector<std::string>& contents) {
  Hasher hasher;
  hasher.Add("kernelbench build 1").Add(compiler.command).Add(compiler.version).Add(compiler.target);
  hasher.Add(std::to_string(flags.size()));
  for (const std::string& flag : flags) hasher.Add(flag);
  for (const std::string& text : contents) hasher.Add(text);
  return hasher.Hex();
}

std::string GencodeOf(const std::string& capability) {
  std::string target;
  std::copy_if(capability.begin(), capability.end(), std::back_inserter(target), [](char c) { return c != '.'; });
  if (capability >= "9" || capability.size() > 3) target += "a";
  return fmt::format("arch=compute_{0},code=sm_{0}", target);
}

Result<Builder> Builder::Create(const Installation& installation, const Sandbox* sandbox, uint64_t cache_bytes) {
  KB_ASSIGN_OR_RETURN(BuildCache cache, BuildCache::Open(BuildCache::DefaultDirectory(), cache_bytes));
  KB_ASSIGN_OR_RETURN(CompilerIdentity compiler, FindCompiler());
  KB_ASSIGN_OR_RETURN(std::string header, ReadFile(installation.include / "kernelbench" / "kernel.h"));
  return Builder(installation, sandbox, std::move(cache), std::move(compiler), std::move(header));
}

std::shared_ptr<std::mutex> Builder::InFlight::Of(const std::string& key) {
  const std::lock_guard lock(mutex);
  std::weak_ptr<std::mutex>& known = keys[key];
  std::shared_ptr<std::mutex> one = known.lock();
  if (!one) known = one = std::make_shared<std::mutex>();
  std::erase_if(keys, [](const auto& each) { return each.second.expired(); });
  return one;
}

Result<BuildResult> Builder::CompileCached(const std::string& key, const CompileJob& job, const std::string& compiler,
                                           Keep keep) const {
  if (auto found = cache_.Find(key)) return *found;
  const std::shared_ptr<std::mutex> mine = in_flight_->Of(key);
  const std::lock_guard one_at_a_time(*mine);
  if (auto found = cache_.Find(key)) return *found;
  KB_ASSIGN_OR_RETURN(Compiled compiled, Compile(*sandbox_, job));
  for (int again = 0; compiled.killed && again < 3; ++again) {  // may be no fault of the source; never kept
    KB_ASSIGN_OR_RETURN(compiled, Compile(*sandbox_, job));
  }
  BuildResult result;
  result.compiler = compiler;
  result.ok = compiled.ok;
  result.killed = compiled.killed;
  result.timed_out = compiled.timed_out;
  result.out_of_memory = compiled.out_of_memory;
  result.log = compiled.log;
  result.seconds = compiled.seconds;
  if (!result.ok && keep == Keep::kSuccess) return result;
  return cache_.Put(key, std::move(result), compiled.output);
}

namespace {

// What nvcc is told so that the libraries whose headers a text includes are found, now and when it is loaded; and, in
// `missing`, a line for each that this machine does not have. `states` are what else the build depends on.
std::vector<std::string> LibraryFlags(std::string_view source, const CudaLibraries& libraries,
                                      std::vector<std::filesystem::path>* read_only, std::vector<std::string>* states,
                                      std::string* missing) {
  std::vector<std::string> flags;
  for (const std::string& name : LibrariesIncludedBy(source)) {
    const auto found = libraries.find(name);
    if (found == libraries.end()) {
      *missing +=
          fmt::format("\nkernelbench: no {} for .cu candidates was found on this machine (docs/gpu.md)\n", name);
      continue;
    }
    const CudaLibrary& library = found->second;
    flags.insert(flags.end(), {"-isystem", library.include});
    if (name == "cutlass") flags.emplace_back("--expt-relaxed-constexpr");
    states->push_back(StateOf(name, library));
    read_only->push_back(library.include);
    for (const std::filesystem::path file : library.files) {
      flags.insert(flags.end(), {"-Xlinker", file, "-Xlinker", "-rpath=" + file.parent_path().string()});
      read_only->push_back(file.parent_path());
    }
  }
  return flags;
}

}  // namespace

Result<std::string> Builder::NvccScript(const std::string& name, const std::string& source,
                                        const std::vector<std::string>& command,
                                        const std::vector<std::filesystem::path>& read_only,
                                        const CompileLimits& limits) const {
  CompileJob job;
  job.sources = {{name, source}};
  const std::string dry_run = ShellCommand(Joined(command, {"--dryrun", "--keep"}));
  job.script = dry_run + " >plan.txt 2>&1";
  job.output = "plan.txt";
  job.read_only = read_only;
  job.limits = limits;
  KB_ASSIGN_OR_RETURN(const Compiled planned, Compile(*sandbox_, job));
  const auto script = planned.ok ? OverlappedPasses(planned.output, "kb_" + Sha256(source).substr(0, 32))
                                 : std::optional<std::string>();
  return script ? *script : ShellCommand(command) + "\n";
}

Status Builder::PlanNvcc(const std::string& source, const std::vector<std::string>& command, CompileJob* job) const {
  const std::vector<std::string> compile =
      Joined(command, {"-I" + installation_.include.string(), "-c", "candidate.cu", "-o", "candidate.o"});
  KB_ASSIGN_OR_RETURN(const std::string script,
                      NvccScript("candidate.cu", source, compile, job->read_only, job->limits));
  const std::vector<std::string> link = Joined(command, {"-shared", "candidate.o", "-o", "candidate.so"});
  job->script = fmt::format("( {} ) || exit $?\n{}\n", script, ShellCommand(link));
  return {};
}

namespace {

// Cooperative groups read libcu++, which is two thirds of their time, for type traits that they have themselves.
// Without it a few functions are missing (those that update atomics), and the others compile to the same instructions,
// but for integers that their own traits do not know.
constexpr char kGroupsAlone[] = "-D_CG_LIMIT_INCLUDED_DEPENDENCIES";

// Whether a source includes cooperative groups, and nothing that reads libcu++ in any case or means something else
// without. What does not compile so is built whole.
bool UsesGroupsAlone(std::string_view source) {
  const auto has = [&](std::string_view text) { return source.find(text) != std::string_view::npos; };
  // Among these are those integers, such as int8_t.
  const bool others = has("char") || has("8_t") || has("__int128");
  return has("<cooperative_groups") && !others && !has("cuda::") && !has("<cuda/") && !has("<cub/") &&
         !has("<thrust/") && LibrariesIncludedBy(source).empty();
}

}  // namespace

// nvcc, for the one architecture that is there, with the instructions that only this one has.
Result<BuildResult> Builder::BuildWithNvcc(const Candidate& candidate, const CompilerIdentity& nvcc,
                                           const GpuBuildFacts& gpu, const CompileLimits& limits,
                                           const std::vector<std::string>& more_flags) const {
  std::vector<std::string> flags = {"-O3",
                                    "-std=c++20",
                                    "-gencode",
                                    GencodeOf(gpu.capability),
                                    "-lineinfo",
                                    "--cudart=static",
                                    "-Xcompiler=-fPIC,-fopenmp",
                                    "-ccbin=" + compiler_.command};
  flags = Joined(std::move(flags), more_flags);
  CompileJob job;
  std::vector<std::string> contents = {nvcc.command, nvcc.version, header_, candidate.source};
  std::string missing;
  flags = Joined(std::move(flags), LibraryFlags(candidate.source, gpu.libraries, &job.read_only, &contents, &missing));
  job.sources = {{"candidate.cu", candidate.source}};
  job.output = "candidate.so";
  job.read_only.push_back(installation_.include);
  for (const CompilerIdentity* compiler : {&nvcc, &compiler_}) {
    job.read_only.insert(job.read_only.end(), compiler->paths.begin(), compiler->paths.end());
  }
  job.limits = limits;
  const std::string key = BuildKey(compiler_, flags, contents);
  std::optional<BuildResult> built = cache_.Find(key);
  if (!built) {
    KB_RETURN_IF_ERROR(PlanNvcc(candidate.source, Joined({nvcc.command}, flags), &job));
    KB_ASSIGN_OR_RETURN(built, CompileCached(key, job, nvcc.version));
  }
  if (!built->ok) built->log += missing;
  return *std::move(built);
}

Result<BuildResult> Builder::BuildCuda(const Candidate& candidate, const GpuBuildFacts& gpu,
                                       const CompileLimits& limits) const {
  KB_ASSIGN_OR_RETURN(const CompilerIdentity nvcc, FindCudaCompiler());
  if (!gpu.with_nvcc_alone) {
    KB_ASSIGN_OR_RETURN(std::optional<BuildResult> built, BuildWithNvrtc(candidate, nvcc, gpu, limits));
    if (built) return *std::move(built);
  }
  if (UsesGroupsAlone(candidate.source)) {
    KB_ASSIGN_OR_RETURN(BuildResult built, BuildWithNvcc(candidate, nvcc, gpu, limits, {kGroupsAlone}));
    if (built.ok || !built.conclusive()) return built;
  }
  return BuildWithNvcc(candidate, nvcc, gpu, limits, {});
}

Result<BuildResult> Builder::BuildNative(const Candidate& candidate, const GpuBuildFacts& gpu,
                                         const CompileLimits& limits) const {
  if (candidate.path.extension() == ".cu") return BuildCuda(candidate, gpu, limits);
  const bool is_c = candidate.path.extension() == ".c";
  const std::string name = is_c ? "candidate.c" : "candidate.cpp";
  // errno and floating-point traps are given up as in PyTorch's own build (torch.__config__.show()): no value changes,
  // and without AVX-512 a loop that chooses between computed values could not be vectorised.
  std::vector<std::string> flags = {is_c ? "-std=gnu17" : "-std=c++20",
                                    "-O3",
                                    "-march=native",
                                    "-ffp-contract=fast",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
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
  return CompileCached(BuildKey(compiler_, flags, {header_, candidate.source}), job, compiler_.version);
}

Result<BuildResult> Builder::FirstCall(const CompileJob& job, const std::vector<std::string>& identity) const {
  return CompileCached(BuildKey(compiler_, job.argv, identity), job, "", Keep::kSuccess);
}

}  // namespace kb
