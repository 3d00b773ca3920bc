// Where a server listens: a Unix socket that no second server takes, a TCP port that no second program shares.
#ifndef SERVER_HTTP_LISTEN_H_
#define SERVER_HTTP_LISTEN_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/result.h"

struct addrinfo;

namespace kb::server {

// Non-blocking. The file of a Unix socket goes when the socket does.
class ListeningSocket {
 public:
  // Mode 0600; the folder is made if only it is missing, with mode 0700. Beside it is PATH.lock, which stays: whoever
  // holds its lock owns the path, so that the socket of a dead process is taken over and one that lives never is.
  static Result<ListeningSocket> Unix(const std::filesystem::path& path);
  // HOST:PORT, [IPV6]:PORT; port 0 is one that is free.
  static Result<ListeningSocket> Tcp(const std::string& address);

  ListeningSocket(const ListeningSocket&) = delete;  // the file has one owner
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&& other) = delete;  // nobody needs it
  ~ListeningSocket() { Close(); }

  int fd() const { return socket_.get(); }
  // "127.0.0.1:8080" with the port that was chosen, or the path.
  const std::string& address() const { return address_; }
  bool local() const { return lock_.valid(); }
  void Close();

 private:
  ListeningSocket() = default;
  Status BindUnix(const std::filesystem::path& path);
  Status BindTcp(const addrinfo& where, const std::string& address);

  Fd lock_;
  Fd socket_;
  std::string address_;
  dev_t device_ = 0;  // of the file that was made
  ino_t inode_ = 0;
};

// The parts of HOST:PORT or [IPV6]:PORT.
struct HostPort {
  std::string host, port;
};
Result<HostPort> SplitAddress(const std::string& address);
// As that, from the system's form.
std::string NumericAddress(const sockaddr_storage& address, socklen_t size);

// Of a connection over TCP.
void SetTcpOptions(int fd);

}  // namespace kb::server

#endif  // SERVER_HTTP_LISTEN_H_
