#include "judge/process/sanitizer_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMostOutput = size_t{4} << 20;
constexpr uint64_t kTmpBytes = uint64_t{1} << 30;  // the tool's own files and the candidate's objects

// Files that the sandbox puts under its /tmp.
class Files {
 public:
  explicit Files(SandboxSpec* box) : box_(box) {}

  Result<std::string> Add(const fs::path& file, const std::string& name) {
    Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return Fail(ErrorCode::kEngine, "cannot read " + file.string());
    return Keep(std::move(fd), name);
  }
  Result<std::string> AddText(const std::string& text, const std::string& name) {
    Fd fd(memfd_create("text", MFD_CLOEXEC));
    if (!fd.valid() || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      return Fail(ErrorCode::kUnavailable, "cannot make a memory file: out of memory or descriptors");
    }
    lseek(fd.get(), 0, SEEK_SET);
    return Keep(std::move(fd), name);
  }

 private:
  std::string Keep(Fd fd, const std::string& name) {
    const std::string path = "/tmp/" + name;
    box_->files.emplace_back(fd.get(), path);
    fds_.push_back(std::move(fd));
    return path;
  }
  SandboxSpec* box_;
  std::vector<Fd> fds_;
};

std::vector<std::string> ToolArguments(const SanitizedRun& run) {
  std::vector<std::string> argv = {run.sanitizer, "--tool",        run.tool, "--target-processes",
                                   "all",         "--print-limit", "100"};
  if (run.tool == "memcheck") {
    // What lies behind a tensor is nobody's; what libraries try and handle themselves is no error of the candidate.
    argv.insert(argv.end(), {"--padding", "512", "--report-api-errors", "no"});
  }
  return argv;
}

// The tool's own folder and, beside a bin/, the one that it is started from; not what lies around them.
void ShowTool(const fs::path& sanitizer, SandboxSpec* box) {
  std::error_code ignored;
  for (const fs::path& tool : {sanitizer, fs::canonical(sanitizer, ignored)}) {
    const fs::path folder = tool.parent_path(), beside = folder.parent_path() / "compute-sanitizer";
    if (folder.has_relative_path()) box->read_only.push_back(folder);
    if (folder.filename() == "bin" && fs::is_directory(beside, ignored)) box->read_only.push_back(beside);
  }
}

}  // namespace

const std::vector<std::string>& SanitizerTools() {
  static const std::vector<std::string> kTools = {"memcheck", "racecheck", "initcheck", "synccheck"};
  return kTools;
}

Result<fs::path> FindSanitizer() {
  constexpr const char* kName = "compute-sanitizer";
  std::vector<fs::path> places;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string set = variable("KERNELBENCH_SANITIZER"); !set.empty()) {
    places.emplace_back(set);
  } else {
    if (const std::string home = variable("CUDA_HOME"); !home.empty()) places.push_back(fs::path(home) / "bin" / kName);
    std::string path = variable("PATH");
    while (!path.empty()) {
      const size_t end = std::min(path.find(':'), path.size());
      if (end > 0) places.push_back(fs::path(path.substr(0, end)) / kName);
      path.erase(0, end + 1);
    }
    places.push_back(fs::path("/usr/local/cuda/bin") / kName);
    places.push_back(fs::path("/usr/local/cuda/compute-sanitizer") / kName);
  }
  for (const fs::path& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  return Fail(ErrorCode::kUnavailable,
              "compute-sanitizer was not found: it comes with the CUDA toolkit (in PATH, under CUDA_HOME or "
              "/usr/local/cuda); KERNELBENCH_SANITIZER may name it");
}

Result<Completed> RunSanitized(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                               SanitizedRun run, std::chrono::milliseconds timeout) {
  if (sandbox.isolation() != Isolation::kNamespaces) {
    return Fail(ErrorCode::kUsage,
                "--sanitize needs --isolation namespaces: the sandbox is what holds the candidate there");
  }
  SandboxSpec box;
  Files files(&box);
  box.tmp_bytes = kTmpBytes;
  ShowTool(run.sanitizer, &box);
  box.read_only.push_back(installation.libexec);
  box.environment = TensorEnvironment(installation, "cuda", "", run.threads);
  box.argv = ToolArguments(run);
  if (!run.kernel.empty()) {
    KB_ASSIGN_OR_RETURN(run.spec["kernel"], files.Add(run.kernel, "candidate.so"));
    KB_ASSIGN_OR_RETURN(const std::string spec, files.AddText(run.spec.dump(), "spec.json"));
    box.argv.insert(box.argv.end(), {installation.libexec / "kb-runner", "--sanitize", spec});
  } else {
    run.spec["extension_files"] = json::array();
    for (const fs::path& extension : run.extensions) {
      KB_ASSIGN_OR_RETURN(const std::string at,
                          files.Add(extension, fmt::format("extension{}.so", run.spec["extension_files"].size())));
      run.spec["extension_files"].push_back(at);
    }
    run.spec["compiled_file"] = "";
    if (!run.first_call.empty()) {
      KB_ASSIGN_OR_RETURN(run.spec["compiled_file"], files.Add(run.first_call, "compiled.tar"));
    }
    KB_ASSIGN_OR_RETURN(const std::string spec, files.AddText(run.spec.dump(), "spec.json"));
    box.read_only.insert(box.read_only.end(), python.paths.begin(), python.paths.end());
    box.read_only.push_back(installation.python);
    box.environment.emplace_back("PYTORCH_NO_CUDA_MEMORY_CACHING=1");  // each tensor is an allocation of its own
    box.argv.insert(box.argv.end(), {python.executable, "-m", "kernelbench_torch.sanitize", spec,
                                     installation.libexec / "libkernelbench_runner.so"});
  }
  return RunToEnd(sandbox.Wrap(box), timeout, kMostOutput);
}

}  // namespace kb
