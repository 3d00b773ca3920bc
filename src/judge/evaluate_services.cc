// What an evaluator keeps warm: sandbox, device process, zygote, builder; and the builds of a candidate.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/cores.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/random.h"
#include "judge/evaluate.h"
#include "judge/gpus.h"
#include "judge/problem/problem_index.h"

namespace kb {
namespace {

using nlohmann::json;

std::chrono::milliseconds Seconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

CompileLimits LimitsOf(const Protocol& protocol, const EvaluatorOptions& options) {
  return {.left_ms = std::make_shared<std::atomic<int64_t>>(Seconds(protocol.build_timeout_s).count()),
          .memory_bytes = Gigabytes(options.build_memory_gb)};
}

std::string WhyNotBuilt(const BuildResult& result, const Protocol& protocol, const EvaluatorOptions& options) {
  if (result.ok) return "";
  if (result.timed_out)
    return fmt::format("what it has built did not end within {} s (build_timeout_s)", protocol.build_timeout_s);
  if (result.out_of_memory) {
    return fmt::format("the build ran out of the {} GB of memory that it may have; --build-memory-gb allows more",
                       options.build_memory_gb);
  }
  if (result.killed) return "a signal ended the compiler twice; evidence.compiler_output holds what it said";
  return "the compiler refused it; evidence.compiler_output holds what it said";
}

// Only a module that names the machinery can use it: importing it a second time is not free.
bool UsesExtensions(const Candidate& candidate) { return candidate.source.find("load_inline") != std::string::npos; }

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

// Backends that build at the first call, in programs that a runner may not start. A module that says one of
// these words and compiles nothing has made three calls more.
bool CompilesWhenCalled(const Candidate& candidate) {
  const auto says = [&](const char* word) { return candidate.source.find(word) != std::string::npos; };
  return says(".compile") || ImportsCompile(candidate.source) || says("_dynamo") || says("inductor") || says("triton");
}

constexpr size_t kMostCompiledBytes = size_t{256} << 20;

TorchBuildFacts TorchFactsOf(const ops::DeviceFacts& device) {
  const ops::BuildFacts& build = device.build;
  return {build.version,      build.include_paths, build.python_include,
          build.library_path, build.standard,      device.compute_capability};
}

GpuBuildFacts GpuFactsOf(const ops::DeviceFacts& device) {
  return {device.compute_capability, device.build.nvrtc, device.build.libraries};
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

Result<std::unique_ptr<Evaluator>> Evaluator::Create(const EvaluatorOptions& options) {
  KB_ASSIGN_OR_RETURN(const std::optional<Gpu> found, GpuOfDevice(options.device));
  const Gpu gpu = found.value_or(Gpu());
  KB_ASSIGN_OR_RETURN(Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Sandbox sandbox, Sandbox::Create(installation, options.isolation, options.without, gpu.file));
  std::unique_ptr<Evaluator> evaluator(new Evaluator(options, std::move(installation), std::move(sandbox)));
  evaluator->options_.device = found ? "cuda" : "cpu";
  evaluator->gpu_ = gpu.name;
  if (evaluator->options_.threads <= 0) evaluator->options_.threads = CoreCount();
  if (evaluator->options_.jobs <= 0) evaluator->options_.jobs = CoreCount();
  for (int i = 0; i < 16; ++i) evaluator->weight_seeds_.push_back(RandomBits() >> 8);
  KB_ASSIGN_OR_RETURN(Builder builder,
                      Builder::Create(evaluator->installation_, &evaluator->sandbox_, Gigabytes(options.cache_gb)));
  evaluator->builder_.emplace(std::move(builder));
  return evaluator;
}

// Both import torch, which takes seconds: they do so at the same time.
Status Evaluator::EnsureServices(bool needs_zygote) {
  if (!python_) {
    Say("looking for a Python with PyTorch");
    KB_ASSIGN_OR_RETURN(python_, FindPython(installation_));
  }
  const bool needs_device = !device_ || !device_->alive();
  if (needs_device) {
    Say("starting the device process");
    EndReference();  // it serves the one that is gone
    device_.reset();
    KB_ASSIGN_OR_RETURN(DeviceProcess device,
                        DeviceProcess::Start(installation_, *python_, options_.device, gpu_, options_.threads));
    device_.emplace(std::move(device));
  }
  if (needs_zygote && (!zygote_ || !zygote_->alive())) {
    Say("starting the zygote of module runners");
    std::erase_if(waiting_, [](const auto& runner) { return runner.needs.kind == CandidateKind::kModule; });
    zygote_.reset();
    KB_ASSIGN_OR_RETURN(Zygote zygote,
                        Zygote::Start(installation_, sandbox_, *python_, options_.device, gpu_, options_.threads));
    zygote_.emplace(std::move(zygote));
  }
  if (!needs_device) return {};
  const Status ready = device_->AwaitReady();
  if (!ready && device_->alive()) device_.reset();  // what it answers is not understood
  return ready;
}

Result<ops::Problem> Evaluator::LoadProblem(const ProblemFile& problem, const std::string& size,
                                            const Protocol& protocol, StepTimes* times) {
  const int64_t start = NowNs();
  KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.path, 16 << 20));
  std::vector<uint64_t> seeds;
  const bool known = options_.without.contains("weight-seeds");
  if (known) seeds.push_back(42);
  for (int i = 0; i < protocol.weight_seeds && !known; ++i) {
    const bool fixed = i == 0 && protocol.weight_seed >= 0;
    seeds.push_back(fixed ? static_cast<uint64_t>(protocol.weight_seed) : weight_seeds_[static_cast<size_t>(i)]);
  }
  const std::string sha256 = Sha256(source);
  // What inputs and weights take need not be found out again.
  const json entry = IndexEntry(problem.path, problem.name);
  const json sizes = entry.value("sha256", "") == sha256 ? entry.value("sizes", json::object()) : json::object();
  const ops::LoadProblem request{.path = problem.path.string(),
                                 .sha256 = sha256,
                                 .size = size,
                                 .precision = protocol.precision,
                                 .weight_seeds = seeds,
                                 .memory_bytes = Gigabytes(options_.device_memory_gb),
                                 .figures = sizes.value(size, json::object())};
  if (const std::string text = Dump(json(request)); loaded_problem_ != text) {
    EndReference();
    loaded_problem_ = text;
  }
  auto answer = device_->Ask(request, Seconds(protocol.reference_timeout_s));
  if (!answer && options_.device != "cpu" && (dying_ || !waiting_.empty()) && device_->alive()) {
    EndReference();
    dying_.reset();  // the memory of the last candidate, and of runners that wait, may be missing
    waiting_.clear();
    answer = device_->Ask(request, Seconds(protocol.reference_timeout_s));
  }
  KB_ASSIGN_OR_RETURN(ops::Problem loaded, std::move(answer));
  if (loaded.fresh) kept_.alone.clear();
  (*times)["problem"] += static_cast<double>(NowNs() - start) / 1e3;
  return loaded;
}

Result<ops::Problem> Evaluator::DescribeProblem(const ProblemFile& problem, const std::string& size,
                                                const Protocol& protocol) {
  StepTimes times;
  KB_RETURN_IF_ERROR(EnsureServices(false));
  return LoadProblem(problem, size, protocol, &times);
}

Result<std::vector<ExtensionRequest>> Evaluator::CaptureExtensions(const Request& request, const json& init) {
  if (!UsesExtensions(request.candidate)) return std::vector<ExtensionRequest>();
  const worker::Capture capture{.source = request.candidate.source,
                                .init = init,
                                .confinement = sandbox_.ConfinementFor(Gigabytes(request.protocol.memory_gb))};
  const double timeout_s = std::min(request.protocol.load_timeout_s, request.protocol.build_timeout_s);
  KB_ASSIGN_OR_RETURN(const std::string captured, zygote_->Capture(capture, Seconds(timeout_s)));
  return ReadCapture(captured);
}

Result<Evaluator::Built> Evaluator::Build(const Request& request, const ops::Problem& problem) {
  Built built;
  const CompileLimits limits = LimitsOf(request.protocol, options_);
  const auto add = [&](BuildResult result) {
    // The verdict is the same where a build was found in the cache.
    if (result.cached) *limits.left_ms -= static_cast<int64_t>(result.seconds * 1e3);
    result.timed_out |= result.ok && *limits.left_ms < 0;
    result.ok &= !result.timed_out;
    built.failure = WhyNotBuilt(result, request.protocol, options_);
    built.log += result.log;
    built.compiler = result.compiler;
    built.holds.push_back(result.hold);
  };
  if (request.candidate.kind == CandidateKind::kNative) {
    BuildResult result{.log = RefusedLibraries(request)};
    if (result.log.empty()) {
      KB_ASSIGN_OR_RETURN(result, builder_->BuildNative(request.candidate, GpuFactsOf(device_->facts()), limits));
    }
    add(result);
    built.kernel = result.artifact;
    return built;
  }
  KB_ASSIGN_OR_RETURN(const std::vector<ExtensionRequest> wanted, CaptureExtensions(request, problem.form.init));
  const TorchBuildFacts torch = TorchFactsOf(device_->facts());
  for (const ExtensionRequest& extension : wanted) {
    Say(fmt::format("{}: building extension {}", request.candidate.path.filename().string(),
                    extension.description.at("name").get<std::string>()));
    KB_ASSIGN_OR_RETURN(const BuildResult result, builder_->BuildExtension(extension, torch, limits));
    add(result);
    if (!built.failure.empty()) break;
    built.extensions.emplace_back(extension.key, extension.description.at("name"), result.artifact);
  }
  if (built.failure.empty() && CompilesWhenCalled(request.candidate)) {
    KB_ASSIGN_OR_RETURN(const BuildResult result, FirstCall(request, problem, built, limits));
    built.first_call = result.artifact;  // none: the runner will meet what went wrong, and say it
    if (!result.ok) built.log += result.log;
    if (!result.conclusive()) built.log += WhyNotBuilt(result, request.protocol, options_) + "\n";
    built.holds.push_back(result.hold);
  }
  return built;
}

// A compilation like others, of which Python is the compiler (kernelbench_torch/first_call.py).
Result<BuildResult> Evaluator::FirstCall(const Request& request, const ops::Problem& problem, const Built& built,
                                         const CompileLimits& limits) {
  SpecFile told{.spec = SpecOf(request, problem)};
  CompileJob job;
  KB_ASSIGN_OR_RETURN(std::string maker, ReadFile(installation_.python / "kernelbench_torch" / "first_call.py"));
  std::vector<std::string> identity = {std::move(maker), device_->facts().torch, device_->facts().name};
  for (const auto& [key, name, file] : built.extensions) {
    const std::string copy = fmt::format("extension{}.so", told.extensions.size());
    told.spec.extensions.emplace_back(key, name);
    told.extensions.push_back(copy);
    KB_ASSIGN_OR_RETURN(std::string contents, ReadFile(file));
    job.sources.emplace_back(copy, std::move(contents));
  }
  job.sources.emplace_back("spec.json", Dump(json(told)));
  identity.push_back(job.sources.back().second);
  job.argv = {python_->executable, "-m", "kernelbench_torch.first_call", "spec.json",
              installation_.libexec / "libkernelbench_runner.so"};
  job.replaces_shell = true;
  job.environment = TensorEnvironment(installation_, options_.device, gpu_, options_.threads);
  job.read_only = python_->paths;
  job.read_only.insert(job.read_only.end(), {installation_.python, installation_.libexec});
  job.limits = limits;
  job.limits.output_bytes = kMostCompiledBytes;
  Say(fmt::format("{}: first call, which may compile", request.candidate.path.filename().string()));
  return builder_->FirstCall(job, identity);
}

// What cannot be found out here is met again in Evaluate() and reported there.
std::vector<Evaluator::Compilation> Evaluator::Compilations(const Request& request) {
  if (!request.candidate.rejection.empty()) return {};
  const CompileLimits limits = LimitsOf(request.protocol, options_);
  if (request.candidate.kind == CandidateKind::kNative) {
    // For a GPU it must be known which one, so the device process comes first.
    if (request.candidate.path.extension() == ".cu" && !EnsureServices(false)) return {};
    const GpuBuildFacts gpu = device_ ? GpuFactsOf(device_->facts()) : GpuBuildFacts();
    const std::string key = request.candidate.path.extension().string() + request.candidate.sha256;
    return {{key, [this, candidate = request.candidate, limits, gpu] {
               (void)builder_->BuildNative(candidate, gpu, limits);
             }}};
  }
  if (!UsesExtensions(request.candidate) || !EnsureServices(true)) return {};
  // Not the whole problem: the one that is loaded may still be needed.
  const auto values =
      device_->Ask(ops::InitValues{.path = request.problem.path.string(), .size = request.size}, Seconds(60));
  const auto wanted = values ? CaptureExtensions(request, values->init) : tl::make_unexpected(values.error());
  if (!wanted) return {};
  std::vector<Compilation> compilations;
  const TorchBuildFacts torch = TorchFactsOf(device_->facts());
  for (const ExtensionRequest& extension : *wanted) {
    compilations.push_back({extension.key, [this, extension, torch, limits] {
                              (void)builder_->BuildExtension(extension, torch, limits);
                            }});
  }
  return compilations;
}

void Evaluator::Prebuild(const std::vector<Request>& requests) {
  if (requests.size() < 2) return;
  std::vector<Compilation> jobs;
  std::set<std::string> asked;  // two candidates may want the same
  for (const Request& request : requests) {
    for (Compilation& compilation : Compilations(request)) {
      if (asked.insert(compilation.key).second) jobs.push_back(std::move(compilation));
    }
  }
  std::atomic<size_t> next = 0, done = 0;
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::min(static_cast<size_t>(options_.jobs), jobs.size()); ++i) {
    workers.emplace_back([&] {
      for (size_t at = next++; at < jobs.size() && !Interrupted(); at = next++) {
        jobs[at].run();
        Say(fmt::format("built {} of {}", ++done, jobs.size()));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace kb
