// One coroutine is the story of a connection. It waits at a single place, Changed(): for whatever happens, or for a
// deadline.
#include "server/http_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "server/http_stream.h"

namespace kb::server {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using std::chrono::seconds;
using RequestParser = beast::http::request_parser<beast::http::string_body>;
using Clock = HttpStream::Clock;
using Refusal = std::optional<HttpAnswer>;

constexpr size_t kBodyRate = size_t{16} << 10;  // bytes that earn a body another second
constexpr seconds kAfterGone{2};                // for an answer to a client that has closed its sending side
constexpr seconds kLinger{2};  // for a client to read the last answer, while what it still sends is dropped
constexpr seconds kLook{1};    // between looks at a client whose pipelined requests fill the buffer

HttpAnswer ProblemOf(const error_code& error) {
  using Fault = beast::http::error;
  if (error == Fault::header_limit) return Problem(431, "request line and headers are longer than this server reads");
  if (error == Fault::body_limit) return Problem(413, "the body is longer than this path takes");
  if (error == Fault::bad_version) return Problem(505, "the request line does not end in HTTP/1.1 or HTTP/1.0");
  return Problem(400, fmt::format("this is no HTTP request: {}", error.message()));
}

Refusal ReadFields(const RequestParser::value_type& message, HttpHead* head) {
  head->method = std::string(message.method_string());
  head->target = std::string(message.target());
  std::vector<HttpField> fields;
  for (const auto& field : message) fields.push_back({field.name_string(), field.value()});
  return ReadHead(fields, message.version() >= 11, head);
}

class Connection final : public HttpConnection, public HttpStream {
 public:
  Connection(net::io_context& context, std::string peer, bool local, const HttpSite& site)
      : HttpStream(context, local, site.limits), site_(site), peer_(std::move(peer)), local_(local) {}
  ~Connection() override {
    Hold(0);
    HoldAnswer(0);
    if (reply_) reply_->Disowned();
  }

  net::awaitable<void> Run();
  void End() override {
    stopping_ = true;
    Wake();
  }
  void TellGone();

 private:
  // Of the request that is being answered.
  struct Asked {
    bool head = false, chunks = false, keep_alive = false;
    std::string websocket_key;  // empty: it asks for none
  };

  bool cut() const override { return reply_ && reply_->cut(); }

  net::awaitable<bool> ServeOne();
  net::awaitable<bool> Idle();
  net::awaitable<Refusal> More(Clock::time_point deadline, const char* what);
  error_code Feed(RequestParser* parser);
  bool Hold(size_t bytes);
  bool HoldAnswer(size_t bytes);
  net::awaitable<Refusal> ReadHead(RequestParser* parser);
  net::awaitable<Refusal> ReadBody(RequestParser* parser, const HttpHead& head, size_t allowed);
  std::variant<size_t, HttpAnswer> Accept(const HttpHead& head);
  void Handle(HttpRequest request);
  net::awaitable<bool> Respond();
  net::awaitable<bool> SendAnswer(HttpAnswer answer);
  net::awaitable<bool> SendEvents(HttpReply::Taken taken);
  net::awaitable<bool> ServeMessages(HttpReply::Taken taken);
  Clock::time_point NextLook(Clock::time_point latest);
  net::awaitable<void> Linger();

