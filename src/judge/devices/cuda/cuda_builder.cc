#include "judge/devices/cuda/cuda_builder.h"

#include <fmt/format.h>

#include "judge/devices/cuda/nvcc.h"

namespace kb {
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
      *missing += fmt::format(
          "\nkernelbench: no {} for .cu candidates was found on this machine (docs/reference/gpu.md)\n", name);
      continue;
    }
    const CudaLibrary& library = found->second;
    flags.insert(flags.end(), {"-isystem", library.include});
    if (library.files.empty()) flags.emplace_back("--expt-relaxed-constexpr");
    states->push_back(StateOf(name, library));
    read_only->push_back(library.include);
    for (const std::filesystem::path file : library.files) {
      flags.insert(flags.end(), {"-Xlinker", file, "-Xlinker", "-rpath=" + file.parent_path().string()});
      read_only->push_back(file.parent_path());
    }
  }
  return flags;
}

// Sets `job->script`: compiles `source` and links it. `command`: nvcc with all flags but those that say what to do.
// What the job may read, and its limits, are set.
Status PlanNvcc(const Builder& builder, const std::string& source, const std::vector<std::string>& command,
                CompileJob* job) {
  const std::vector<std::string> compile =
      Joined(command, {"-I" + builder.installation().include.string(), "-c", "candidate.cu", "-o", "candidate.o"});
  KB_ASSIGN_OR_RETURN(const std::string script,
                      NvccScript(builder.sandbox(), "candidate.cu", source, compile, job->read_only, job->limits));
  const std::vector<std::string> link = Joined(command, {"-shared", "candidate.o", "-o", "candidate.so"});
  job->script = fmt::format("( {} ) || exit $?\n{}\n", script, ShellCommand(link));
  return {};
}

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

// nvcc, for the one architecture that is there, with the instructions that only this one has.
// `more_flags`: beside those that every candidate gets.
Result<BuildResult> BuildWithNvcc(const Builder& builder, const Candidate& candidate, const CompilerIdentity& nvcc,
                                  const GpuBuildFacts& gpu, const CompileLimits& limits,
                                  const std::vector<std::string>& more_flags) {
  std::vector<std::string> flags = {"-O3",
                                    "-std=c++20",
                                    "-gencode",
                                    GencodeOf(gpu.capability),
                                    "-lineinfo",
                                    "--cudart=static",
                                    "-Xcompiler=-fPIC,-fopenmp",
                                    "-ccbin=" + builder.compiler().command};
  flags = Joined(std::move(flags), more_flags);
  CompileJob job;
  std::vector<std::string> contents = {nvcc.command, nvcc.version, builder.header(), candidate.source};
  std::string missing;
  flags = Joined(std::move(flags), LibraryFlags(candidate.source, gpu.libraries, &job.read_only, &contents, &missing));
  job.sources = {{"candidate.cu", candidate.source}};
  job.output = "candidate.so";
  job.read_only.push_back(builder.installation().include);
  for (const CompilerIdentity* compiler : {&nvcc, &builder.compiler()}) {
    job.read_only.insert(job.read_only.end(), compiler->paths.begin(), compiler->paths.end());
  }
  job.limits = limits;
  const std::string key = BuildKey(builder.compiler(), flags, contents);
  std::optional<BuildResult> built = builder.cache().Find(key);
  if (!built) {
    KB_RETURN_IF_ERROR(PlanNvcc(builder, candidate.source, Joined({nvcc.command}, flags), &job));
    KB_ASSIGN_OR_RETURN(built, builder.CompileCached(key, job, nvcc.version));
  }
  if (!built->ok) built->log += missing;
  return *std::move(built);
}

}  // namespace

Result<BuildResult> BuildCuda(const Builder& builder, const Candidate& candidate, const GpuBuildFacts& gpu,
                              const CompileLimits& limits) {
  KB_ASSIGN_OR_RETURN(const CompilerIdentity nvcc, FindCudaCompiler());
  if (!gpu.with_nvcc_alone) {
    KB_ASSIGN_OR_RETURN(std::optional<BuildResult> built, BuildWithNvrtc(builder, candidate, nvcc, gpu, limits));
    if (built) return *std::move(built);
  }
  if (UsesGroupsAlone(candidate.source)) {
    KB_ASSIGN_OR_RETURN(BuildResult built, BuildWithNvcc(builder, candidate, nvcc, gpu, limits, {kGroupsAlone}));
    if (built.ok || !built.conclusive()) return built;
  }
  return BuildWithNvcc(builder, candidate, nvcc, gpu, limits, {});
}

}  // namespace kb
