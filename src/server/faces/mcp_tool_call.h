// One call of an MCP tool: requests of the API, one after the other, until there is something to tell the model.
#ifndef SERVER_FACES_MCP_TOOL_CALL_H_
#define SERVER_FACES_MCP_TOOL_CALL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "server/ask.h"

namespace kb::server {

class McpToolCall : public std::enable_shared_from_this<McpToolCall> {
 public:
  struct Ends {
    std::function<void(const std::string& message)> progress;  // empty: nobody wants to know
    std::function<void(nlohmann::json result)> done;           // once, unless it is forgotten before; on any thread
  };

  McpToolCall(nlohmann::json arguments, ApiAsk ask, Ends ends)
      : arguments_(std::move(arguments)), ask_(std::move(ask)), ends_(std::move(ends)) {}

  const nlohmann::json& arguments() const { return arguments_; }
  // What the model is told to do where the API says that there is none; before the first Ask().
  void HintIfNone(std::string hint) { hint_ = std::move(hint); }

  // `then` is given the answer, where it is JSON with a status below 400. Of any other one the model is told.
  using Then = std::function<void(int status, const nlohmann::json& body)>;
  void Ask(Asked asked, Then then);
  // Has the service make something of `request` (POST `route`), or with null looks at what it is making (GET `route`),
  // and asks again, with `query`, until that has ended or the argument wait_s is over; it may have ended then, or not.
  // Tells how far it is meanwhile. What is not kept ends when it is forgotten.
  void Await(const std::string& route, const std::string& query, nlohmann::json request,
             std::function<void(const nlohmann::json& view)> then);

  // The end: one of these.
  void Tell(std::string text, nlohmann::json structured);
  void Refuse(std::string text);  // what is wrong, and what the model should do next
  // Nobody wants the result any more.
  void Forget();

 private:
  using Clock = std::chrono::steady_clock;
  void Take(const HttpAnswer& answer, const Then& then);
  void Poll(const std::string& route, const std::string& query, nlohmann::json request,
            std::function<void(const nlohmann::json& view)> then);
  void Done(nlohmann::json result);
  void Cancel(const std::string& id);

  const nlohmann::json arguments_;
  const ApiAsk ask_;
  const Ends ends_;
  const Clock::time_point begun_ = Clock::now();
  std::string hint_;
  int early_ = 0;  // looks that were answered before their time was over, though nothing had ended
  std::mutex mutex_;
  bool forgotten_ = false, ended_ = false;
  bool unkept_ = false;        // what it waits for
  std::string made_;           // its id, once that is known
  uint64_t asked_ = 0;         // requests
  kb::server::Forget forget_;  // of the last of them
};

// `text` as a part of a path or query.
std::string McpEscaped(const std::string& text);

}  // namespace kb::server

#endif  // SERVER_FACES_MCP_TOOL_CALL_H_