  const HttpSite& site_;
  const std::string peer_;
  const bool local_;
  size_t held_ = 0, answer_ = 0;  // of site_.reading, of site_.sending
  bool stopping_ = false;
  Asked asked_;
  std::shared_ptr<HttpReply> reply_;  // of the request that is being answered
};

// ---- Requests -----------------------------------------------------------------------------------------------------

void Connection::TellGone() {
  if (reply_ && !stopping_) std::exchange(reply_, nullptr)->Gone();
}

net::awaitable<void> Connection::Run() {
  for (bool more = true; more && !stopping_;) more = co_await ServeOne();
  TellGone();
  co_await Linger();
}

// One request and its answer. False: the connection ends.
net::awaitable<bool> Connection::ServeOne() {
  const bool begun = co_await Idle();
  if (!begun) co_return false;
  asked_ = {};
  RequestParser parser;
  HttpHead head;
  head.peer = peer_;
  head.local = local_;
  Refusal refusal = co_await ReadHead(&parser);
  if (!refusal) refusal = ReadFields(parser.get(), &head);
  if (!refusal) {
    asked_ = {head.method == "HEAD", parser.get().version() >= 11, false, {}};
    if (asked_.chunks && !RefuseWebSocket(head)) asked_.websocket_key = head.headers.at("sec-websocket-key");
    auto allowed = Accept(head);
    if (auto* const answer = std::get_if<HttpAnswer>(&allowed)) {
      asked_.keep_alive = parser.is_done() && parser.keep_alive();
      const bool sent = co_await SendAnswer(std::move(*answer));
      co_return sent&& asked_.keep_alive;
    }
    refusal = co_await ReadBody(&parser, head, std::get<size_t>(allowed));
    Hold(0);
  }
  if (refusal) {
    if (!stopping_) (void)co_await SendAnswer(std::move(*refusal));
    co_return false;
  }
  asked_.keep_alive = parser.keep_alive();
  Handle({std::move(head), std::move(parser.get().body())});
  const bool whole = co_await Respond();
  if (!whole) co_return false;
  std::exchange(reply_, nullptr)->Whole();
  co_return asked_.keep_alive;
}

// Waits for the first byte of a request. False: none comes.
net::awaitable<bool> Connection::Idle() {
  const auto deadline = Clock::now() + seconds(site_.limits.idle_s);
  for (;;) {
    // Some clients send an empty line after a body.
    in_.erase(0, std::min(in_.find_first_not_of("\r\n"), in_.size()));
    if (!in_.empty()) co_return true;
    if (input_ended() || stopping_ || Clock::now() >= deadline) co_return false;
    in_.shrink_to_fit();  // most connections are idle
    Read();
    co_await Changed(deadline);
  }
}

// Waits for more input.
net::awaitable<Refusal> Connection::More(Clock::time_point deadline, const char* what) {
  const size_t had = in_.size();
  for (;;) {
    Read();
    if (in_.size() > had) co_return std::nullopt;
    if (input_ended()) co_return Problem(400, fmt::format("the request ended in the middle of its {}", what));
    if (stopping_) co_return Problem(503, "the server stops");
    if (!reading()) co_return Problem(431, "the headers, or those of a chunk, are longer than this server reads");
    if (Clock::now() >= deadline) co_return Problem(408, fmt::format("the {} took too long to arrive", what));
    co_await Changed(deadline);
  }
}

// Gives the parser what has arrived.
error_code Connection::Feed(RequestParser* parser) {
  error_code error;
  if (in_.empty()) return error;
  in_.erase(0, parser->put(net::buffer(in_), error));
  if (error == beast::http::error::need_more) error = {};
  Read();
  return error;
}

net::awaitable<Refusal> Connection::ReadHead(RequestParser* parser) {
  const auto deadline = Clock::now() + seconds(site_.limits.head_s);
  parser->header_limit(static_cast<std::uint32_t>(site_.limits.header_bytes));
  parser->body_limit(boost::none);  // Accept() says it
  for (;;) {
    if (const error_code error = Feed(parser)) co_return ProblemOf(error);
    if (parser->is_header_done()) co_return std::nullopt;
    Refusal refusal = co_await More(deadline, "headers");
    if (refusal) co_return refusal;
  }
}

net::awaitable<Refusal> Connection::ReadBody(RequestParser* parser, const HttpHead& head, size_t allowed) {
  if (parser->content_length().value_or(0) > allowed) {
    co_return Problem(413,
                      fmt::format("the body has {} bytes, and this path takes {}", *parser->content_length(), allowed));
  }
  if (parser->is_done()) co_return std::nullopt;
  if (asked_.chunks && in_.empty() && head.headers.count("expect") != 0) {
    (void)co_await Put("HTTP/1.1 100 Continue\r\n\r\n");
  }
  const auto start = Clock::now();
  parser->eager(true);
  parser->body_limit(allowed);
  for (;;) {
    if (const error_code error = Feed(parser)) co_return ProblemOf(error);
    if (parser->is_done()) co_return std::nullopt;
    if (!Hold(parser->get().body().size())) co_return Problem(503, "too much is being sent at once: try again");
    const auto earned = seconds(parser->get().body().size() / kBodyRate);
    const auto deadline = start + seconds(site_.limits.body_s) + earned;
    if (Clock::now() >= deadline) co_return Problem(408, "the body took too long to arrive");
    Refusal refusal = co_await More(deadline, "body");
    if (refusal) co_return refusal;
  }
}

// This connection's body has so many bytes now. False: those of all have too many.
bool Connection::Hold(size_t bytes) {
  site_.reading += bytes - std::exchange(held_, bytes);
  return site_.reading <= static_cast<size_t>(site_.limits.bodies_mib) << 20;
}

// The same for its answer. A short one always has room: it may say that there is none.
bool Connection::HoldAnswer(size_t bytes) {
  constexpr size_t kShort = size_t{16} << 10;
  site_.sending += bytes - std::exchange(answer_, bytes);
  return bytes <= kShort || site_.sending <= static_cast<size_t>(site_.limits.answers_mib) << 20;
}

std::variant<size_t, HttpAnswer> Connection::Accept(const HttpHead& head) {
  try {
    return site_.handler->Accept(head);
  } catch (const std::exception& error) {
    return Problem(500, error.what());
  }
}

void Connection::Handle(HttpRequest request) {
  auto changed = [post = site_.post, weak = weak_from_this()] {
    post([weak] {
      if (const auto connection = weak.lock()) connection->Wake();
    });
  };
  reply_ = std::make_shared<HttpReply>(std::move(changed), site_.post);
  const auto reply = reply_;
  try {
    site_.handler->Handle(std::move(request), std::make_shared<HttpResponder>(reply));
  } catch (const std::exception& error) {
    reply->Answer(Problem(500, error.what()));
  }
}

// ---- Answers ------------------------------------------------------------------------------------------------------

// Input that is not read hides the end of a connection: it is looked for now and then.
Clock::time_point Connection::NextLook(Clock::time_point latest) {
  if (reading() || input_ended()) return latest;
  LookForEnd();
  return std::min(latest, Clock::now() + kLook);
}

// Waits for the answer and sends it. False: the client has not got all of it.
net::awaitable<bool> Connection::Respond() {
  auto give_up = Clock::time_point::max();
  for (;;) {
    Read();
    HttpReply::Taken taken = reply_->Take();
    if (taken.answer) co_return co_await SendAnswer(std::move(*taken.answer));
    if (taken.message) {
      const bool whole = co_await ServeMessages(std::move(taken));
      Hold(0);
      co_return whole;
    }
    if (taken.begun) co_return co_await SendEvents(std::move(taken));
    const auto next = NextLook(give_up);
    if (input_ended()) {
      reply_->Gone();
      give_up = std::min(give_up, Clock::now() + kAfterGone);
    }
    if (broken() || stopping_ || Clock::now() >= give_up) co_return false;
    co_await Changed(std::min(next, give_up));
  }
}

// False: the client has not got all of it.
net::awaitable<bool> Connection::SendAnswer(HttpAnswer answer) {
  if (!HoldAnswer(answer.body.size())) {
    answer = Problem(503, "too many answers are not taken yet: read them, and ask again");
    answer.headers.emplace_back("Retry-After", "5");
    HoldAnswer(answer.body.size());
  }
  const bool none = answer.status == 204 || answer.status == 304 || answer.status < 200;
  const auto framing = none ? HttpFraming::kNoBody : HttpFraming::kLength;
  asked_.keep_alive = asked_.keep_alive && !stopping_;
  std::string bytes = AnswerHead(answer, framing, answer.body.size(), asked_.keep_alive);
  if (!none && !asked_.head) bytes += answer.body;
  answer.body = {};
  const auto latest = Clock::now() + seconds(site_.limits.send_s) + seconds(bytes.size() / kBodyRate);
  const bool sent = co_await Put(std::move(bytes), latest);
  HoldAnswer(0);
  co_return sent;
}

// A stream of events until its end, with comments where it is silent. False: the client has not got all of it.
net::awaitable<bool> Connection::SendEvents(HttpReply::Taken taken) {
  const HttpAnswer answer{200, "text/event-stream", "", {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}};
  asked_.keep_alive = asked_.keep_alive && asked_.chunks && !stopping_;
  const auto framing = asked_.chunks ? HttpFraming::kChunked : HttpFraming::kUntilClose;
  const auto framed = [this](std::string_view text) { return asked_.chunks ? ChunkText(text) : std::string(text); };
  std::string bytes = AnswerHead(answer, framing, 0, asked_.keep_alive);
  if (asked_.head) co_return co_await Put(std::move(bytes));
  const auto pause = seconds(site_.limits.comment_s);
  for (auto comment_at = Clock::now() + pause;; taken = reply_->Take()) {
    Read();
    if (taken.cut || broken() || ((stopping_ || input_ended()) && !taken.ended)) co_return false;
    if (!taken.events.empty()) {
      bytes += framed(taken.events);
    } else if (Clock::now() >= comment_at) {
      bytes += framed(":\n\n");
    }
    if (taken.ended && asked_.chunks) bytes += "0\r\n\r\n";
    if (bytes.empty() && !taken.ended) {
      co_await Changed(NextLook(comment_at));
      continue;
    }
    // More may have come when this has been sent.
    const bool sent = co_await Put(std::exchange(bytes, {}));
    if (!sent || taken.ended) co_return sent;
    reply_->Sent();
    comment_at = Clock::now() + pause;
  }
}

// Messages in both directions until one side ends it, which the connection does not survive.
net::awaitable<bool> Connection::ServeMessages(HttpReply::Taken taken) {
  if (asked_.websocket_key.empty()) {
    co_return co_await SendAnswer(Problem(426, "this path speaks WebSocket over HTTP/1.1"));
  }
  const auto message = std::move(taken.message);
  WebSocketReader reader(site_.limits.message_bytes);
  std::string bytes = WebSocketHead(asked_.websocket_key);
  auto heard = Clock::now(), pinged = heard, spoken = heard;
  size_t left = 0;  // of in_: part of a frame's head
  const auto pause = seconds(site_.limits.ping_s), most_silence = seconds(site_.limits.session_s);
  for (;; taken = reply_->Take()) {
    Read();
    if (in_.size() > left) heard = Clock::now();
    WebSocketReader::Got got = reader.Feed(&in_);
    left = in_.size();
    const bool room = Hold(reader.held()) || reader.held() == 0;
    if (taken.cut || broken() || (input_ended() && !got.ended)) co_return false;
    const auto now = Clock::now();
    if (!got.messages.empty() || !taken.events.empty()) spoken = now;
    for (std::string& text : got.messages) message(std::move(text));
    bytes += taken.events;
    if (!taken.ended) bytes += got.answer;  // nothing follows a close
    bool last = got.ended || taken.ended;
    const auto end = [&](bool when, CloseCode code, const char* why) {
      if (when && !std::exchange(last, true)) bytes += CloseFrame(code, why);
    };
    end(stopping_, CloseCode::kGoingAway, "the server stops");
    end(!room, CloseCode::kTryLater, "too much is being sent at once");
    end(now >= spoken + most_silence, CloseCode::kGoingAway, "there was no message for too long");
    if (!last && now >= heard + 3 * pause) co_return false;
    const auto ping_at = std::max(heard, pinged) + pause;
    if (!last && now >= ping_at) {
      bytes += PingFrame();
      pinged = now;
    }
    if (bytes.empty() && !last) {
      co_await Changed(std::min(ping_at, spoken + most_silence));
      continue;
    }
    const bool sent = co_await Put(std::exchange(bytes, {}));
    if (!sent || last) co_return false;
    reply_->Sent();
  }
}

// ---- The end ------------------------------------------------------------------------------------------------------

// A socket that is closed with unread input resets the connection, and the client may lose the answer that it has not
// read yet.
net::awaitable<void> Connection::Linger() {
  ShutDown();
  const auto deadline = Clock::now() + kLinger;
  while (!input_ended() && !stopping_ && Clock::now() < deadline) {
    in_.clear();
    Read();
    co_await Changed(deadline);
  }
}

}  // namespace

std::shared_ptr<HttpConnection> ServeConnection(net::io_context& context, Fd socket, std::string peer, bool local,
                                                const HttpSite& site, std::function<void()> closed) {
  auto connection = std::make_shared<Connection>(context, std::move(peer), local, site);
  connection->Open(std::move(socket));
  // A handler for the end: without one an exception of the coroutine would end the program, or nobody would know.
  net::co_spawn(context, connection->Run(), [connection, closed = std::move(closed)](const std::exception_ptr&) {
    connection->Break();
    closed();
    connection->TellGone();
  });
  return connection;
}

}  // namespace kb::server
