#include "judge/prepare/prepare.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <set>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "judge/backends.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/static/candidate_check.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr char kFirstCall[] = "first_call";
constexpr size_t kMostCompiledBytes = size_t{256} << 20;

// Only a module that names the machinery can use it: importing it a second time is not free.
bool UsesExtensions(const Candidate& candidate) {
  return candidate.source.find("load_inline") != std::string::npos ||
         candidate.source.find("cpp_extension") != std::string::npos;
}

// Whether "compile" is among the names of a "from ... import", one line or in parentheses.
bool ImportsCompile(std::string_view source) {
  constexpr std::string_view kImport = " import ";
  for (size_t at = source.find(kImport); at != std::string_view::npos; at = source.find(kImport, at + 1)) {
    const std::string_view names = source.substr(at + kImport.size());
    if (names.substr(0, names.find(names.starts_with('(') ? ')' : '\n')).find("compile") != std::string_view::npos)
      return true;
  }
  return false;
}

// A native candidate for a GPU is built for the one that there is, so the device process must have said which.
bool BuiltForItsDevice(const Candidate& candidate) {
  const DeviceKind* kind = KindOfSource(candidate.path);
  return kind != nullptr && !kind->on_host();
}

TorchBuildFacts TorchFactsOf(const ops::DeviceFacts& device, const DeviceKind* kind) {
  const ops::BuildFacts& build = device.build;
  return {build.version,
          build.include_paths,
          build.python_include,
          build.library_path,
          build.standard,
          device.compute_capability,
          kind,
          build.libraries};
}

// What a library does is not a candidate's own, and some protocols count nothing else. Empty: nothing to object to.
std::string RefusedLibraries(const Request& request) {
  const std::vector<std::string>& accepted = request.protocol.accept_authorship;
  const bool own_alone = accepted == std::vector<std::string>{"custom"};
  const std::vector<std::string> included = LibrariesIncludedBy(request.candidate.source);
  if (!own_alone || included.empty() || included == std::vector<std::string>{"cutlass"}) return "";
  return fmt::format("{} is not linked: the protocol accepts custom work alone (accept_authorship)\n",
                     fmt::join(included, " and "));
}

}  // namespace

bool CompilesWhenCalled(const Candidate& candidate) {
  const auto says = [&](const char* word) { return candidate.source.find(word) != std::string::npos; };
  return says(".compile") || ImportsCompile(candidate.source) || says("_dynamo") || says("inductor") ||
         says("triton") || says("tilelang");
}

std::string CompilerOutput(const Prepared& prepared) {
  constexpr size_t kMost = size_t{256} << 10;
  const std::string log = prepared.log + prepared.call_log;
  if (log.size() <= kMost) return log;
  return log.substr(0, kMost / 2) + "\n[... output cut ...]\n" + log.substr(log.size() - kMost / 2);
}

Result<std::unique_ptr<Preparer>> Preparer::Create(const Setup* setup, Services* services) {
  KB_ASSIGN_OR_RETURN(Builder builder,
                      Builder::Create(setup->installation, &setup->sandbox, Gigabytes(setup->options.cache_gb)));
  Fd turns(memfd_create("turns", MFD_CLOEXEC));
  if (!turns.valid()) return Fail(ErrorCode::kUnavailable, "cannot make a memory file: out of memory or descriptors");
  return std::unique_ptr<Preparer>(new Preparer(setup, services, std::move(builder), std::move(turns)));
}

Status Preparer::MakeReady(const Request& request) const {
  const Candidate& candidate = request.candidate;
  if (request.module() ? UsesExtensions(candidate) : BuiltForItsDevice(candidate)) {
    return services_->Ensure(request.module());
  }
  return {};
}

