#include "judge/sandbox/sandbox.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "judge/sandbox/candidate_user.h"
#include "judge/sandbox/cgroup.h"
#include "judge/sandbox/system_view.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScratch = "kernelbench-scratch";  // names of directories that candidates write to

// A read-only system, `paths`, and a private bounded /tmp.
void BindSystem(uint64_t tmp_bytes, const std::vector<fs::path>& paths, const std::vector<std::string>& devices,
                std::vector<std::string>* argv) {
  const std::string cache = ShowSystem(true, argv);
  argv->insert(argv->end(),
               {"--dev", "/dev", "--perms", "1777", "--size", std::to_string(tmp_bytes), "--tmpfs", "/tmp"});
  for (const std::string& device : devices) argv->insert(argv->end(), {"--dev-bind-try", device, device});
  if (!devices.empty()) argv->insert(argv->end(), {"--ro-bind", "/sys", "/sys"});
  for (const fs::path& path : paths) {
    if (path.string().starts_with("/usr/") && (cache.empty() || !path.string().starts_with(cache))) continue;
    ShowAt("--ro-bind", path, path, argv);
  }
  if (!cache.empty()) argv->insert(argv->end(), {"--remount-ro", cache});
}

}  // namespace

std::string BelowTmp(const std::vector<fs::path>& paths) {
  std::string lines;
  for (const fs::path& path : paths) {
    if (path.string().starts_with("/tmp/")) lines += path.string() + "\n";
  }
  return lines;
}

const char* IsolationName(Isolation isolation) {
  return isolation == Isolation::kNamespaces ? "namespaces" : "process";
}

Sandbox::Sandbox(const Installation& installation, Isolation isolation, Without without, DeviceAccess access)
    : keeper_(installation.libexec / "kb-keeper"),
      inside_(installation.libexec / "kb-inside"),
      isolation_(isolation),
      without_(std::move(without)),
      missing_(without_),
      access_(std::move(access)) {
  missing_.insert(access_.excludes.begin(), access_.excludes.end());
}

// An error says what refused.
Status Sandbox::Try(Entry entry, const std::string& bwrap) {
  entry_ = entry;
  bwrap_ = bwrap;
  SandboxSpec probe;
  probe.argv = {"/bin/sh", "-c", ":"};
  probe.own_scratch = true;
  const auto tried = RunToEnd(Wrap(probe), std::chrono::seconds(20));
  if (!tried) return tl::make_unexpected(tried.error());
  return tried->status.ok() ? Status() : Fail(ErrorCode::kUnavailable, tried->output.substr(0, 300));
}

