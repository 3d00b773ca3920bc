// One answer on its way from any thread to the connection that sends it. No socket is seen here: a test of a handler
// makes an HttpReply of its own and looks at what it takes.
#ifndef SERVER_HTTP_RESPONDER_H_
#define SERVER_HTTP_RESPONDER_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_message.h"
#include "server/http_websocket.h"

namespace kb::server {

// So much of an event stream, or of a WebSocket's messages, may wait for a client that reads slowly.
inline constexpr size_t kMostUnsent = size_t{1} << 20;

// What a responder and its connection share.
class HttpReply {
 public:
  using Post = std::function<void(std::function<void()>)>;

  // `changed`: there is something to take; called from any thread, once between two calls of Take(). `post` runs a task
  // on the io thread. Both may be called after the server has ended.
  HttpReply(std::function<void()> changed, Post post) : changed_(std::move(changed)), post_(std::move(post)) {}

  // From the responder.
  void Answer(HttpAnswer answer);
  void Begin(size_t most_unsent);
  void BeginMessages(std::function<void(std::string)> message);
  bool Add(std::string_view event);
  void End(std::string_view last = "");
  void WhenGone(std::function<void()> gone);
  void Drop();  // nobody is left who could answer

  // From the connection, on the io thread.
  struct Taken {
    std::optional<HttpAnswer> answer;
    bool begun = false;                        // events instead of an answer
    std::function<void(std::string)> message;  // once: a WebSocket instead
    std::string events;                        // under way until Sent()
    bool ended = false;                        // no event comes after these
    bool cut = false;                          // the client reads too slowly
  };
  Taken Take();
  bool cut();
  void Sent();
  void Whole();     // the client has it all
  void Gone();      // the client has gone before that; calls what WhenGone() was given
  void Disowned();  // the server ends: as Gone(), and nobody is told

 private:
  void Tell(std::unique_lock<std::mutex> lock);

  const std::function<void()> changed_;
  const Post post_;
  std::mutex mutex_;
  std::optional<HttpAnswer> answer_;
  std::string events_;
  size_t under_way_ = 0, most_unsent_ = kMostUnsent;
  std::function<void()> when_gone_;
  std::function<void(std::string)> message_;
  bool messages_ = false;
  bool answered_ = false, begun_ = false, ended_ = false, cut_ = false, whole_ = false, gone_ = false, told_ = false;
};

// One answer, given by any thread, whenever. The last owner to let go of one that has not answered answers 500, and
// ends its events or messages.
class HttpResponder {
 public:
  explicit HttpResponder(std::shared_ptr<HttpReply> reply) : reply_(std::move(reply)) {}
  HttpResponder(const HttpResponder&) = delete;  // its end is the answer's
  HttpResponder& operator=(const HttpResponder&) = delete;
  ~HttpResponder() { reply_->Drop(); }

  // The first answer counts.
  void Send(HttpAnswer answer) { reply_->Answer(std::move(answer)); }

  // text/event-stream instead of Send().
  void BeginEvents(size_t most_unsent = kMostUnsent) { reply_->Begin(most_unsent); }
  // After BeginEvents(). False: the client has gone, or it reads so slowly that more than so many bytes would wait, and
  // it is cut off.
  bool SendEvent(std::string_view event, std::string_view data, std::string_view id = "") {
    return reply_->Add(EventText(event, data, id));
  }
  // The same with events as another server has written them, each whole.
  bool SendEvents(std::string_view text) { return reply_->Add(text); }
  void EndEvents() { reply_->End(); }

  // A WebSocket instead of Send(), for a request that RefuseWebSocket() has nothing against. `message` is called on the
  // io thread with each text that the client sends, and must not block. Pings are answered, and an end by the client is
  // what WhenGone() tells.
  void BeginMessages(std::function<void(std::string text)> message) { reply_->BeginMessages(std::move(message)); }
  // After BeginMessages(). False: as SendEvent().
  bool SendMessage(std::string_view text) { return reply_->Add(TextFrame(text)); }
  void EndMessages(CloseCode code, std::string_view reason) { reply_->End(CloseFrame(code, reason)); }

  // `gone` is called on the io thread, once, if the client goes away before its answer is whole, or is cut off; soon,
  // if that has happened already. A client that has closed only its sending side counts as gone, too; a quick answer
  // still reaches it. Not called when the server stops. A second `gone` takes the first one's place.
  void WhenGone(std::function<void()> gone) { reply_->WhenGone(std::move(gone)); }

 private:
  const std::shared_ptr<HttpReply> reply_;
};

}  // namespace kb::server

#endif  // SERVER_HTTP_RESPONDER_H_
