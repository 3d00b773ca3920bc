// Messages of the Model Context Protocol as lines, of a pipe or a socket.
#ifndef SERVER_FACES_MCP_LINES_H_
#define SERVER_FACES_MCP_LINES_H_

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace kb::server {

class McpInput {
 public:
  // `stop` is asked at least every 200 ms.
  McpInput(int fd, size_t longest_line, std::function<bool()> stop)
      : fd_(fd), longest_(longest_line), stop_(std::move(stop)) {}
  // Nothing: there are no more, one is too long, or it is to stop.
  std::optional<std::string> Next();
  bool too_long() const { return in_.size() > longest_; }

 private:
  std::string Cut(size_t end);
  bool Read();

  const int fd_;
  const size_t longest_;
  const std::function<bool()> stop_;
  std::string in_;
  size_t searched_ = 0;
};

// May be used by several threads.
class McpOutput {
 public:
  explicit McpOutput(int fd) : fd_(fd) {}
  // Waits for whoever reads slowly, as long as `stop` does not say otherwise. False: the reader has gone.
  bool Write(const std::string& text, const std::function<bool()>& stop);

 private:
  const int fd_;
  std::mutex mutex_;
};

}  // namespace kb::server

#endif  // SERVER_FACES_MCP_LINES_H_