Result<Sandbox> Sandbox::Create(const Installation& installation, Isolation isolation, Without without,
                                DeviceAccess access) {
  Sandbox sandbox(installation, isolation, std::move(without), std::move(access));
  std::vector<Entry> entries = {Entry::kAsWeAre};
  if (!sandbox.without_.contains("user")) {
    KB_ASSIGN_OR_RETURN(const std::optional<uid_t> user, CandidateUser());
    sandbox.user_ = user.value_or(0);
    if (user) entries = {Entry::kInside, Entry::kBefore};
  }
  if (isolation == Isolation::kProcess) {
    if (LandlockAbi() == 0 && !sandbox.without_.contains("landlock")) {
      return Fail(
          ErrorCode::kUnavailable,
          "this kernel has no landlock, which keeps candidates from your files where there are no namespaces; use "
          "--isolation=namespaces, or a kernel with landlock in its list of security modules");
    }
    if (const std::string cache = CacheInSystem(); !cache.empty()) {
      return Fail(
          ErrorCode::kUnavailable,
          fmt::format(
              "without namespaces a candidate could read and lock the build cache {}; set KERNELBENCH_CACHE to a "
              "directory that is not below one of the system's, such as /usr and /opt",
              cache));
    }
    TempDir::SweepHeld(kScratch, sandbox.user_ != 0 ? "/tmp" : "",
                       [](uid_t owner) { return owner == geteuid() || (geteuid() == 0 && IsCandidateUser(owner)); });
    const Status tried = sandbox.Try(entries.back(), "");
    KB_RETURN_IF_ERROR(sandbox.CheckReadable({installation.libexec}));
    if (tried) return sandbox;
    if (tried.error().code == ErrorCode::kInterrupted) return tl::make_unexpected(tried.error());
    return Fail(
        ErrorCode::kUnavailable,
        fmt::format("candidates may not run as the machine's root, and this machine refuses another user ({}); start "
                    "kernelbench as an ordinary user",
                    tried.error().message));
  }
  std::string refusal = "there is no bwrap";
  for (const std::string& bwrap : Bubblewraps(installation)) {
    for (const Entry entry : entries) {
      const Status tried = sandbox.Try(entry, bwrap);
      if (tried) return sandbox;
      if (tried.error().code == ErrorCode::kInterrupted) return tl::make_unexpected(tried.error());
      refusal = tried.error().message;
    }
  }
  return Fail(
      ErrorCode::kUnavailable,
      fmt::format("this machine refuses the namespaces that candidates are isolated in ({}). Install bubblewrap and "
                  "allow user namespaces (sysctl user.max_user_namespaces), or accept weaker isolation with "
                  "--isolation=process; results will say so.",
                  refusal));
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

Confinement Sandbox::ConfinementFor(uint64_t memory_bytes, bool with_device) const {
  const bool namespaces = isolation_ == Isolation::kNamespaces, device = with_device && !access_.files.empty();
  std::vector<std::string> readable, writable = {"/dev/null"};
  if (namespaces) {
    writable.insert(writable.end(), {"/tmp", "/dev/shm"});
  } else {
    readable = {"/proc", kCpuFacts, "/dev/urandom", "/dev/random", "/dev/zero"};
    readable.insert(readable.end(), std::begin(kSystem), std::end(kSystem));
    readable.insert(readable.end(), std::begin(kEtc), std::end(kEtc));
    if (device) readable.emplace_back("/sys");
  }
  if (device) {
    writable.insert(writable.end(), access_.files.begin(), access_.files.end());
    writable.insert(writable.end(), access_.writable.begin(), access_.writable.end());
  }
  return {.memory_bytes = memory_bytes,
          .file_bytes = uint64_t{64} << 20,
          .tmp_bytes = uint64_t{256} << 20,
          .readable = std::move(readable),
          .writable = std::move(writable),
          .without = missing_,
          .gpu = device,
          .namespaces = namespaces};
}

Status Sandbox::CheckReadable(const std::vector<fs::path>& paths) const {
  if (entry_ == Entry::kAsWeAre) return {};
  const bool on_the_way = entry_ == Entry::kBefore;  // otherwise root shows each path under directories that are open
  return CheckOpenToOthers(paths, on_the_way);
}

Result<std::optional<TempDir>> Sandbox::MakeScratch(const std::vector<fs::path>& paths,
                                                    Confinement* confinement) const {
  if (isolation_ == Isolation::kNamespaces) return std::nullopt;
  // Another user comes to no directory below one that is closed to others, as $TMPDIR may be.
  KB_ASSIGN_OR_RETURN(TempDir scratch, TempDir::CreateHeld(kScratch, user_ != 0 ? "/tmp" : ""));
  if (user_ != 0 && chown(scratch.path().c_str(), user_, user_) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot hand a temporary directory to the user that candidates run as");
  }
  confinement->scratch = scratch.path();
  // Shared memory may be large files, of which a disk has no room for many.
  if (!confinement->judges) confinement->writable.push_back(scratch.path());
  for (const fs::path& path : paths) confinement->readable.push_back(path);
  return std::optional(std::move(scratch));
}

Sandbox Sandbox::Apart(int number) const {
  Sandbox apart = *this;
  if (user_ != 0) apart.user_ += 2 * (1 + static_cast<uid_t>(number) % kApartUsers);
  return apart;
}

Status Sandbox::HoldsDeviceProcess() const {
  if (LandlockAbi() == 0 || missing_.contains("landlock") || missing_.contains("seccomp")) {
    return Fail(
        ErrorCode::kUsage,
        "this machine cannot confine a problem that a client sends: its kernel has no landlock; name a problem");
  }
  const bool sees_others = isolation_ == Isolation::kProcess || missing_.contains("pid-namespace");
  if (user_ != 0 || !sees_others) return {};
  return Fail(ErrorCode::kUsage,
              "this service cannot confine a problem that a client sends: without PID namespaces, as on a GPU or with "
              "--isolation=process, that takes a user of its own, and only root can give it one; name a problem");
}

Confinement Sandbox::ConfinementOfDeviceProcess(uint64_t memory_bytes) const {
  Confinement confinement = ConfinementFor(memory_bytes);
  confinement.judges = true;
  confinement.file_bytes = memory_bytes;
  confinement.without.insert("pid-namespace");  // it stays where its runners are below it
  return confinement;
}

SpawnOptions Sandbox::Wrap(const SandboxSpec& spec) const {
  SpawnOptions options;
  options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8", "TMPDIR=/tmp"};
  options.environment.insert(options.environment.end(), spec.environment.begin(), spec.environment.end());
  options.inherit = spec.inherit;
  options.stdout_fd = spec.stdout_fd;
  options.stderr_fd = spec.stderr_fd;
  options.seat = spec.seat;
  options.directory = "/";
  options.first_to_end = true;  // and not the device process, which has as much memory
  options.stop_signal = SIGTERM;
  const auto add = [&](std::initializer_list<std::string> words) {
    options.argv.insert(options.argv.end(), words.begin(), words.end());
  };
  // Where a GPU's driver needs them to see each other's processes, a candidate must not be the zygote's user.
  const std::string user = std::to_string(user_ + (entry_ == Entry::kInside && spec.own_scratch ? 1 : 0));
  add({keeper_});
  // The keepers stay outside its control groups: what fills those must not end them.
  std::vector<std::string> outside = {inside_};
  for (const int group : spec.join) {
    outside.insert(outside.end(), {"--join", std::to_string(group)});
    options.inherit.push_back(group);
  }
  if (entry_ == Entry::kBefore) outside.insert(outside.end(), {"--user", user});
  if (outside.size() > 1) options.argv.insert(options.argv.end(), outside.begin(), outside.end());
  if (isolation_ == Isolation::kNamespaces) AddNamespaces(spec, &options);
  std::vector<std::string> inside = {inside_};
  if (spec.own_scratch && isolation_ == Isolation::kNamespaces && !missing_.contains("mount-namespace")) {
    const nlohmann::json scratch = {
        {"bytes", spec.tmp_bytes}, {"keep", BelowTmp(Shown(spec))}, {"proc_read_only", access_.files.empty()}};
    inside.insert(inside.end(), {"--scratch", scratch.dump()});
  }
  if (entry_ == Entry::kInside) inside.insert(inside.end(), {"--user", user});
  if (spec.confinement) inside.insert(inside.end(), {"--confine", nlohmann::json(*spec.confinement).dump()});
  if (inside.size() > 1) options.argv.insert(options.argv.end(), inside.begin(), inside.end());
  options.argv.insert(options.argv.end(), spec.argv.begin(), spec.argv.end());
  return options;
}

// What is visible beside the system. Parents before children: a path below another one would be hidden by it.
std::vector<fs::path> Sandbox::Shown(const SandboxSpec& spec) const {
  std::vector<fs::path> paths = spec.read_only;
  paths.push_back(fs::path(inside_).parent_path());
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

// The arguments of bubblewrap.
void Sandbox::AddNamespaces(const SandboxSpec& spec, SpawnOptions* options) const {
  std::vector<std::string>& argv = options->argv;
  const auto with = [&](const char* barrier) { return !missing_.contains(barrier); };
  if (!with("environment")) {
    for (char** variable = environ; *variable != nullptr; ++variable) options->environment.emplace_back(*variable);
  }
  argv.insert(argv.end(), {bwrap_, "--die-with-parent", "--new-session", "--cap-drop", "ALL"});
  if (entry_ == Entry::kInside) {
    for (const char* power : {"CAP_SETUID", "CAP_SETGID", "CAP_SYS_ADMIN"}) {
      argv.insert(argv.end(), {"--cap-add", power});
    }
  } else {
    // Root could not hand itself to a namespace below, so everybody is an ordinary user inside.
    argv.insert(argv.end(), {"--unshare-user", "--uid", "1000", "--gid", "1000"});
  }
  // bubblewrap's own first process would be neither frozen nor filtered.
  if (spec.own_pids ? !without_.contains("pid-namespace") : with("pid-namespace"))
    argv.insert(argv.end(), {"--unshare-pid", "--as-pid-1"});
  if (with("network-namespace")) argv.emplace_back("--unshare-net");
  if (with("ipc-namespace")) argv.emplace_back("--unshare-ipc");
  if (with("uts-namespace")) argv.insert(argv.end(), {"--unshare-uts", "--hostname", "sandbox"});
  if (with("mount-namespace")) {
    BindSystem(spec.tmp_bytes, Shown(spec), access_.files, &argv);
  } else {
    argv.insert(argv.end(), {"--dev-bind", "/", "/"});
  }
  for (const auto& [fd, path] : spec.files) {
    argv.insert(argv.end(), {"--dir", fs::path(path).parent_path().string(), "--file", std::to_string(fd), path});
    options->inherit.push_back(fd);
  }
  if (with("mount-namespace")) {
    // bubblewrap's / and /dev are memory without a limit, which all runners of a zygote would share.
    argv.insert(argv.end(), {"--perms", "1777", "--size", std::to_string(spec.tmp_bytes), "--tmpfs", "/dev/shm",
                             "--remount-ro", "/dev", "--remount-ro", "/"});
  }
  argv.insert(argv.end(), {"--chdir", "/tmp", "--"});
}

}  // namespace kb