Result<Prepared> Preparer::Prepare(const Request& request) const {
  Sit(setup_->options.seating->Elsewhere());
  Prepared prepared{.request = request, .rejection = request.candidate.rejection};
  if (prepared.rejection.empty()) CheckText(&prepared);
  if (!prepared.rejection.empty()) return prepared;
  KB_RETURN_IF_ERROR(CheckNeeds(request));
  const int64_t start = NowNs();
  prepared.limits.left_ms = std::make_shared<std::atomic<int64_t>>(Seconds(request.protocol.build_timeout_s).count());
  prepared.limits.memory_bytes = Gigabytes(setup_->options.build_memory_gb);
  prepared.limits.slots = setup_->options.compilations;
  prepared.limits.seat = setup_->options.seating->Elsewhere();
  KB_RETURN_IF_ERROR(request.module() ? BuildExtensions(&prepared) : BuildNative(&prepared));
  prepared.us = static_cast<double>(NowNs() - start - *prepared.limits.waited_ns) / 1e3;
  return prepared;
}

// Static analysis: warnings become notes, the first error refuses the candidate.
void Preparer::CheckText(Prepared* prepared) const {
  const Request& request = prepared->request;
  if (!request.protocol.ChecksText()) return;
  const auto findings = StaticCheckCandidate(request.candidate, request.protocol);
  if (!findings.empty()) prepared->static_findings = StaticFindingsJson(findings);
  prepared->notes = StaticNotes(findings);
  if (const StaticFinding* error = FirstError(findings)) {
    prepared->rejection = StaticSentence(*error);
  }
}

// Before anything is built. Only who needs a package asks which Python there is.
Status Preparer::CheckNeeds(const Request& request) const {
  const Candidate& candidate = request.candidate;
  if (request.module() && (candidate.backend == "hip" || request.protocol.backend == "hip")) return NoHip();
  const std::vector<Package> packages = PackagesNeededBy(candidate);
  if (packages.empty()) return {};
  KB_ASSIGN_OR_RETURN(const PythonIdentity python, services_->FoundPython());
  return CheckPackages("the candidate", packages, python);
}

// The verdict is the same where a build was found in the cache.
BuildResult Preparer::Add(BuildResult result, Prepared* prepared) const {
  std::atomic<int64_t>& left_ms = *prepared->limits.left_ms;
  if (result.cached) left_ms -= static_cast<int64_t>(result.seconds * 1e3);
  result.timed_out |= left_ms < 0;
  result.ok &= !result.timed_out;
  prepared->failure = WhyNotBuilt(result, prepared->request.protocol);
  prepared->log += result.log;
  prepared->compiler = result.compiler;
  prepared->holds.push_back(result.hold);
  return result;
}

std::string Preparer::WhyNotBuilt(const BuildResult& result, const Protocol& protocol) const {
  if (result.ok) return "";
  if (result.timed_out)
    return fmt::format("what it has built did not end within {} s (build_timeout_s)", protocol.build_timeout_s);
  if (result.out_of_memory) {
    return fmt::format("the build ran out of the {} GB of memory that it may have; --build-memory-gb allows more",
                       setup_->options.build_memory_gb);
  }
  if (result.killed) return "a signal ended the compiler each time; evidence.compiler_output holds what it said";
  return fmt::format("the compiler refused it: {}; evidence.compiler_output holds what it said",
                     FirstErrorLine(result.log));
}

Status Preparer::BuildNative(Prepared* prepared) const {
  const Request& request = prepared->request;
  BuildResult result{.log = RefusedLibraries(request)};
  if (result.log.empty()) {
    ops::DeviceFacts facts;
    if (BuiltForItsDevice(request.candidate)) {
      KB_ASSIGN_OR_RETURN(facts, services_->Facts());
      KB_RETURN_IF_ERROR(CheckLibraries(request.candidate.source, facts.build.libraries));
    }
    KB_ASSIGN_OR_RETURN(result, builder_.BuildNative(request.candidate, facts, prepared->limits));
  }
  prepared->kernel = Add(std::move(result), prepared).artifact;
  return {};
}

