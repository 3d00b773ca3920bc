// How what speaks another protocol asks the API: each request of that protocol becomes requests of
// docs/reference/api.md.
#ifndef SERVER_ASK_H_
#define SERVER_ASK_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "server/http_message.h"

namespace kb::server {

struct Asked {
  std::string method = "GET";
  std::string target;             // with its query
  nlohmann::json body = nullptr;  // null: none
};

// `told` is called once with the answer, on any thread, perhaps before it returns; of a route that answers with events
// it is not. What is returned says that nobody wants the answer any more, as a client that goes away does. It may be
// called at any time; `told` may be called all the same.
using Forget = std::function<void()>;
using ApiAsk = std::function<Forget(Asked asked, std::function<void(HttpAnswer answer)> told)>;

}  // namespace kb::server

#endif  // SERVER_ASK_H_
