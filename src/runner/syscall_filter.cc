#include "runner/syscall_filter.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace kb::runner {
namespace {

// To candidates and to what an agent starts.
constexpr const char* kDenied[] = {
    // Wide interfaces of the kernel.
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    // Namespaces and mounts.
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fspick",
    "fsmount",
    "fsconfig",
    "mount_setattr",
    "quotactl",
    "name_to_handle_at",
    "open_by_handle_at",
    "fanotify_init",
    // The machine.
    "swapon",
    "swapoff",
    "reboot",
    "kexec_load",
    "init_module",
    "finit_module",
    "delete_module",
    "syslog",
    "acct",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
    // Who runs when and where.
    "ioprio_set",
    "migrate_pages",
    "move_pages",
    // What wakes a stopped process.
    "mq_notify",
};

// To candidates alone.
constexpr const char* kDeniedToCandidates[] = {
    // Other processes.
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_open",
    "pidfd_getfd",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    // What wakes a stopped process, or goes on while it is stopped.
    "timer_create",
    "timerfd_create",
    "io_setup",
    "io_submit",
    "personality",
    // Rules on top of these: a kernel that compiles many of them holds up every other process.
    "seccomp",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    // Who runs when and where.
    "setpriority",
    "sched_setscheduler",
    "sched_setparam",
    "sched_setattr",
    // What outlives a process, and takes the kernel long to tear down.
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "semget",
    "semop",
    "semtimedop",
    "semctl",
    "shmget",
    "shmat",
    "shmctl",
    "mq_open",
    "mq_unlink",
};

class Filter {
 public:
  Filter() : filter_(seccomp_init(SCMP_ACT_ALLOW)), ok_(filter_ != nullptr) {}

  // Denies a call if all comparisons hold.
  template <typename... Comparisons>
  void Deny(int call, Comparisons... comparisons) {
    Answer(EPERM, call, comparisons...);
  }
  template <typename... Comparisons>
  void Answer(int error, int call, Comparisons... comparisons) {
    const uint32_t action = SCMP_ACT_ERRNO(static_cast<uint32_t>(error));
    ok_ = ok_ && seccomp_rule_add(filter_.get(), action, call, sizeof...(comparisons), comparisons...) == 0;
  }
  template <size_t kCount>
  void DenyAll(const char* const (&names)[kCount]) {
    for (const char* name : names) {
      const int number = seccomp_syscall_resolve_name(name);
      if (number != __NR_SCMP_ERROR) Deny(number);
    }
  }
  Status Load() {
    if (!ok_) return Fail(ErrorCode::kUnavailable, "cannot build the seccomp filter");
    // Kernels before 5.16 take a filter for a wish to be slower: they turn speculation off where it may leak. The
    // device process has no filter, so a runner is asked to stay as fast. Kernels that know no such wish refuse it.
    (void)seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_SSB, 1);
    if (seccomp_load(filter_.get()) != 0) return Fail(ErrorCode::kUnavailable, "cannot load the seccomp filter");
    return {};
  }
  Status Write(int fd) {
    if (ok_ && seccomp_export_bpf(filter_.get(), fd) == 0) return {};
    return Fail(ErrorCode::kUnavailable, "cannot build the seccomp filter");
  }

 private:
  struct Release {
    void operator()(void* filter) const { seccomp_release(filter); }
  };
  std::unique_ptr<void, Release> filter_;
  bool ok_;
};

// The low half of an argument, which is all that the kernel reads of an int.
scmp_arg_cmp IntIs(unsigned argument, int value) {
  return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, 0xffffffff, static_cast<scmp_datum_t>(value));
}
scmp_arg_cmp HasFlag(unsigned argument, int flag) {
  const auto set = static_cast<scmp_datum_t>(flag);
  return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, set, set);
}