// Without the GPU: others are timed there. What a module asks for only where there is one, its first call asks for.
Result<std::vector<ExtensionRequest>> Preparer::CaptureExtensions(const Request& request) const {
  KB_ASSIGN_OR_RETURN(std::string problem, TextOf(request.problem));
  const Seat elsewhere = setup_->options.seating->Elsewhere();
  const worker::Capture capture{
      .source = request.candidate.source,
      .problem = std::move(problem),
      .path = request.problem.path.string(),
      .size = request.size,
      .cores = elsewhere.cores,
      .nice = elsewhere.nice,
      .confinement = setup_->sandbox.ConfinementFor(Gigabytes(request.protocol.memory_gb), false)};
  const double timeout_s = std::min(request.protocol.LoadTimeout(), request.protocol.build_timeout_s);
  KB_ASSIGN_OR_RETURN(const std::shared_ptr<Zygote> zygote, services_->SharedZygote());
  const std::lock_guard lock(capturing_);
  KB_ASSIGN_OR_RETURN(const std::string captured, zygote->Capture(capture, Seconds(timeout_s)));
  return ReadCapture(captured);
}

Status Preparer::BuildExtensions(Prepared* prepared) const {
  const Request& request = prepared->request;
  if (!UsesExtensions(request.candidate)) return {};
  KB_ASSIGN_OR_RETURN(const std::vector<ExtensionRequest> wanted, CaptureExtensions(request));
  for (const ExtensionRequest& extension : wanted) {
    KB_RETURN_IF_ERROR(BuildExtension(extension, prepared));
    if (!prepared->failure.empty()) break;
  }
  return {};
}

// One that the compiler refuses is no failure yet: the candidate may go on without.
Status Preparer::BuildExtension(const ExtensionRequest& extension, Prepared* prepared) const {
  const std::string name = extension.description.at("name");
  KB_ASSIGN_OR_RETURN(const ops::DeviceFacts facts, services_->Facts());
  if (extension.description.at("include_paths").empty()) {
    for (const std::string& source : StringsOf(extension.description.at("cuda"))) {
      KB_RETURN_IF_ERROR(CheckHeaderLibraries(source, facts.build.libraries));
    }
  }
  setup_->Say(fmt::format("{}: building extension {}", prepared->request.candidate.path.filename().string(), name));
  KB_ASSIGN_OR_RETURN(BuildResult result,
                      builder_.BuildExtension(extension, TorchFactsOf(facts, setup_->device.kind), prepared->limits));
  const BuildResult built = Add(std::move(result), prepared);
  if (built.ok) {
    prepared->extensions.emplace_back(extension.key, name, built.artifact);
  } else if (built.conclusive()) {
    prepared->failure.clear();
    prepared->refused.emplace_back(extension.key, ErrorLines(built.log));
  }
  return {};
}

Status Preparer::AddLacking(Prepared* prepared) const {
  Sit(setup_->options.seating->Elsewhere());
  const int64_t start = NowNs() - *prepared->limits.waited_ns;
  ++prepared->asked;
  prepared->first_call.clear();  // it is another now
  prepared->call_log.clear();
  prepared->called = false;
  KB_RETURN_IF_ERROR(BuildExtension(*std::exchange(prepared->lacking, std::nullopt), prepared));
  prepared->us += static_cast<double>(NowNs() - *prepared->limits.waited_ns - start) / 1e3;
  return {};
}

Status Preparer::AddFirstCall(const ops::Problem& problem, Prepared* prepared) const {
  const Request& request = prepared->request;
  if (!request.module() || !prepared->failure.empty() || prepared->called || !CompilesWhenCalled(request.candidate))
    return {};
  const int64_t start = NowNs();
  SpecFile told{.spec = services_->SpecOf(request, problem)};
  told.spec.refused = prepared->refused;
  Files files;
  for (const auto& [key, name, file] : prepared->extensions) {
    told.extensions.push_back(fmt::format("extension{}.so", files.size()));
    told.spec.extensions.emplace_back(key, name);
    KB_ASSIGN_OR_RETURN(std::string contents, ReadFile(file));
    files.emplace_back(told.extensions.back(), std::move(contents));
  }
  setup_->Say(fmt::format("{}: first call, which may compile", request.candidate.path.filename().string()));
  KB_ASSIGN_OR_RETURN(const BuildResult result, FirstCall({kFirstCall}, told, std::move(files), prepared->limits));
  prepared->first_call = result.artifact;  // none: the runner will meet what went wrong, and say it
  prepared->called = true;
  if (!result.ok) prepared->call_log += result.log;
  if (!result.conclusive()) prepared->call_log += WhyNotBuilt(result, request.protocol) + "\n";
  prepared->holds.push_back(result.hold);
  prepared->us += static_cast<double>(NowNs() - start) / 1e3;
  return {};
}

