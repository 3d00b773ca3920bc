#include "runner/probes.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/fd.h"

namespace kb::runner {
namespace {

struct Attempt {
  const char* barrier;
  const char* forbidden;
  std::function<bool()> possible;
};

bool Opens(const std::string& path, int flags) { return Fd(open(path.c_str(), flags | O_CLOEXEC, 0600)).valid(); }

bool Connects(int family, const sockaddr* address, socklen_t size) {
  const Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd.valid() && connect(fd.get(), address, size) == 0;
}

bool ConnectsTcp(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return Connects(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

bool ConnectsAbstract(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return Connects(AF_UNIX, reinterpret_cast<const sockaddr*>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
}

// A child that could be made ends at once.
bool Forks(long (*make)()) {
  const long child = make();
  if (child == 0) _exit(0);
  if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child > 0;
}

// One byte at `offset`, which makes the file that long; SIGXFSZ is an error here, not a death.
bool GrowsTo(const char* directory, uint64_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  const std::string path = std::string(directory) + "/kb-probe";
  const Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return false;
  const bool grown = pwrite(fd.get(), "x", 1, static_cast<off_t>(bytes)) == 1;
  const int error = errno;
  unlink(path.c_str());
  errno = error;
  return grown;
}

// Fills a directory with files of `piece` bytes until `bytes` are there.
bool Holds(const char* directory, uint64_t bytes, uint64_t piece) {
  std::vector<std::string> files;
  uint64_t held = 0;
  while (held < bytes) {
    files.push_back(std::string(directory) + "/kb-probe-" + std::to_string(files.size()));
    const Fd fd(open(files.back().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid()) break;
    if (const int failed = posix_fallocate(fd.get(), 0, static_cast<off_t>(piece)); failed != 0) {
      errno = failed;
      break;
    }
    held += piece;
  }
  const int error = errno;
  for (const std::string& file : files) unlink(file.c_str());
  errno = error;
  return held >= bytes;
}

bool MakesFiles(const std::string& directory, int wanted) {
  const auto path = [&](int i) { return directory + "/kb-file-" + std::to_string(i); };
  int made = 0;
  while (made < wanted && Opens(path(made), O_CREAT | O_WRONLY)) ++made;
  const int error = errno;
  for (int i = 0; i < made; ++i) unlink(path(i).c_str());
  errno = error;
  return made == wanted;
}

// Threads as the kernel counts them: a few kilobytes each, which only wait to be ended.
bool StartsThreads(int wanted) {
  static int word = 0;
  std::vector<pthread_t> threads;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  const auto wait = [](void*) -> void* {
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, nullptr);
    return nullptr;
  };
  int failed = 0;
  while (static_cast<int>(threads.size()) < wanted && failed == 0) {
    pthread_t thread;
    failed = pthread_create(&thread, &attributes, wait, nullptr);
    if (failed == 0) threads.push_back(thread);
  }
  __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &word, 1 /* FUTEX_WAKE */, INT32_MAX, nullptr);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
  errno = failed;
  return failed == 0;
}

bool HasCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  syscall(SYS_capget, &header, sets);
  errno = 0;
  return (sets[0].permitted | sets[1].permitted | sets[0].inheritable | sets[1].inheritable) != 0;
}

std::vector<Attempt> FileProbes(const worker::Probe& probe) {
  const std::string secret = probe.secret_file;
  const uint64_t tmp = probe.confinement.tmp_bytes, file = probe.confinement.file_bytes;
  return {
      {"mount-namespace", "reading a file of the user", [=] { return Opens(secret, O_RDONLY); }},
      {"mount-namespace", "writing into the system", [] { return Opens("/usr/kb-probe", O_WRONLY | O_CREAT); }},
      {"mount-namespace", "writing into /", [] { return Opens("/kb-probe", O_WRONLY | O_CREAT); }},
      {"mount-namespace", "filling the disk through /tmp", [=] { return Holds("/tmp", tmp + (8 << 20), 8 << 20); }},
      {"mount-namespace", "twenty thousand files in /tmp", [] { return MakesFiles("/tmp", 20'000); }},
      {"mount-namespace", "filling memory through /dev/shm",
       [=] { return Holds("/dev/shm", tmp + (8 << 20), 8 << 20); }},
      {"user", "opening a setting of the machine", [] { return Opens("/proc/sys/vm/drop_caches", O_WRONLY); }},
      {"landlock", "opening a device for writing", [] { return Opens("/dev/zero", O_WRONLY); }},
      {"rlimits", "a file larger than the limit", [=] { return GrowsTo("/tmp", file + 1); }},
  };
}

std::vector<Attempt> ProcessProbes(const worker::Probe& probe) {
  const pid_t engine = probe.pid;
  const std::string host = probe.hostname;
  const std::string memory = "/proc/" + std::to_string(engine) + "/mem";
  const std::string supervisor = "/proc/" + std::to_string(getppid()) + "/mem";
  return {
      {"seccomp", "fork", [] { return Forks([]() -> long { return fork(); }); }},
      {"seccomp", "clone as a process",
       [] { return Forks([]() -> long { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }); }},
      {"seccomp", "clone3", [] { return syscall(SYS_clone3, nullptr, 0) == -1 && errno != ENOSYS; }},
      {"seccomp", "executing a program",
       [] {
         const char* none[] = {nullptr};
         // A path that is not there tells the filter's answer from the file system's, and nothing is executed.
         return syscall(SYS_execve, "/kb-no-such-program", none, none) == -1 && errno == ENOENT;
       }},
      {"uts-namespace", "learning the machine's name",
       [=] {
         char name[256] = {};
         gethostname(name, sizeof name - 1);
         errno = 0;
         return host == name;
       }},
      {"pid-namespace", "a signal to the engine", [=] { return kill(engine, 0) == 0; }},
      {"pid-namespace", "opening the engine's memory", [=] { return Opens(memory, O_RDONLY); }},
      {"pid-namespace", "tracing the engine",
       [=] {
         const bool traced = ptrace(PTRACE_SEIZE, engine, nullptr, nullptr) == 0;
         if (traced) ptrace(PTRACE_DETACH, engine, nullptr, nullptr);
         return traced;
       }},
      {"seccomp", "a signal to everyone", [] { return kill(-1, 0) == 0; }},
      {"seccomp", "opening the supervisor's memory", [=] { return Opens(supervisor, O_RDWR); }},
      {"seccomp", "reading another process's memory",
       [] {
         char byte = 0;
         iovec here{&byte, 1}, there{&byte, 1};
         return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
       }},
      {"seccomp", "a handle on another process",
       [] { return Fd(static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0))).valid(); }},
  };
}

std::vector<Attempt> NetworkProbes(const worker::Probe& probe) {
  const int port = probe.tcp_port, shm = probe.shm_id;
  const std::string name = probe.abstract_socket;
  return {
      {"network-namespace", "a TCP connection to this machine", [=] { return ConnectsTcp(port); }},
      {"network-namespace", "an abstract socket of another process", [=] { return ConnectsAbstract(name); }},
      {"ipc-namespace", "System V shared memory of another process",
       [=] {
         void* memory = shmat(shm, nullptr, SHM_RDONLY);
         if (memory == reinterpret_cast<void*>(-1)) return false;
         shmdt(memory);
         return true;
       }},
  };
}

std::vector<Attempt> KernelProbes() {
  return {
      {"seccomp", "new namespaces", [] { return unshare(CLONE_NEWUSER) == 0; }},
      {"seccomp", "mounting", [] { return mount("tmpfs", "/tmp", "tmpfs", 0, "size=4k") == 0; }},
      {"seccomp", "io_uring", [] { return syscall(SYS_io_uring_setup, 1, nullptr) == -1 && errno == EFAULT; }},
      {"seccomp", "bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0) == -1 && errno != EPERM; }},
      {"seccomp", "a filter of its own",
       [] {
         sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
         const sock_fprog filter{1, &allow};
         return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
       }},
      {"seccomp", "performance counters",
       [] {
         perf_event_attr attributes{};
         attributes.size = sizeof attributes;
         attributes.exclude_kernel = 1;
         return Fd(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0))).valid();
       }},
      {"seccomp", "keyrings", [] { return syscall(SYS_keyctl, 0 /* get id */, -3 /* session */, 1) >= 0; }},
      {"seccomp", "userfaultfd", [] { return Fd(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))).valid(); }},
      {"seccomp", "another scheduling policy",
       [] {
         const sched_param none{0};
         return sched_setscheduler(0, SCHED_BATCH, &none) == 0;
       }},
      {"seccomp", "setting the clock",
       [] {
         timespec now{};
         clock_gettime(CLOCK_REALTIME, &now);
         return clock_settime(CLOCK_REALTIME, &now) == 0;
       }},
      {"seccomp", "another host name", [] { return sethostname("kb", 2) == 0; }},
      {"capabilities", "any capability", [] { return HasCapabilities(); }},
  };
}

std::vector<Attempt> ResourceProbes(const worker::Probe& probe) {
  const uint64_t memory = probe.confinement.memory_bytes;
  const int threads = probe.threads;
  const std::string variable = probe.variable;
  std::vector<Attempt> probes = {
      {"rlimits", "more private memory than the limit",
       [=] {
         void* block = mmap(nullptr, memory + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         if (block == MAP_FAILED) return false;
         munmap(block, memory + 1);
         return true;
       }},
      {"environment", "the engine's environment", [=] { return getenv(variable.c_str()) != nullptr; }},
  };
  if (threads > 0) {
    probes.push_back({"cgroup", "more threads than the limit", [=] { return StartsThreads(threads + 16); }});
  }
  return probes;
}

}  // namespace

std::vector<ProbeResult> RunProbes(const worker::Probe& probe) {
  std::vector<ProbeResult> results;
  for (const auto& probes :
       {FileProbes(probe), ProcessProbes(probe), NetworkProbes(probe), KernelProbes(), ResourceProbes(probe)}) {
    for (const Attempt& attempt : probes) {
      errno = 0;
      const bool possible = attempt.possible();
      const std::string detail = possible ? "possible" : errno != 0 ? strerror(errno) : "not there";
      results.push_back({attempt.barrier, attempt.forbidden, !possible, detail});
    }
  }
  return results;
}

void PrintProbes(const worker::Probe& probe) {
  for (const ProbeResult& result : RunProbes(probe)) {
    const nlohmann::json line = {{"barrier", result.barrier},
                                 {"forbidden", result.forbidden},
                                 {"holds", result.holds},
                                 {"detail", result.detail}};
    std::printf("%s\n", line.dump().c_str());
  }
  std::fflush(stdout);
}

}  // namespace kb::runner
