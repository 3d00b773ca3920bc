// What HTTP/1.1 carries, as handlers see it: requests in, answers out. Names in kb::server, for src/model has its own.
#ifndef SERVER_HTTP_MESSAGE_H_
#define SERVER_HTTP_MESSAGE_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kb::server {

struct HttpHead {
  std::string method;                          // any token, as it was sent
  std::string target;                          // as it was sent
  std::string path;                            // percent-decoded, without the query; "/..." or "*"
  std::map<std::string, std::string> query;    // decoded, + is a space; of a repeated name the last one
  std::map<std::string, std::string> headers;  // names in lower case; a repeated one joined by ", "
  std::string peer;                            // for logs
  bool local = false;                          // over the Unix socket
};

struct HttpRequest {
  HttpHead head;
  std::string body;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  HttpHeaders headers;  // besides Content-Type, Content-Length, Date and Connection
};

// An answer of type application/problem+json (RFC 9457): type, title, status, detail.
HttpAnswer Problem(int status, std::string_view detail);

// The phrase that belongs to a status: "Not Found".
std::string_view ReasonOf(int status);

// Fills path and query from head->target. An error says what is wrong with it: a bad escape, a NUL, no UTF-8.
Status ReadTarget(HttpHead* head);

// A header of a request, as it was sent.
struct HttpField {
  std::string_view name, value;
};

// Fills headers, path and query of a request whose method and target are there. Or the answer to one that this server
// does not serve, or that two readers could understand differently.
std::optional<HttpAnswer> ReadHead(std::span<const HttpField> fields, bool version_1_1, HttpHead* head);

// How an answer's body is delimited.
enum class HttpFraming { kLength, kChunked, kUntilClose, kNoBody };

// Status line and headers, up to the empty line. `length` is of kLength.
std::string AnswerHead(const HttpAnswer& answer, HttpFraming framing, size_t length, bool keep_alive);

// One server-sent event. Line ends in `event` and `id` are dropped; those in `data` begin new data lines.
std::string EventText(std::string_view event, std::string_view data, std::string_view id);

// `bytes` as a chunk.
std::string ChunkText(std::string_view bytes);

}  // namespace kb::server

#endif  // SERVER_HTTP_MESSAGE_H_
