// kb-bridge: a Unix socket of a box as programs want it that know TCP alone, or their standard streams.
//
//   kb-bridge PORT SOCKET [-- COMMAND...]
//       forwards each connection to 127.0.0.1:PORT to the Unix socket. Runs COMMAND beside that and ends with it, with
//       its exit code, or 128 and its signal; without one it goes on until it is killed.
//   kb-bridge - SOCKET
//       forwards standard input to the socket and what comes back to standard output; ends when the socket does.
//
// It runs among the agent's programs and sees what they see: nothing here is a boundary. It needs no library of ours.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kNotStarted = 127;

int Stop(const std::string& why) {
  std::fprintf(stderr, "kb-bridge: %s\n", why.c_str());
  return kNotStarted;
}

// Bytes on their way from one descriptor to another.
struct Flow {
  int from = -1, to = -1;
  std::vector<char> held = std::vector<char>(64 << 10);
  size_t begin = 0, end = 0;  // of what is held
  bool read_all = false, done = false;
  bool unwanted = false;  // nobody takes it: it is read and dropped, lest the sender's connection is reset

  bool Reads() const { return !done && !read_all && end == 0; }
  bool Writes() const { return !done && end > begin; }
  void Read();
  void Write();
  void EndIfAllIsThrough();
};

void Flow::Read() {
  const ssize_t got = read(from, held.data(), held.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  end = got > 0 ? static_cast<size_t>(got) : 0;
  read_all = got <= 0;
  if (unwanted) end = 0;
  EndIfAllIsThrough();
}

void Flow::Write() {
  const ssize_t put = write(to, held.data() + begin, end - begin);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
  unwanted = put < 0;
  begin = unwanted ? end : begin + static_cast<size_t>(put);
  if (begin == end) begin = end = 0;
  EndIfAllIsThrough();
}

void Flow::EndIfAllIsThrough() {
  if (done || !read_all || end > begin) return;
  done = true;
  if (shutdown(to, SHUT_WR) != 0 && errno == ENOTSOCK) close(to);
}

struct Pair {
  Flow there, back;
};

int Connect(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return -1;
}

int Listen(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, 128) == 0) return fd;
  return -1;
}

// What poll() is asked about, and whom it concerns.
struct Watched {
  std::vector<pollfd> fds;
  std::vector<Flow*> flows;

  void Add(int fd, short events, Flow* flow) {
    fds.push_back({fd, events, 0});
    flows.push_back(flow);
  }
  void AddFlow(Flow* flow) {
    if (flow->Reads()) Add(flow->from, POLLIN, flow);
    if (flow->Writes()) Add(flow->to, POLLOUT, flow);
  }
  void Serve() {
    for (size_t i = 0; i < fds.size(); ++i) {
      if (flows[i] == nullptr || fds[i].revents == 0) continue;
      if (fds[i].events == POLLIN) {
        flows[i]->Read();
      } else {
        flows[i]->Write();
      }
    }
  }
};

// Connections from `listener` to `path`, until the process that `command` is a descriptor of has ended.
void Forward(int listener, int command, const char* path) {
  std::list<Pair> pairs;
  for (;;) {
    Watched watched;
    watched.Add(listener, POLLIN, nullptr);
    watched.Add(command, POLLIN, nullptr);  // -1 is passed over
    for (Pair& pair : pairs) {
      watched.AddFlow(&pair.there);
      watched.AddFlow(&pair.back);
    }
    if (poll(watched.fds.data(), watched.fds.size(), -1) < 0) continue;
    watched.Serve();
    if (watched.fds[1].revents != 0) return;
    pairs.remove_if([](const Pair& pair) {
      const bool over = pair.there.done && pair.back.done;
      if (over) {
        close(pair.back.from);
        close(pair.back.to);
      }
      return over;
    });
    if (watched.fds[0].revents == 0) continue;
    const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) {
      if (errno != EAGAIN && errno != EINTR) usleep(10'000);  // no descriptor is left
      continue;
    }
    const int inner = Connect(path);
    if (inner < 0) {
      Stop(std::string("cannot connect to ") + path + ": " + strerror(errno));
      close(client);
      continue;
    }
    Pair& pair = pairs.emplace_back();
    pair.there.from = pair.back.to = client;
    pair.there.to = pair.back.from = inner;
  }
}

int BridgeStreams(const char* path) {
  const int inner = Connect(path);
  if (inner < 0) return Stop(std::string("cannot connect to ") + path + ": " + strerror(errno));
  Flow there, back;
  there.from = STDIN_FILENO;
  there.to = back.from = inner;
  back.to = STDOUT_FILENO;
  while (!back.done) {
    Watched watched;
    watched.AddFlow(&there);
    watched.AddFlow(&back);
    if (poll(watched.fds.data(), watched.fds.size(), -1) >= 0) watched.Serve();
  }
  return 0;
}

int RunCommand(int listener, const char* path, char** command) {
  const pid_t bridge = getpid();
  const pid_t child = fork();
  if (child < 0) return Stop(std::string("cannot start ") + command[0] + ": " + strerror(errno));
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != bridge) _exit(kNotStarted);
    execvp(command[0], command);
    _exit(Stop(std::string("cannot start ") + command[0] + ": " + strerror(errno)));
  }
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (ended < 0) return Stop(std::string("cannot watch the command: ") + strerror(errno));
  Forward(listener, ended, path);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const bool streams = argc == 3 && std::string_view(argv[1]) == "-";
  const bool command = argc > 4 && std::string_view(argv[3]) == "--";
  if (!streams && argc != 3 && !command) {
    return Stop("usage: kb-bridge PORT SOCKET [-- COMMAND...], or kb-bridge - SOCKET");
  }
  if (streams) return BridgeStreams(argv[2]);
  char* end = nullptr;
  const long port = std::strtol(argv[1], &end, 10);
  if (*end != '\0' || port < 1 || port > 65535) return Stop(std::string(argv[1]) + " is no port: give 1 to 65535");
  const int listener = Listen(static_cast<int>(port));
  if (listener < 0) return Stop(std::string("cannot listen on 127.0.0.1:") + argv[1] + ": " + strerror(errno));
  if (command) return RunCommand(listener, argv[2], argv + 4);
  Forward(listener, -1, argv[2]);
}
