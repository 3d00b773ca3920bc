#include "server/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/file.h"
#include "server/http_connection.h"
#include "server/http_listen.h"

namespace kb::server {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using Descriptor = net::posix::stream_descriptor;

constexpr std::chrono::seconds kLastAnswers{1};         // Stop() waits for those that were given
constexpr std::chrono::milliseconds kNoFilesLeft{100};  // until another connection is tried then
constexpr int kAcceptedAtOnce = 64;                     // before other connections get their turn

std::string PeerName(int fd, bool local, const sockaddr_storage& from, socklen_t size) {
  if (local) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return "local";
    return fmt::format("local process {} of user {}", peer.pid, peer.uid);
  }
  return NumericAddress(from, size);
}

// One attempt, for a client that is one too many.
void TurnAway(const Fd& socket) {
  const HttpAnswer answer = Problem(503, "this server has as many connections as it takes; try again later");
  const std::string bytes = AnswerHead(answer, HttpFraming::kLength, answer.body.size(), false) + answer.body;
  (void)send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket.get(), SHUT_WR);
}

}  // namespace

// Tasks for the io thread, from any thread and for as long as anyone likes: responders outlive the server.
class HttpInbox {
 public:
  explicit HttpInbox(net::io_context* context) : context_(context) {}
  void Post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (context_ != nullptr) net::post(*context_, std::move(task));
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
  }

 private:
  std::mutex mutex_;
  net::io_context* context_;
};

// A listening socket while it is watched.
struct HttpDoor {
  HttpDoor(net::io_context& context, ListeningSocket listening)
      : socket(std::move(listening)), watch(context, socket.fd()), pause(context) {}
  ~HttpDoor() { watch.release(); }  // `socket` closes it

  ListeningSocket socket;
  Descriptor watch;
  net::steady_timer pause;
  int open = 0;  // connections that came in here
  bool closed = false;
};

class HttpServer::Impl {
 public:
  Impl(const HttpLimits& limits, Handler* handler)
      : inbox_(std::make_shared<HttpInbox>(context_.get())),
        site_{limits, handler, [inbox = inbox_](std::function<void()> task) { inbox->Post(std::move(task)); }} {}

  Status Listen(const HttpListen& listen);
  void Run();
  void StopAccepting();
  void Stop();
  void Post(std::function<void()> task) { inbox_->Post(std::move(task)); }
  const std::string& address() const { return address_; }

 private:
  void Watch(HttpDoor* door);
  void AcceptSome(HttpDoor* door);
  void Open(HttpDoor* door, Fd socket, std::string peer);
  void CloseDoors();
  void EndAll();

  std::unique_ptr<net::io_context> context_ = std::make_unique<net::io_context>(1);
  const std::shared_ptr<HttpInbox> inbox_;
  const HttpSite site_;
  int limit_ = 0;
  std::string address_;
  std::vector<std::unique_ptr<HttpDoor>> doors_;
  std::map<uint64_t, std::shared_ptr<HttpConnection>> connections_;
  uint64_t next_ = 0;
  std::optional<net::steady_timer> last_answers_;  // set: the server stops
  std::thread thread_;
};

Status HttpServer::Impl::Listen(const HttpListen& listen) {
  if (listen.unix_socket.empty() && listen.address.empty()) {
    return Fail(ErrorCode::kUsage, "nothing to listen on: give a Unix socket or an address");
  }
  RaiseOpenFiles();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  // Two ways in: half of the files are left to the rest of the process.
  limit_ = static_cast<int>(
      std::min<rlim_t>(static_cast<rlim_t>(std::max(site_.limits.connections, 1)), files.rlim_cur / 4));
  if (!listen.unix_socket.empty()) {
    KB_ASSIGN_OR_RETURN(ListeningSocket socket, ListeningSocket::Unix(listen.unix_socket));
    doors_.push_back(std::make_unique<HttpDoor>(*context_, std::move(socket)));
  }
  if (!listen.address.empty()) {
    KB_ASSIGN_OR_RETURN(ListeningSocket socket, ListeningSocket::Tcp(listen.address));
    address_ = socket.address();
    doors_.push_back(std::make_unique<HttpDoor>(*context_, std::move(socket)));
  }
  for (const auto& door : doors_) Watch(door.get());
  return {};
}

