// kb-keeper [--seconds N] COMMAND...: runs a command and sees to it that nothing of it outlives the engine, the command
// itself, or so many seconds.
//
// A death signal (PR_SET_PDEATHSIG) reaches one process, and only once that process has asked for it: when the engine
// is killed while bubblewrap is still setting up, the half-made sandbox stays, or even starts its command. The keeper
// adopts whatever loses its parent below it, and kills it all when the command has ended, when it is told to stop
// (SIGTERM), when the engine is gone, or when its time is over: a stopped engine looks at no clock. It ends as the
// command has ended. There are two of them, one below the other, for a keeper can be killed as well: what the inner one
// leaves the outer one adopts, and the outer one's death tells the inner one to stop.
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNotStarted = 127;

pid_t ParentOf(const char* pid) {
  char path[64], line[512];
  std::snprintf(path, sizeof path, "/proc/%s/stat", pid);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return -1;
  const char* read = std::fgets(line, sizeof line, file);
  std::fclose(file);
  const char* name_end = read == nullptr ? nullptr : std::strrchr(line, ')');
  int parent = -1;
  return name_end != nullptr && std::sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : -1;
}

// Every process below us has an ancestor among our children, alive or not yet reaped: when there are none it is over.
void KillAllBelow() {
  for (;;) {
    pid_t ended = 0;
    do {
      ended = waitpid(-1, nullptr, WNOHANG);
    } while (ended > 0);
    DIR* processes = ended < 0 ? nullptr : opendir("/proc");
    if (processes == nullptr) return;
    while (const dirent* entry = readdir(processes)) {
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
      if (ParentOf(entry->d_name) == getpid()) kill(std::atoi(entry->d_name), SIGKILL);
    }
    closedir(processes);
    waitpid(-1, nullptr, 0);  // its children may be ours now
  }
}

// Returns the command's wait status, or that of a killed one if it was told to stop first.
int AwaitEnd(pid_t command, const sigset_t& awaited) {
  for (;;) {
    int signal = 0;
    if (sigwait(&awaited, &signal) != 0 || signal == SIGTERM || signal == SIGALRM) return SIGKILL;
    int status = 0;
    while (const pid_t ended = waitpid(-1, &status, WNOHANG)) {
      if (ended < 0) return SIGKILL;
      if (ended == command) return status;
    }
  }
}

// Starts a child that is told of our death by `death_signal`. In the child 0 is returned, with no signal blocked that
// was not before.
pid_t StartBelow(int death_signal, const sigset_t& before) {
  const pid_t keeper = getpid();
  const pid_t child = fork();
  if (child < 0) {
    std::perror("kb-keeper: cannot start a process");
    _exit(kNotStarted);
  }
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, death_signal);
  if (getppid() != keeper) _exit(kNotStarted);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return 0;
}

// Keeps `child` until it ends, and ends as it has ended.
[[noreturn]] void Keep(pid_t child, const sigset_t& awaited, const sigset_t& before) {
  closefrom(0);  // what the command was given must end with it, not with us
  const int status = AwaitEnd(child, awaited);
  KillAllBelow();
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  _exit(kNotStarted);
}

}  // namespace

int main(int argc, char** argv) {
  unsigned seconds = 0;
  if (argc > 2 && std::strcmp(argv[1], "--seconds") == 0) {
    seconds = static_cast<unsigned>(std::atoi(argv[2]));
    argc -= 2;
    argv += 2;
  }
  if (argc < 2) {
    std::fputs("kb-keeper is started by kernelbench, not by hand (no command)\n", stderr);
    return kNotStarted;
  }
  // No signal but SIGKILL ends the keeper: a group that loses its parent while one of it is stopped gets a SIGHUP too.
  sigset_t all, awaited, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGALRM);
  alarm(seconds);  // no child of ours has it
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Until here the engine's death has killed the keeper, which had started nothing yet.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (const pid_t inner = StartBelow(SIGTERM, all); inner > 0) Keep(inner, awaited, before);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (const pid_t command = StartBelow(SIGKILL, before); command > 0) Keep(command, awaited, before);
  execvp(argv[1], argv + 1);
  std::fprintf(stderr, "kb-keeper: cannot start %s: %s\n", argv[1], std::strerror(errno));
  _exit(kNotStarted);
}
