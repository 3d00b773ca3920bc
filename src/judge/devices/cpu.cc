// The CPU: candidates are C and C++, and their calls compute on the machine's own cores.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "base/cores.h"
#include "judge/compile/builder.h"
#include "judge/devices/kinds.h"

namespace kb {
namespace {

// The main thread may go where it likes, and so may threads that it starts. OpenMP's other threads have a core each.
std::string OpenMpPlaces() {
  const std::vector<int> cores = UsableCores();
  std::string places = fmt::format("{{{}}}", fmt::join(cores, ","));
  for (const int core : std::span(cores).subspan(1)) places += fmt::format(",{{{}}}", core);
  return places;
}

Result<FoundDevice> FindHost(int) {
  return FoundDevice{.kind = &Cpu(), .environment = {"OMP_PROC_BIND=true", "OMP_PLACES=" + OpenMpPlaces()}};
}

Result<BuildResult> BuildForHost(const Builder& builder, const Candidate& candidate, const ops::DeviceFacts&,
                                 const CompileLimits& limits) {
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
  const CompilerIdentity& compiler = builder.compiler();
  const std::filesystem::path& include = builder.installation().include;
  CompileJob job;
  job.sources = {{name, candidate.source}};
  job.argv = Joined({compiler.command}, flags);
  job.argv.insert(job.argv.end(), {"-I" + include.string(), name, "-o", "candidate.so"});
  if (is_c) job.argv.insert(job.argv.end() - 3, {"-x", "c"});
  job.output = "candidate.so";
  job.read_only = {include};
  job.read_only.insert(job.read_only.end(), compiler.paths.begin(), compiler.paths.end());
  job.limits = limits;
  return builder.CompileCached(BuildKey(compiler, flags, {builder.header(), candidate.source}), job, compiler.version);
}

}  // namespace

const DeviceKind& Cpu() {
  static const DeviceKind kCpu{.name = "cpu",
                               .writes = "a C++ candidate for the CPU",
                               .extensions = {".cpp", ".cc", ".cxx", ".c"},
                               .calibration = {.on_host = true,
                                               .device_bound_floor = 0.08,
                                               .hosts_differ = 0,
                                               .offset_share = 0.5,
                                               .launched_at_once_us = 0,
                                               .module_us = 0,
                                               .agreement = 0.05},
                               .find = FindHost,
                               .build = BuildForHost};
  return kCpu;
}

}  // namespace kb
