#include "judge/doctor/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/interrupt.h"
#include "judge/compile/compiler.h"
#include "judge/process/device_process.h"
#include "judge/process/runner_process.h"
#include "judge/process/zygote.h"
#include "judge/sandbox/cgroup.h"

namespace kb {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kVariable = "KERNELBENCH_DOCTOR";  // in our environment, so it must not be in a runner's

// What a candidate must not reach, put up to be reached: each would work for an unconfined process of this user.
class Lures {
 public:
  explicit Lures(const fs::path& directory) {
    setenv(kVariable, "1", 1);
    std::string pattern = (directory / "doctor-XXXXXX").string();
    const Fd file(mkstemp(pattern.data()));
    if (file.valid()) secret_file_ = pattern;

    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof loopback;
    tcp_ = Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bind(tcp_.get(), reinterpret_cast<sockaddr*>(&loopback), size);
    listen(tcp_.get(), 4);
    getsockname(tcp_.get(), reinterpret_cast<sockaddr*>(&loopback), &size);
    port_ = ntohs(loopback.sin_port);

    sockaddr_un abstract{};
    abstract.sun_family = AF_UNIX;
    name_ = fmt::format("kernelbench-doctor-{}", getpid());
    name_.copy(abstract.sun_path + 1, name_.size());
    unix_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bind(unix_.get(), reinterpret_cast<sockaddr*>(&abstract),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size()));
    listen(unix_.get(), 4);

    shm_ = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  }
  Lures(const Lures&) = delete;  // owns a file and a segment
  Lures& operator=(const Lures&) = delete;
  ~Lures() {
    if (!secret_file_.empty()) unlink(secret_file_.c_str());
    if (shm_ >= 0) shmctl(shm_, IPC_RMID, nullptr);
    unsetenv(kVariable);
  }

  worker::Probe Probe(const Confinement& confinement, int threads) const {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    return {.pid = getpid(),
            .secret_file = secret_file_,
            .abstract_socket = name_,
            .tcp_port = port_,
            .shm_id = shm_,
            .variable = kVariable,
            .hostname = host,
            .threads = threads,
            .confinement = confinement,
            .keep = ""};
  }

 private:
  std::string secret_file_, name_;
  Fd tcp_, unix_;
  int port_ = 0, shm_ = -1;
};

void AddProbes(const char* runner, const Result<std::string>& printed, Diagnosis* diagnosis) {
  const auto failed = [&](std::string why) {
    diagnosis->checks.push_back({"isolation", fmt::format("{} runner", runner), "missing", std::move(why),
                                 "this is a fault of the engine or of this machine; please report it"});
  };
  if (!printed) return failed(printed.error().message);
  std::istringstream lines(*printed);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json probe = json::parse(line, nullptr, false);
    if (!probe.is_object()) return failed("it printed: " + line);
    diagnosis->probes.push_back(
        {runner, probe.at("barrier"), probe.at("forbidden"), probe.at("detail"), probe.at("holds")});
  }
  if (count == 0) failed("it printed nothing");
}

// What is wanted, or what is left.
Result<Sandbox> FindSandbox(const Installation& installation, Isolation wanted, const Without& without,
                            Diagnosis* diagnosis) {
  auto sandbox = Sandbox::Create(installation, wanted, without);
  if (sandbox) {
    if (wanted == Isolation::kNamespaces) {
      diagnosis->checks.push_back({"isolation", "namespaces", "ok", "user, mount, PID, network, IPC, UTS", ""});
    }
    return sandbox;
  }
  if (wanted == Isolation::kProcess || sandbox.error().code == ErrorCode::kInterrupted) return sandbox;
  diagnosis->checks.push_back({"isolation", "namespaces", "missing", sandbox.error().message,
                               "without them only --isolation=process runs, and each result says so"});
  return Sandbox::Create(installation, Isolation::kProcess, without);
}

void CheckKernel(Diagnosis* diagnosis) {
  const int abi = LandlockAbi();
  if (abi >= 6) {
    diagnosis->checks.push_back({"isolation", "landlock", "ok", fmt::format("ABI {}", abi), ""});
  } else {
    diagnosis->checks.push_back(
        {"isolation", "landlock", "warning",
         abi == 0 ? "this kernel has none" : fmt::format("ABI {}: no scopes for signals and abstract sockets", abi),
         "Linux 6.12 or later, with landlock in its list of security modules"});
  }
  if (CgroupsOffered()) {
    diagnosis->checks.push_back({"isolation", "control groups", "ok", "memory and number of threads are limited", ""});
  } else {
    diagnosis->checks.push_back({"isolation", "control groups", "warning",
                                 "none can be made here: threads are not limited, memory only by rlimits",
                                 "run as root, or in a delegated group (systemd-run --user --scope -p Delegate=yes)"});
  }
}

