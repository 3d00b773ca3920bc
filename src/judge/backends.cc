#include "judge/backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/compile/compiler.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/devices/cuda/nvcc.h"

namespace kb {
namespace {

constexpr const char* kHip = "an AMD GPU and a PyTorch for ROCm, with which KernelBench cannot judge yet";

// What a row needs beside a Python with PyTorch, its packages (Packages()) and its headers (HeaderLibraries()).
struct BackendNeeds {
  const char* name;
  bool gpu, python, host_compiler, nvcc;
};
constexpr BackendNeeds kBackendNeeds[] = {
    {"native-cpu", false, false, true, false}, {"native-cuda", true, false, true, true},
    {"cpp", false, true, true, false},         {"cuda", true, true, true, true},
    {"triton", true, true, false, false},      {"tilelang", true, true, false, true},
    {"cute", true, true, false, false},        {"thunderkittens", true, true, true, true}};

const HeaderLibrary* HeadersOf(std::string_view backend) {
  for (const HeaderLibrary& library : HeaderLibraries()) {
    if (library.name == backend) return &library;
  }
  return nullptr;
}

std::vector<Package> PackagesOf(std::string_view backend) {
  std::vector<Package> packages;
  std::copy_if(Packages().begin(), Packages().end(), std::back_inserter(packages),
               [&](const Package& each) { return backend == each.backend; });
  return packages;
}

std::string Lacks(const HeaderLibrary& library) {
  return fmt::format("the headers of {}; {}", library.title, HowToHave(library));
}

// Takes a part that is there, or the clause that says what to do.
class Collected {
 public:
  explicit Collected(std::string name) : here_{std::move(name), "", {}} {}
  void Has(const std::string& part) { here_.with += (here_.with.empty() ? "" : ", ") + part; }
  void Lacks(std::string clause) { here_.lacks.push_back(std::move(clause)); }
  void Add(const Result<CompilerIdentity>& compiler) {
    compiler ? Has(compiler->version) : Lacks(compiler.error().message);
  }
  BackendHere Take() { return std::move(here_); }

 private:
  BackendHere here_;
};

void AddPython(const BackendNeeds& row, const Result<PythonIdentity>& python, Collected* collected) {
  if (!python) return collected->Lacks("a Python with PyTorch");
  const auto version = [&](const std::string& module) {
    const auto found = python->versions.find(module);
    return found == python->versions.end() ? "" : found->second;
  };
  const std::string torch = version("torch");
  if (row.gpu && torch.find("+cpu") != std::string::npos) {
    collected->Lacks(fmt::format("a PyTorch with CUDA ({} has {})", python->executable, torch));
  } else {
    collected->Has("torch " + torch);
  }
  for (const Package& package : PackagesOf(row.name)) {
    const std::string found = version(package.module);
    if (found.empty()) {
      collected->Lacks(
          fmt::format("the Python package {0} ({1} -m pip install {0})", package.name, python->executable));
    } else {
      collected->Has(package.name + (" " + found));
    }
  }
}

BackendHere Look(const BackendNeeds& row, const Result<PythonIdentity>& python) {
  Collected collected(row.name);
  if (row.gpu) {
    if (const Status there = CheckDevice("cuda"); !there) collected.Lacks("an NVIDIA GPU");
  }
  if (row.host_compiler) collected.Add(FindCompiler());
  if (row.nvcc) collected.Add(FindCudaCompiler());
  if (row.python) AddPython(row, python, &collected);
  if (const HeaderLibrary* library = HeadersOf(row.name)) {
    const std::string include = FindHeaders(*library);
    include.empty() ? collected.Lacks(Lacks(*library)) : collected.Has(include);
  }
  return collected.Take();
}

}  // namespace

Status CheckPackages(const std::string& what, const std::vector<Package>& packages, const PythonIdentity& python) {
  for (const Package& package : packages) {
    if (python.versions.contains(package.module)) continue;
    return Fail(ErrorCode::kUnavailable,
                fmt::format("{0} needs the Python package {1}, which {2} does not have; install it ({2} -m pip install "
                            "{1}), or set KERNELBENCH_PYTHON to a Python that has it",
                            what, package.name, python.executable));
  }
  return {};
}

Status NoHip() { return Fail(ErrorCode::kUnavailable, fmt::format("candidates for hip need {}", kHip)); }

Status CheckBackend(const std::string& backend, const Installation& installation) {
  if (backend == "hip") return NoHip();
  const std::string what = "backend " + backend;
  if (const HeaderLibrary* library = HeadersOf(backend); library != nullptr && FindHeaders(*library).empty()) {
    return Fail(ErrorCode::kUnavailable, fmt::format("{} needs {}", what, Lacks(*library)));
  }
  const std::vector<Package> packages = PackagesOf(backend);
  if (packages.empty()) return {};
  KB_ASSIGN_OR_RETURN(const PythonIdentity python, FindPython(installation));
  return CheckPackages(what, packages, python);
}

std::vector<BackendHere> BackendsHere(const Result<PythonIdentity>& python) {
  std::vector<BackendHere> all;
  for (const BackendNeeds& row : kBackendNeeds) all.push_back(Look(row, python));
  all.push_back({"hip", "", {kHip}});
  return all;
}

}  // namespace kb
