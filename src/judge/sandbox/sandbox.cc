#include "judge/sandbox/sandbox.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "judge/sandbox/cgroup.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Directories of the system, and the few files of /etc that loaders and compilers need.
constexpr const char* kSystem[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"};
constexpr const char* kEtc[] = {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"};
constexpr const char* kCpuFacts = "/sys/devices/system/cpu";

// What the NVIDIA driver opens beside the file of the GPU itself; a machine has some of them.
constexpr const char* kGpuFiles[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"};
// It also names its threads (/proc/self/task/*/comm), and does not start where it may not. What else lies below /proc
// belongs to others, or to the machine: a runner of root's could write its settings.
constexpr const char* kGpuWrites = "/proc/self/task";

// A read-only system, what `spec` names, and a private bounded /tmp.
void BindSystem(const SandboxSpec& spec, const std::vector<std::string>& devices, std::vector<std::string>* argv) {
  std::error_code ignored;
  for (const char* path : kSystem) {
    if (fs::is_symlink(path, ignored)) {
      argv->insert(argv->end(), {"--symlink", fs::read_symlink(path, ignored).string(), path});
    } else if (fs::is_directory(path, ignored)) {
      argv->insert(argv->end(), {"--ro-bind", path, path});
    }
  }
  for (const char* path : kEtc) argv->insert(argv->end(), {"--ro-bind-try", path, path});
  argv->insert(argv->end(), {"--ro-bind-try", kCpuFacts, kCpuFacts, "--proc", "/proc", "--dev", "/dev", "--size",
                             std::to_string(spec.tmp_bytes), "--tmpfs", "/tmp"});
  for (const std::string& device : devices) argv->insert(argv->end(), {"--dev-bind-try", device, device});
  if (!devices.empty()) argv->insert(argv->end(), {"--ro-bind", "/sys", "/sys"});
  // Parents before children: a path below another one would be hidden by it.
  std::vector<fs::path> paths = spec.read_only;
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  for (const fs::path& path : paths) {
    if (path.string().starts_with("/usr/")) continue;
    argv->insert(argv->end(), {"--ro-bind", path.string(), path.string()});
  }
}

}  // namespace

const char* IsolationName(Isolation isolation) {
  return isolation == Isolation::kNamespaces ? "namespaces" : "process";
}

Sandbox::Sandbox(std::string keeper, std::string bwrap, Isolation isolation, Without without, const std::string& gpu)
    : keeper_(std::move(keeper)),
      bwrap_(std::move(bwrap)),
      isolation_(isolation),
      without_(std::move(without)),
      missing_(without_) {
  if (gpu.empty()) return;
  missing_.insert("pid-namespace");
  devices_ = {gpu};
  devices_.insert(devices_.end(), std::begin(kGpuFiles), std::end(kGpuFiles));
}

Result<Sandbox> Sandbox::Create(const Installation& installation, Isolation isolation, Without without,
                                const std::string& gpu) {
  const std::string keeper = installation.libexec / "kb-keeper";
  if (isolation == Isolation::kProcess) return Sandbox(keeper, "", isolation, std::move(without), gpu);
  // The one that came with us first; some machines grant namespaces only to their own.
  std::string refusal;
  for (const std::string& bwrap : {(installation.libexec / "bwrap").string(), std::string("bwrap")}) {
    const auto program = FindProgram(bwrap);
    if (!program) continue;
    Sandbox sandbox(keeper, *program, isolation, without, gpu);
    SandboxSpec probe;
    probe.argv = {"/bin/sh", "-c", ":"};
    probe.makes_namespaces = false;
    auto tried = RunToEnd(sandbox.Wrap(probe), std::chrono::seconds(20));
    if (tried && !tried->status.ok()) {
      sandbox.forbids_namespaces_ = false;
      tried = RunToEnd(sandbox.Wrap(probe), std::chrono::seconds(20));
    }
    if (tried && tried->status.ok()) return sandbox;
    if (!tried && tried.error().code == ErrorCode::kInterrupted) return tl::make_unexpected(tried.error());
    refusal = tried ? tried->output.substr(0, 300) : tried.error().message;
  }
  return Fail(
      ErrorCode::kUnavailable,
      fmt::format("this machine refuses the namespaces that candidates are isolated in ({}). Install bubblewrap and "
                  "allow user namespaces (sysctl user.max_user_namespaces), or accept weaker isolation with "
                  "--isolation=process; results will say so.",
                  refusal.empty() ? "there is no bwrap" : refusal));
}

std::vector<std::string> Sandbox::Barriers() const {
  std::vector<std::string> barriers;
  for (const Barrier& barrier : kBarriers) {
    const std::string name = barrier.name;
    const bool missing = (name.ends_with("-namespace") && isolation_ == Isolation::kProcess) ||
                         (name == "landlock" && LandlockAbi() == 0) || (name == "cgroup" && !CgroupsOffered()) ||
                         missing_.contains(name);
    if (!missing) barriers.push_back(name);
  }
  return barriers;
}

nlohmann::json Sandbox::Confinement(uint64_t memory_bytes) const {
  std::vector<std::string> readable;
  if (isolation_ == Isolation::kProcess) {
    readable = {"/proc", kCpuFacts, "/dev/urandom", "/dev/random", "/dev/zero"};
    readable.insert(readable.end(), std::begin(kSystem), std::end(kSystem));
    readable.insert(readable.end(), std::begin(kEtc), std::end(kEtc));
    if (!devices_.empty()) readable.emplace_back("/sys");
  }
  std::vector<std::string> writable = devices_;
  if (!devices_.empty()) writable.emplace_back(kGpuWrites);
  return {{"memory_bytes", memory_bytes},
          {"file_bytes", uint64_t{64} << 20},
          {"tmp_bytes", uint64_t{256} << 20},
          {"readable", readable},
          {"devices", writable},
          {"programs", false},
          {"without", missing_}};
}

SpawnOptions Sandbox::Wrap(const SandboxSpec& spec) const {
  SpawnOptions options;
  options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8", "TMPDIR=/tmp"};
  options.environment.insert(options.environment.end(), spec.environment.begin(), spec.environment.end());
  options.inherit = spec.inherit;
  options.stdout_fd = spec.stdout_fd;
  options.stderr_fd = spec.stderr_fd;
  options.memory_limit = spec.memory_limit;
  options.file_limit = spec.file_limit;
  options.directory = "/";
  options.stop_signal = SIGTERM;
  std::vector<std::string>& argv = options.argv;
  argv = {keeper_};
  if (isolation_ == Isolation::kProcess) {
    KB_CHECK(spec.files.empty());
    argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
    return options;
  }
  if (missing_.contains("environment")) {
    for (char** variable = environ; *variable != nullptr; ++variable) options.environment.emplace_back(*variable);
  }
  // Root could not hand itself to a namespace below, so everybody is an ordinary user inside.
  argv.insert(argv.end(), {bwrap_, "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent",
                           "--new-session", "--cap-drop", "ALL"});
  if (!spec.makes_namespaces && forbids_namespaces_) argv.emplace_back("--disable-userns");
  const auto with = [&](const char* barrier) { return !missing_.contains(barrier); };
  // bubblewrap's own first process would be neither frozen nor filtered.
  if (with("pid-namespace")) argv.insert(argv.end(), {"--unshare-pid", "--as-pid-1"});
  if (with("network-namespace")) argv.emplace_back("--unshare-net");
  if (with("ipc-namespace")) argv.emplace_back("--unshare-ipc");
  if (with("uts-namespace")) argv.insert(argv.end(), {"--unshare-uts", "--hostname", "sandbox"});
  if (with("mount-namespace")) {
    BindSystem(spec, devices_, &argv);
  } else {
    argv.insert(argv.end(), {"--dev-bind", "/", "/"});
  }
  for (const auto& [fd, path] : spec.files) {
    argv.insert(argv.end(), {"--file", std::to_string(fd), path});
    options.inherit.push_back(fd);
  }
  if (with("mount-namespace")) {
    // bubblewrap's / and /dev are memory without a limit, which all runners of a zygote would share.
    argv.insert(argv.end(), {"--size", std::to_string(spec.tmp_bytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
                             "--remount-ro", "/"});
  }
  argv.insert(argv.end(), {"--chdir", "/tmp", "--"});
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  return options;
}

}  // namespace kb
