#include "judge/devices/cuda/tool_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/json.h"
#include "judge/devices/cuda/gpus.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOutput = size_t{4} << 20;
constexpr auto kNamingTime = std::chrono::seconds(2);
constexpr uint64_t kNamingBytes = uint64_t{1} << 30;
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

// The tool's own folder and what a script in a toolkit's bin/ starts: folders beside it, not what else lies there.
void ShowTool(const fs::path& program, SandboxSpec* box) {
  std::error_code ignored;
  for (const fs::path& tool : {program, fs::canonical(program, ignored)}) {
    const fs::path folder = tool.parent_path();
    if (folder.has_relative_path()) box->read_only.push_back(folder);
    if (folder.filename() != "bin") continue;
    for (fs::directory_iterator beside(folder.parent_path(), ignored), end; beside != end; beside.increment(ignored)) {
      const std::string name = beside->path().filename();
      const bool belongs = name == "compute-sanitizer" || name.starts_with("nsight-compute");
      if (belongs && beside->is_directory(ignored)) box->read_only.push_back(beside->path());
    }
  }
}

Result<fs::path> FindTool(const std::string& name, const char* named_by) {
  std::vector<fs::path> places;
  const auto variable = [](const char* key) {
    const char* value = std::getenv(key);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string set = variable(named_by); !set.empty()) {
    places.emplace_back(set);
  } else {
    if (const std::string home = variable("CUDA_HOME"); !home.empty()) places.push_back(fs::path(home) / "bin" / name);
    std::string path = variable("PATH");
    while (!path.empty()) {
      const size_t end = std::min(path.find(':'), path.size());
      if (end > 0) places.push_back(fs::path(path.substr(0, end)) / name);
      path.erase(0, end + 1);
    }
    places.push_back(fs::path("/usr/local/cuda/bin") / name);
    places.push_back(fs::path("/usr/local/cuda") / name / name);  // compute-sanitizer in some packages
  }
  std::error_code ignored;
  for (const fs::path& place : places) {
    if (access(place.c_str(), X_OK) == 0 && fs::is_regular_file(place, ignored)) return place;
  }
  return Fail(ErrorCode::kUnavailable,
              fmt::format("{} was not found: it comes with the CUDA toolkit (in PATH, under CUDA_HOME or "
                          "/usr/local/cuda); {} may name it",
                          name, named_by));
}

}  // namespace

Result<fs::path> FindSanitizer() { return FindTool("compute-sanitizer", "KERNELBENCH_SANITIZER"); }

Result<fs::path> FindProfiler() { return FindTool("ncu", "KERNELBENCH_NCU"); }

Result<Completed> RunUnderTool(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                               ToolRun run, std::chrono::milliseconds timeout) {
  if (sandbox.isolation() != Isolation::kNamespaces) {
    return Fail(ErrorCode::kUsage, run.tool.filename().string() +
                                       " needs --isolation namespaces: the sandbox is what holds the candidate there");
  }
  SandboxSpec box;
  Files files(&box);
  box.tmp_bytes = kTmpBytes;
  ShowTool(run.tool, &box);
  box.read_only.push_back(installation.libexec);
  box.read_only.insert(box.read_only.end(), run.folders.begin(), run.folders.end());
  box.environment = TensorEnvironment(installation, CudaEnvironment(""), run.spec.threads);
  box.argv = {run.tool};
  box.argv.insert(box.argv.end(), run.options.begin(), run.options.end());
  SpecFile file{.spec = std::move(run.spec), .confinement = std::move(run.confinement), .profiled = run.profiled};
  if (!run.kernel.empty()) {
    KB_ASSIGN_OR_RETURN(file.kernel, files.Add(run.kernel, "candidate.so"));
    KB_ASSIGN_OR_RETURN(const std::string spec, files.AddText(Dump(nlohmann::json(file)), "spec.json"));
    box.argv.insert(box.argv.end(), {installation.libexec / "kb-runner", "--under-tool", spec});
  } else {
    for (const fs::path& extension : run.extensions) {
      KB_ASSIGN_OR_RETURN(std::string at, files.Add(extension, fmt::format("extension{}.so", file.extensions.size())));
      file.extensions.push_back(std::move(at));
    }
    if (!run.first_call.empty()) {
      KB_ASSIGN_OR_RETURN(file.first_call, files.Add(run.first_call, "compiled.tar"));
    }
    KB_ASSIGN_OR_RETURN(const std::string spec, files.AddText(Dump(nlohmann::json(file)), "spec.json"));
    box.read_only.insert(box.read_only.end(), python.paths.begin(), python.paths.end());
    box.read_only.push_back(installation.python);
    if (!run.profiled) box.environment.emplace_back("PYTORCH_NO_CUDA_MEMORY_CACHING=1");
    box.argv.insert(box.argv.end(), {python.executable, "-m", "kernelbench_torch.under_tool", spec,
                                     installation.libexec / "libkernelbench_runner.so"});
  }
  return RunToEnd(sandbox.Wrap(box), timeout, kMostOutput);
}

Result<std::vector<std::string>> ReadableNames(const Installation& installation, const Sandbox& sandbox,
                                               std::vector<std::string> mangled) {
  SandboxSpec box;
  Files files(&box);
  std::string lines;
  for (const std::string& name : mangled) lines += name + "\n";
  KB_ASSIGN_OR_RETURN(const std::string names, files.AddText(lines, "names"));
  box.read_only.push_back(installation.libexec);
  box.confinement = sandbox.ConfinementFor(kNamingBytes);
  box.confinement->programs = true;  // kb-runner
  box.argv = {installation.libexec / "kb-runner", "--names", names};
  KB_ASSIGN_OR_RETURN(const Completed completed, RunToEnd(sandbox.Wrap(box), kNamingTime, kMostOutput));
  std::vector<std::string> readable;
  for (size_t at = 0; at < completed.output.size();) {
    const size_t end = std::min(completed.output.find('\n', at), completed.output.size());
    readable.push_back(completed.output.substr(at, end - at));
    at = end + 1;
  }
  return completed.status.ok() && readable.size() == mangled.size() ? readable : mangled;
}

}  // namespace kb