// New threads are allowed, new processes only to what starts programs, new namespaces to nobody.
void DenyProcesses(bool programs, Filter* filter) {
  // clone3 hides its flags in memory: without it libc uses clone.
  filter->Answer(ENOSYS, SCMP_SYS(clone3));
  for (const int flag :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    filter->Deny(SCMP_SYS(clone), HasFlag(0, flag));
  }
  if (programs) return;
  for (const int call : {SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(execveat)}) filter->Deny(call);
  filter->Deny(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  // No thread that cannot be stopped while it waits for another.
  filter->Deny(SCMP_SYS(clone), HasFlag(0, CLONE_VFORK));
}

// Nothing that makes the kernel send SIGCONT later, which wakes a stopped process, and signals only to oneself (abort
// needs that). What programs do to each other ends at their namespace; where they have none, they send no signals.
void DenySignals(bool among_themselves, Filter* filter) {
  for (const int command : {F_SETSIG, F_SETOWN, F_SETOWN_EX}) filter->Deny(SCMP_SYS(fcntl), IntIs(1, command));
  for (const int command : {FIOSETOWN, SIOCSPGRP}) filter->Deny(SCMP_SYS(ioctl), IntIs(1, command));
  filter->Deny(SCMP_SYS(prctl), IntIs(0, PR_SET_PDEATHSIG));
  filter->Deny(SCMP_SYS(kill), IntIs(1, SIGCONT));
  filter->Deny(SCMP_SYS(tgkill), IntIs(2, SIGCONT));
  filter->Deny(SCMP_SYS(tkill));
  if (among_themselves) return;
  const auto self = static_cast<scmp_datum_t>(getpid());
  filter->Deny(SCMP_SYS(kill), SCMP_A0(SCMP_CMP_NE, self));
  filter->Deny(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_NE, self));
}

// The other calls that install a filter.
void DenyRules(Filter* filter) {
  filter->Deny(SCMP_SYS(prctl), IntIs(0, PR_SET_SECCOMP));
  for (const int option : {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
    filter->Deny(SCMP_SYS(setsockopt), IntIs(1, SOL_SOCKET), IntIs(2, option));
  }
}

// No network, and no sockets but pairs of streams: a datagram's sender chooses where it goes. NVIDIA's driver listens
// at a Unix socket, and may connect to those of its own namespace.
void DenySockets(bool namespaces, bool gpu, Filter* filter) {
  if (gpu) {
    filter->Deny(SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_UNIX));
    if (namespaces) return;
  } else {
    filter->Deny(SCMP_SYS(socket));
  }
  filter->Deny(SCMP_SYS(connect));
  if (!gpu) filter->Deny(SCMP_SYS(bind));
  filter->Deny(SCMP_SYS(socketpair), SCMP_A0(SCMP_CMP_NE, AF_UNIX));
  for (const int type : {SOCK_DGRAM, SOCK_RAW}) {
    const auto is = SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, static_cast<scmp_datum_t>(type));
    filter->Deny(SCMP_SYS(socketpair), is);
    if (gpu) filter->Deny(SCMP_SYS(socket), is);
  }
}

// Some families reach past a network namespace: vsock the host of a virtual machine.
void DenyOtherFamilies(Filter* filter) {
  for (int family = 0; family < AF_MAX; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    filter->Answer(EAFNOSUPPORT, SCMP_SYS(socket), IntIs(0, family));
  }
  filter->Answer(EAFNOSUPPORT, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_GE, AF_MAX));
}

}  // namespace

Status InstallSyscallFilter(const Confinement& limits) {
  Filter filter;
  filter.DenyAll(kDenied);
  filter.DenyAll(kDeniedToCandidates);
  // Limits of others: without a PID namespace those are all processes of the same user.
  filter.Deny(SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_NE, 0));
  // Cores differ in how fast they launch, so the judge chooses one for both sides (device/core_seat.h).
  if (limits.gpu && !limits.judges) filter.Deny(SCMP_SYS(sched_setaffinity));
  // A PID namespace or a user of its own bounds whom a device process reaches.
  if (!limits.judges) filter.Deny(SCMP_SYS(pidfd_send_signal));
  DenyProcesses(limits.programs, &filter);
  DenySignals(limits.programs && limits.namespaces, &filter);
  DenyRules(&filter);
  DenySockets(limits.namespaces, limits.gpu, &filter);
  return filter.Load();
}

Status WriteAgentFilter(bool cores_are_set, int fd) {
  Filter filter;
  filter.DenyAll(kDenied);
  if (cores_are_set) filter.Deny(SCMP_SYS(sched_setaffinity));
  DenyProcesses(true, &filter);
  // With SIGCONT these wake a process that the engine has stopped. `timeout` does without, if told that there is none.
  filter.Answer(ENOSYS, SCMP_SYS(timer_create));
  filter.Deny(SCMP_SYS(fcntl), IntIs(1, F_SETSIG));
  DenyOtherFamilies(&filter);
  return filter.Write(fd);
}

}  // namespace kb::runner
