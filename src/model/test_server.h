// An HTTP server for tests, on a free port of this machine: its handler writes the bytes of each answer itself, so it
// can misbehave as it likes.
#ifndef MODEL_TEST_SERVER_H_
#define MODEL_TEST_SERVER_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace kb {

struct ServedRequest {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // names in lower case
  int connection = 0;                          // its number, from 0
  std::chrono::steady_clock::time_point at;
};

// One connection, as a handler sees it.
class ServedConnection {
 public:
  explicit ServedConnection(int fd) : fd_(fd) {}
  void Send(std::string_view bytes) const;
  void SendInPieces(std::string_view bytes, size_t piece) const;  // each its own packet, where the system does so
  void Hang() const;                                              // until the other side gives up
  void Close() { open_ = false; }                                 // after the handler: otherwise the next request
  bool open() const { return open_; }

 private:
  int fd_;
  bool open_ = true;
};

class TestServer {
 public:
  // `call`: the number of this request, from 0. Called from a thread of each connection.
  using Handler = std::function<void(const ServedRequest& request, int call, ServedConnection* connection)>;

  explicit TestServer(Handler handler);
  ~TestServer();

  std::string url() const;  // http://127.0.0.1:PORT
  std::vector<ServedRequest> requests() const;

 private:
  void Accept();
  void Serve(int fd, int connection);

  Handler handler_;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::vector<ServedRequest> requests_;
  std::vector<int> fds_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// A whole answer with a length.
std::string PlainAnswer(std::string_view status, std::string_view headers, std::string_view body);
// The head of a chunked answer with status 200, and its pieces; an empty one ends it.
std::string StreamHead(std::string_view content_type = "text/event-stream");
std::string Chunk(std::string_view bytes);

}  // namespace kb

#endif  // MODEL_TEST_SERVER_H_