CompileLimits Preparer::BaselineLimits() const {
  constexpr int64_t kLimitMs = 600'000;  // it may try many kernels
  CompileLimits limits;
  limits.seat = setup_->options.seating->Elsewhere();
  *limits.left_ms = kLimitMs;
  limits.memory_bytes = Gigabytes(setup_->options.build_memory_gb);
  return limits;
}

Result<BuildResult> Preparer::CompileBaseline(const RunnerSpec& spec, int place) const {
  const bool beside = place >= 0;
  if (!beside) setup_->Say("compiling the baseline");
  CompileLimits limits = BaselineLimits();
  if (beside) limits.seat = Seat();
  return FirstCall({kFirstCall}, SpecFile{.spec = spec}, {}, limits, place);
}

Result<Fd> Preparer::Join() const {
  Fd place(
      open(fmt::format("/proc/self/fd/{}", turns_.get()).c_str(), O_RDONLY | O_CLOEXEC));  // with a lock of its own
  if (place.valid() && flock(place.get(), LOCK_SH) == 0) return place;
  return Fail(ErrorCode::kUnavailable, "cannot lock a memory file: out of descriptors");
}

Result<BuildResult> Preparer::CompileToTriton(const RunnerSpec& spec, const std::filesystem::path& problem,
                                              const std::string& size) const {
  setup_->Say("compiling the reference");
  return FirstCall({"inductor_capture", "inductor_text"}, {{"spec", spec}, {"path", problem.string()}, {"size", size}},
                   {}, BaselineLimits());
}

// A compilation like others, of which Python is the compiler (kernelbench_torch/first_call.py). The device waits for
// it.
Result<BuildResult> Preparer::FirstCall(const std::vector<std::string>& modules, const json& told, Files files,
                                        const CompileLimits& limits, int place) const {
  const Installation& installation = setup_->installation;
  const PythonIdentity& python = services_->python();
  KB_ASSIGN_OR_RETURN(const ops::DeviceFacts facts, services_->Facts());
  CompileJob job;
  job.sources = std::move(files);
  job.sources.emplace_back("spec.json", Dump(told));
  std::vector<std::string> identity = {facts.torch, facts.name, job.sources.back().second};
  std::set<std::string> makers(modules.begin(), modules.end());
  makers.insert(kFirstCall);  // which others begin by
  for (const std::string& module : makers) {
    KB_ASSIGN_OR_RETURN(std::string maker, ReadFile(installation.python / "kernelbench_torch" / (module + ".py")));
    identity.push_back(std::move(maker));
  }
  for (const auto& [module, version] : python.versions) identity.push_back(module + " " + version);
  job.argv = {python.executable, "-m", "kernelbench_torch." + modules.front(), "spec.json",
              installation.libexec / "libkernelbench_runner.so"};
  job.replaces_shell = true;
  job.environment = TensorEnvironment(installation, setup_->device.environment, setup_->options.threads);
  if (place >= 0) {
    job.environment.push_back(fmt::format("KERNELBENCH_BESIDE={}", place));
    job.inherit = {place};
  }
  job.read_only = python.paths;
  job.read_only.insert(job.read_only.end(), {installation.python, installation.libexec});
  job.limits = limits;
  job.limits.output_bytes = kMostCompiledBytes;
  job.limits.slots = nullptr;
  return builder_.FirstCall(job, identity);
}

}  // namespace kb
