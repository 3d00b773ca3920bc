// Asks a service on this machine, over its Unix socket, as AskAs() asks the one in the process.
#ifndef SERVER_SOCKET_ASK_H_
#define SERVER_SOCKET_ASK_H_

#include <filesystem>
#include <functional>
#include <memory>

#include "server/ask.h"

namespace kb::server {

class SocketAsk {
 public:
  // `start` sees to it that a service listens there; asked when none does.
  SocketAsk(std::filesystem::path socket, std::function<Status()> start);
  SocketAsk(const SocketAsk&) = delete;  // threads refer to it
  SocketAsk& operator=(const SocketAsk&) = delete;
  // Forgets all that is not answered, but what cancels something. `told` is not called any more.
  ~SocketAsk();

  // Each request has a thread and a connection. Usable as long as this lives.
  ApiAsk Ask();

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace kb::server

#endif  // SERVER_SOCKET_ASK_H_
