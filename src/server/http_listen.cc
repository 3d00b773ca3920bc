#include "server/http_listen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace kb::server {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 4096;  // the kernel's own limit is the lower one

// A Unix socket's path fits here with its final NUL.
constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

Status MakeFolder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT) {
    return Fail(ErrorCode::kUsage,
                fmt::format("cannot listen in {}: the folder does not exist, nor does {}; make it first",
                            folder.string(), folder.parent_path().string()));
  }
  return Fail(ErrorCode::kUsage, fmt::format("cannot make the folder {}: {}", folder.string(), strerror(errno)));
}

Result<Fd> Lock(const fs::path& path) {
  const std::string name = path.string() + ".lock";
  Fd lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("cannot listen on {}: cannot open {}: {}", path.string(), name, strerror(errno)));
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot lock {}: {}", name, strerror(errno)));
  }
  return Fail(ErrorCode::kUnavailable,
              fmt::format("another server listens on {}: stop it or choose another path", path.string()));
}

sockaddr_un UnixAddress(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  std::copy_n(name.data(), std::min(name.size(), kLongestPath), address.sun_path);
  return address;
}

Fd StreamSocket(int family) { return Fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

// Removes a socket that nobody listens on. A program that takes no lock may live there.
Status ClearPath(const fs::path& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return Fail(
        ErrorCode::kUsage,
        fmt::format("cannot listen on {}: there is something that is no socket; choose another path", path.string()));
  }
  const Fd probe = StreamSocket(AF_UNIX);
  const sockaddr_un address = UnixAddress(path);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno != ECONNREFUSED) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("another program listens on {}: stop it or choose another path", path.string()));
  }
  if (unlink(path.c_str()) == 0) return {};
  return Fail(ErrorCode::kUsage, fmt::format("cannot remove the old socket {}: {}", path.string(), strerror(errno)));
}

}  // namespace

std::string NumericAddress(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : lock_(std::move(other.lock_)),
      socket_(std::move(other.socket_)),
      address_(std::move(other.address_)),
      device_(other.device_),
      inode_(other.inode_) {}

void ListeningSocket::Close() {
  struct stat info {};
  if (local() && inode_ != 0 && lstat(address_.c_str(), &info) == 0 && info.st_dev == device_ &&
      info.st_ino == inode_) {
    unlink(address_.c_str());
  }
  socket_.Reset();
  lock_.Reset();
}

Result<ListeningSocket> ListeningSocket::Unix(const fs::path& path) {
  if (path.native().size() > kLongestPath) {
    return Fail(ErrorCode::kUsage,
                fmt::format("the path of a Unix socket may have {} bytes, and {} has {}: choose a shorter one",
                            kLongestPath, path.string(), path.native().size()));
  }
  if (path.has_parent_path()) KB_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  ListeningSocket made;
  KB_ASSIGN_OR_RETURN(made.lock_, Lock(path));
  KB_RETURN_IF_ERROR(ClearPath(path));
  KB_RETURN_IF_ERROR(made.BindUnix(path));
  return made;
}

Status ListeningSocket::BindUnix(const fs::path& path) {
  socket_ = StreamSocket(AF_UNIX);
  address_ = path.string();
  const sockaddr_un address = UnixAddress(path);
  // Before bind(), which gives its file the socket's own mode: there is no moment at which others may connect.
  if (socket_.valid() && fchmod(socket_.get(), 0600) == 0 &&
      bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0) {
      device_ = info.st_dev;
      inode_ = info.st_ino;
      if ((info.st_mode & 0777) == 0600 && listen(socket_.get(), kBacklog) == 0) return {};
    }
  }
  return Fail(ErrorCode::kUsage, fmt::format("cannot listen on {}: {}", path.string(), strerror(errno)));
}

Result<HostPort> SplitAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  HostPort parts;
  if (colon != std::string::npos) {
    parts = {address.substr(0, colon), address.substr(colon + 1)};
    if (parts.host.starts_with('[') && parts.host.ends_with(']')) {
      parts.host = parts.host.substr(1, parts.host.size() - 2);
    } else if (parts.host.find(':') != std::string::npos) {
      parts = {};
    }
  }
  const bool number = !parts.port.empty() && parts.port.size() <= 5 &&
                      std::all_of(parts.port.begin(), parts.port.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
                      std::stoi(parts.port) <= 65535;
  if (parts.host.empty() || !number) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} is no address: give HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080", address));
  }
  return parts;
}

Result<ListeningSocket> ListeningSocket::Tcp(const std::string& address) {
  KB_ASSIGN_OR_RETURN(const HostPort parts, SplitAddress(address));
  addrinfo hints{}, *list = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (const int error = getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &list); error != 0) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot listen on {}: {}", address, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  ListeningSocket made;
  KB_RETURN_IF_ERROR(made.BindTcp(*list, address));
  return made;
}

Status ListeningSocket::BindTcp(const addrinfo& where, const std::string& address) {
  socket_ = StreamSocket(where.ai_family);
  // Only so that connections of a server that has ended do not hold the port; two servers still cannot share it.
  const int on = 1;
  if (socket_.valid()) setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket_.valid() && bind(socket_.get(), where.ai_addr, where.ai_addrlen) == 0 &&
      listen(socket_.get(), kBacklog) == 0) {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    address_ = NumericAddress(bound, size);
    return {};
  }
  switch (errno) {
    case EADDRINUSE:
      return Fail(
          ErrorCode::kUnavailable,
          fmt::format("cannot listen on {}: another program uses this port; stop it or choose another port (port "
                      "0 is one that is free)",
                      address));
    case EADDRNOTAVAIL:
      return Fail(ErrorCode::kUsage, fmt::format("cannot listen on {}: this machine has no such address", address));
    case EACCES:
      return Fail(
          ErrorCode::kUsage,
          fmt::format("cannot listen on {}: ports below 1024 need rights that you lack; choose another port", address));
    default:
      return Fail(ErrorCode::kUnavailable, fmt::format("cannot listen on {}: {}", address, strerror(errno)));
  }
}

void SetTcpOptions(int fd) {
  const auto set = [fd](int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, 128 << 10);  // or a slow reader shows progress only each few megabytes
  set(SOL_SOCKET, SO_KEEPALIVE, 1);                // a client whose machine has gone
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace kb::server
