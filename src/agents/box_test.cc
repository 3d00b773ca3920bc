// Real boxes, and what hostile commands gain in them: nothing.
#include "agents/box.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "agents/box_test_util.h"
#include "base/cores.h"
#include "base/interrupt.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(BoxTest, OnlyACommandThatIsGivenADeviceSeesIt) {
  const TempDir nodes = TempDir::Create("kb-nodes", "/var/tmp").value();  // not in folders that are the box's own
  fs::permissions(nodes.path(), fs::perms(0755));
  const std::string node = nodes.path() / "gpu0";
  std::ofstream(node) << "a device\n";
  fs::permissions(node, fs::perms(0666));
  BoxDevice device{{.files = {node, (nodes.path() / "absent").string()}, .writable = {}, .excludes = {}},
                   {"DEVICE=gpu0"},
                   {UsableCores().front()}};
  const std::string look = "cat " + node + " && echo written >" + node + "; ls /sys; echo $DEVICE; nproc";
  EXPECT_THAT(Says(look), AllOf(HasSubstr("No such file"), Not(HasSubstr("class")), Not(HasSubstr("gpu0\n"))));
  const auto given = box().Run(look, {}, &device);
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_THAT(given->output, AllOf(StartsWith("a device\n"), HasSubstr("class"), EndsWith("gpu0\n1\n")));
  EXPECT_EQ(ReadFile(node).value(), "written\n");
  EXPECT_THAT(Says(look), HasSubstr("No such file")) << "the next one";
}

TEST_F(BoxTest, WhoRunsItMayEndIt) {
  const CommandResult result = Run("echo begun; echo >begun; sleep 600 & sleep 600",
                                   {.stop = [&] { return box().folder().Read("begun").has_value(); }});
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.Ending(), "stopped");
  EXPECT_EQ(result.output, "begun\n");
  EXPECT_THAT(Says(kProcesses), Not(HasSubstr("sleep")));
}

TEST_F(BoxTest, RunsCommandsInTheTaskFolder) {
  EXPECT_EQ(Says("pwd; echo one >&2; id -u; hostname"), "/task\none\n1000\nbox\n");
  EXPECT_EQ(Run("exit 3").Ending(), "exit code 3");
  EXPECT_EQ(Run("kill -SEGV $$").Ending(), "SIGSEGV (Segmentation fault)");
  EXPECT_EQ(Run("no_such_program_here").status.code, 127);
  EXPECT_EQ(Says("cat"), "") << "there is nothing to read";
  const auto too_long = box().Run(std::string(200'000, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, HasSubstr("into a file"));
}

TEST_F(BoxTest, FilesLastAndAreSeenFromOutside) {
  ASSERT_TRUE(box().folder().Write("src/a.c", "int main() { return 7; }\n"));
  EXPECT_EQ(Run("cc -o a src/a.c && ./a").status.code, 7);
  Run("echo kept >~/kept; echo kept >/tmp/kept; echo changed >>src/a.c; chmod 600 src/a.c");
  EXPECT_EQ(Says("cat ~/kept /tmp/kept"), "kept\nkept\n");
  const auto read = box().folder().Read("src/a.c");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, EndsWith("changed\n"));
  ASSERT_TRUE(box().folder().Edit("src/a.c", "changed\n", ""));
  EXPECT_EQ(Says("cat src/a.c; echo more >>src/a.c; tail -1 src/a.c"), "int main() { return 7; }\nmore\n");
}

TEST_F(BoxTest, AFileOfAnyModeIsNoTrap) {
  Run("echo x >closed; chmod 000 closed; mkdir -p d/e; echo y >d/e/f; chmod 000 d");
  const auto read = box().folder().Read("closed");
  if (geteuid() != 0 || box().user() != 0) {
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("chmod"));
  }
  const auto snapshot = box().folder().Take();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->files, IsEmpty());
  ASSERT_TRUE(box().folder().Restore({}));
  EXPECT_EQ(Says("ls -A"), "");
}

// What a model does when it wants more than it was given.
TEST_F(BoxTest, NothingElseIsThere) {
  auto outside = TempDir::Create("kernelbench-box");
  ASSERT_TRUE(outside);
  std::ofstream(outside->path() / "store.db") << "secret-of-the-store";
  chmod(outside->path().c_str(), 0777);
  setenv("KB_TEST_KEY", "secret-key", 1);
  const std::string store = (outside->path() / "store.db").string();
  EXPECT_FALSE(Run("cat " + store).status.ok());
  EXPECT_THAT(Says("ln -s " + store + " link; cat link; cat /proc/1/root" + store + " /proc/self/cwd/../" + store),
              Not(HasSubstr("secret-of")));
  EXPECT_THAT(Says("env; cat /proc/*/environ | tr '\\0' '\\n'"),
              AllOf(HasSubstr("HOME="), Not(HasSubstr("secret-key"))));
  EXPECT_EQ(Says("ls -A /root ~ /tmp 2>/dev/null | grep -v '^/\\|^$'; ls /home"), "agent\n");
  EXPECT_THAT(Says("ls /"), AllOf(Not(HasSubstr("opt")), Not(HasSubstr("root")), Not(HasSubstr("work"))));
  EXPECT_EQ(Says("ls /kb /etc/shadow 2>/dev/null; ls /dev | grep -E 'nvidia|kvm|sd|loop|vsock'"), "");
  EXPECT_EQ(Says("ls /proc/self/fd | wc -w").substr(0, 1), "4") << "three, and that of ls";
}