// Tools, and with them the module runners' zygote.
void CheckPython(const Installation& installation, const Sandbox& sandbox, const worker::Probe& probe,
                 Diagnosis* diagnosis) {
  const auto python = FindPython(installation);
  diagnosis->backends = BackendsHere(python);
  if (!python) {
    diagnosis->checks.push_back({"tools", "PyTorch", "missing", python.error().message, "run ./quickstart"});
    return;
  }
  diagnosis->checks.push_back({"tools", "PyTorch", "ok", python->executable, ""});
  auto zygote = Zygote::Start(installation, sandbox, *python, Host(), 1);
  AddProbes("module", zygote ? zygote->Probe(probe) : tl::make_unexpected(zygote.error()), diagnosis);
  if (const Status holds = sandbox.HoldsDeviceProcess(); !holds) {
    diagnosis->checks.push_back(
        {"isolation", "problems that clients send", "warning", holds.error().message, "name problems instead"});
    return;
  }
  worker::Probe of_problem = probe;  // in the place of its device process
  of_problem.confinement = sandbox.ConfinementOfDeviceProcess(probe.confinement.memory_bytes);
  AddProbes("problem", zygote ? zygote->Probe(of_problem) : tl::make_unexpected(zygote.error()), diagnosis);
}

}  // namespace

Result<Diagnosis> Diagnose(const Installation& installation, Isolation wanted, const Without& without,
                           const fs::path& state_directory) {
  Diagnosis diagnosis;
  for (Check& check : ResourceChecks(state_directory)) diagnosis.checks.push_back(std::move(check));
  for (Check& check : TimingChecks()) diagnosis.checks.push_back(std::move(check));
  const auto compiler = FindCompiler();
  diagnosis.checks.push_back(
      compiler ? Check{"tools", "C++ compiler", "ok", compiler->version, ""}
               : Check{"tools", "C++ compiler", "missing", compiler.error().message, "install g++ 12 or later"});
  const Lures lures(state_directory);
  KB_ASSIGN_OR_RETURN(const Sandbox sandbox, FindSandbox(installation, wanted, without, &diagnosis));
  CheckKernel(&diagnosis);
  diagnosis.isolation = IsolationName(sandbox.isolation());
  diagnosis.barriers = sandbox.Barriers();
  const bool groups = CgroupsOffered();
  // Without groups there is no limit to be probed; a group taken away is one that must be seen to be missing.
  const int limited = groups ? kRunnerThreads : 0;
  const worker::Probe probe = lures.Probe(sandbox.ConfinementFor(uint64_t{2} << 30), limited);
  AddProbes("native", ProbeNative(installation, sandbox, probe), &diagnosis);
  CheckPython(installation, sandbox, probe, &diagnosis);
  // After Ctrl-C every wait fails at once, which says nothing about the machine.
  if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
  return diagnosis;
}

bool Diagnosis::Healthy() const {
  return std::none_of(checks.begin(), checks.end(), [](const Check& check) { return check.state == "missing"; }) &&
         std::all_of(probes.begin(), probes.end(), [](const Probe& probe) { return probe.holds; });
}

json Diagnosis::ToJson() const {
  json listed = json::array(), tried = json::array();
  for (const Check& check : checks) {
    listed.push_back({{"group", check.group},
                      {"name", check.name},
                      {"state", check.state},
                      {"detail", check.detail},
                      {"remedy", check.remedy}});
  }
  for (const Probe& probe : probes) {
    tried.push_back({{"runner", probe.runner},
                     {"barrier", probe.barrier},
                     {"forbidden", probe.forbidden},
                     {"holds", probe.holds},
                     {"detail", probe.detail}});
  }
  json judged = json::array();
  for (const BackendHere& each : backends) {
    judged.push_back(
        {{"backend", each.name}, {"judged", each.lacks.empty()}, {"with", each.with}, {"lacks", each.lacks}});
  }
  return {{"schema", 1},          {"healthy", Healthy()}, {"isolation", isolation}, {"backends", judged},
          {"barriers", barriers}, {"checks", listed},     {"probes", tried}};
}

}  // namespace kb