void HttpServer::Impl::Run() {
  thread_ = std::thread([this] {
    const auto guard = net::make_work_guard(*context_);
    while (!context_->stopped()) {
      try {
        context_->run();
      } catch (const std::exception& error) {  // of a task
        std::fprintf(stderr, "kernelbench: a task of the server failed: %s\n", error.what());
      }
    }
  });
}

void HttpServer::Impl::Watch(HttpDoor* door) {
  door->watch.async_wait(Descriptor::wait_read, [this, door](error_code error) {
    if (!error && !door->closed) AcceptSome(door);
  });
}

void HttpServer::Impl::AcceptSome(HttpDoor* door) {
  for (int count = 0; count < kAcceptedAtOnce; ++count) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Fd socket(accept4(door->socket.fd(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EAGAIN) break;
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) continue;  // that client has gone
      // It stays in the kernel's queue, and so would be found again at once, for ever.
      door->pause.expires_after(kNoFilesLeft);
      door->pause.async_wait([this, door](error_code error) {
        if (!error && !door->closed) AcceptSome(door);
      });
      return;
    }
    if (door->open >= limit_) {
      TurnAway(socket);
      continue;
    }
    std::string peer = PeerName(socket.get(), door->socket.local(), from, size);
    Open(door, std::move(socket), std::move(peer));
  }
  Watch(door);
}

void HttpServer::Impl::Open(HttpDoor* door, Fd socket, std::string peer) {
  const uint64_t id = next_++;
  const auto closed = [this, door, id] {
    connections_.erase(id);
    --door->open;
    if (last_answers_ && connections_.empty()) context_->stop();
  };
  try {
    auto connection =
        ServeConnection(*context_, std::move(socket), std::move(peer), door->socket.local(), site_, closed);
    connections_.emplace(id, std::move(connection));
    ++door->open;
  } catch (const std::exception&) {
    // No memory for another one: it is closed.
  }
}

void HttpServer::Impl::CloseDoors() {
  for (const auto& door : doors_) {
    if (std::exchange(door->closed, true)) continue;
    door->watch.release();
    door->pause.cancel();
    door->socket.Close();
  }
}

void HttpServer::Impl::StopAccepting() {
  if (context_ == nullptr) return;
  if (context_->get_executor().running_in_this_thread()) return CloseDoors();
  const auto done = std::make_shared<std::promise<void>>();
  const std::future<void> closed = done->get_future();
  Post([this, done] {
    CloseDoors();
    done->set_value();
  });
  closed.wait();  // or until the task is dropped with the server
}

void HttpServer::Impl::EndAll() {
  CloseDoors();
  for (const auto& [id, connection] : connections_) connection->End();
  if (connections_.empty()) return context_->stop();
  last_answers_.emplace(*context_, kLastAnswers);
  last_answers_->async_wait([this](error_code) { context_->stop(); });
}

void HttpServer::Impl::Stop() {
  if (!thread_.joinable()) return;
  KB_CHECK(!context_->get_executor().running_in_this_thread());
  Post([this] { EndAll(); });
  thread_.join();
  inbox_->Close();
  doors_.clear();
  last_answers_.reset();
  connections_.clear();
  context_.reset();  // with it go the coroutines of the connections that are left, and these with them
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpListen& listen, const HttpLimits& limits,
                                                      Handler* handler) {
  auto impl = std::make_unique<Impl>(limits, handler);
  KB_RETURN_IF_ERROR(impl->Listen(listen));
  impl->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::string HttpServer::address() const { return impl_->address(); }
void HttpServer::Post(std::function<void()> task) { impl_->Post(std::move(task)); }
void HttpServer::StopAccepting() { impl_->StopAccepting(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace kb::server