TEST_F(BoxTest, TheSessionKeyringIsANewOne) {
  ASSERT_GE(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr), 0);
  ASSERT_GE(syscall(SYS_add_key, "user", "kernelbench-test-key", "secret", 6, KEY_SPEC_SESSION_KEYRING), 0);
  EXPECT_THAT(Says("cat /proc/keys"), Not(HasSubstr("kernelbench-test-key")));
  syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
}

TEST_F(BoxTest, OtherProcessesAreOutOfReach) {
  EXPECT_EQ(Says(kProcesses), "1 bwrap\n2 bash\n");
  EXPECT_THAT(Says("cat /proc/*/cmdline | tr '\\0' ' '"), Not(HasSubstr("--ro-bind")));
  EXPECT_FALSE(Run("kill -9 " + std::to_string(getpid())).status.ok());
  Run("kill -9 -1");
  EXPECT_EQ(Says("echo alive"), "alive\n");
}

TEST_F(BoxTest, NoFurtherPowers) {
  for (const char* command : {"unshare -U true",
                              "unshare -m true",
                              "unshare -n true",
                              "mount -t tmpfs x /tmp",
                              "mount --bind /task /usr",
                              "umount /proc",
                              "chroot / true",
                              "mknod d b 7 0",
                              "nsenter -t 1 -m true",
                              "echo x >/usr/x",
                              "echo x >/etc/passwd",
                              "echo x >/x",
                              "echo x >/dev/x",
                              "echo x >/proc/sys/kernel/hostname",
                              "mount -o remount,rw /usr",
                              "echo 5 >/proc/sys/user/max_user_namespaces",
                              "chmod 777 /etc/passwd",
                              "su -c true",
                              "ionice -c 2 true",
                              "nice -n -5 true 2>&1 | grep -q denied && false"}) {
    EXPECT_FALSE(Run(command).status.ok()) << command;
  }
  EXPECT_EQ(Says("grep Cap /proc/self/status | grep -vc 0000000000000000"), "0\n");
  EXPECT_EQ(Says("nice"), "19\n");
}

TEST_F(BoxTest, CallsThatItMayNotMake) {
  ASSERT_TRUE(box().folder().Write("calls.c", R"(
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void Try(const char* what, long got) { if (got >= 0) printf("%s\n", what); }
int main() {
  for (int family = 0; family < 50; ++family) {
    if (family != AF_UNIX && family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
      Try("socket", socket(family, SOCK_STREAM, 0));
  }
  Try("keyctl", syscall(SYS_keyctl, 0, -3, 0));
  Try("bpf", syscall(SYS_bpf, 0, 0, 0));
  Try("perf", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
  Try("io_uring", syscall(425, 1, 0));
  Try("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  Try("clone3", syscall(SYS_clone3, 0, 0) < 0 && errno == ENOSYS ? -1 : 0);
  Try("handle", syscall(SYS_open_by_handle_at, -1, 0, 0));
  Try("timer", syscall(SYS_timer_create, 0, 0, 0));
  int ends[2];
  pipe(ends);
  Try("signal of a file", fcntl(ends[0], F_SETSIG, SIGCONT));
  // Its first process may be traced; it holds nothing of the outside.
  if (ptrace(PTRACE_ATTACH, 1, 0, 0) == 0) {
    waitpid(1, 0, __WALL);
    ptrace(PTRACE_DETACH, 1, 0, 0);
  }
  for (int pid = 2; pid < 40000; ++pid) if (pid != getpid() && pid != getppid()) Try("ptrace", ptrace(PTRACE_ATTACH, pid, 0, 0));
  return 0;
}
)"));
  const CommandResult calls = Run("cc -w -o calls calls.c && exec ./calls");
  EXPECT_EQ(calls.output + calls.Ending(), "exit code 0");
  EXPECT_EQ(Run("timeout 60 true").status.code, 0) << "it does without timers";
}

TEST_F(BoxTest, NoNetwork) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof any;
  ASSERT_EQ(bind(listening, reinterpret_cast<sockaddr*>(&any), size), 0);
  ASSERT_EQ(listen(listening, 4), 0);
  ASSERT_EQ(getsockname(listening, reinterpret_cast<sockaddr*>(&any), &size), 0);
  const Fd closes(listening);
  const int abstract = socket(AF_UNIX, SOCK_STREAM, 0);
  const Fd closes_too(abstract);
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = "\0kernelbench-box-test"};
  ASSERT_EQ(bind(abstract, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(abstract, 4), 0);
  const std::string port = std::to_string(ntohs(any.sin_port));
  EXPECT_FALSE(Run("exec 3<>/dev/tcp/127.0.0.1/" + port).status.ok());
  EXPECT_EQ(Says("grep -c kernelbench-box-test /proc/net/unix; grep -c : /proc/net/tcp; ls /sys/class/net 2>/dev/null"),
            "0\n0\n");
  EXPECT_FALSE(Run("exec 3<>/dev/tcp/192.0.2.1/80").status.ok());
}

TEST_F(BoxTest, SocketsAndFoldersAreShown) {
  auto outside = TempDir::Create("kernelbench-box");
  ASSERT_TRUE(outside);  // closed to everybody else
  const fs::path path = outside->path() / "judge.sock";
  std::ofstream(outside->path() / "kernel.h") << "#define KERNEL 1\n";
  const Fd listening(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = ""};
  path.string().copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(bind(listening.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(listening.get(), 4), 0);
  BoxOptions options = Small();
  options.sockets = {{path, "/kb/judge.sock"}};
  options.read_only = {{outside->path() / "kernel.h", "/kb/include/kernel.h"}};
  options.environment = {"KB_JUDGE=/kb/judge.sock"};
  Make(options);
  std::thread answers([&] {
    const Fd connection(accept(listening.get(), nullptr, nullptr));
    EXPECT_EQ(write(connection.get(), "verdict\n", 8), 8);
  });
  EXPECT_EQ(
      Says("python3 -c \"import socket, os; s = socket.socket(socket.AF_UNIX); s.connect(os.environ['KB_JUDGE']); "
           "print(s.recv(100).decode(), end='')\"; cat /kb/include/kernel.h"),
      "verdict\n#define KERNEL 1\n");
  answers.join();
  EXPECT_FALSE(Run("rm -f /kb/judge.sock; [ -e /kb/judge.sock ] && echo x >/kb/include/kernel.h").status.ok());
}

TEST_F(BoxTest, WhatCannotBeShown) {
  for (const char* to : {"/task/x", "/tmp/x", "/home/agent/.ssh", "/dev/x", "relative", "/kb/../tmp/x"}) {
    BoxOptions options = Small();
    options.read_only = {{"/usr/include", to}};
    const auto made = Box::Create(Programs(), options);
    ASSERT_FALSE(made) << to;
    EXPECT_EQ(made.error().code, ErrorCode::kUsage);
  }
  BoxOptions options = Small();
  options.read_only = {{"/no/such/place", "/kb/x"}};
  EXPECT_THAT(Box::Create(Programs(), options).error().message, HasSubstr("/no/such/place"));
}

// What runs inside sees what the agent has put in its way, and nobody else.
TEST_F(BoxTest, ModulesInItsPath) {
  ASSERT_TRUE(box().folder().Write("torch.py", "open('/task/ran', 'w')\nname = 'shadow'\n"));
  ASSERT_TRUE(box().folder().Write("model_new.py", "import torch\n"));
  EXPECT_TRUE(box().folder().Candidate("."));
  EXPECT_FALSE(box().folder().Read("ran"));
  EXPECT_EQ(Says("/usr/bin/python3 -c 'import torch; print(torch.name)'"), "shadow\n");
  EXPECT_TRUE(box().folder().Read("ran"));
}

TEST_F(BoxTest, AgentsDoNotMeet) {
  Run("echo of-the-first >/tmp/x; echo of-the-first >~/x; echo of-the-first >/dev/shm/x; echo of-the-first >x");
  auto other = Box::Create(Programs(), Small());
  ASSERT_TRUE(other);
  const auto seen = other->Run("cat /tmp/x ~/x /dev/shm/x x; ls /proc | grep -c '^[0-9]'");
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->output, Not(HasSubstr("of-the-first\n")));
}

// The same, where another user starts it all.
TEST(BoxAsAnOrdinaryUser, AllOfTheAbove) {
  if (geteuid() != 0) GTEST_SKIP() << "this is one already";
  OpenPaths({KB_PROGRAMS, fs::read_symlink("/proc/self/exe").parent_path()});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
        setresuid(kNobody, kNobody, kNobody) != 0) {
      _exit(2);
    }
    unsetenv("TMPDIR");
    setenv("HOME", "/nonexistent", 1);
    execl("/proc/self/exe", "box_test", "--gtest_filter=BoxTest.*", nullptr);
    _exit(3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kb
