#include "server/http_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"

namespace kb::server {
namespace {

constexpr std::pair<int, std::string_view> kReasons[] = {{100, "Continue"},
                                                         {200, "OK"},
                                                         {201, "Created"},
                                                         {202, "Accepted"},
                                                         {204, "No Content"},
                                                         {206, "Partial Content"},
                                                         {301, "Moved Permanently"},
                                                         {302, "Found"},
                                                         {303, "See Other"},
                                                         {304, "Not Modified"},
                                                         {307, "Temporary Redirect"},
                                                         {308, "Permanent Redirect"},
                                                         {400, "Bad Request"},
                                                         {401, "Unauthorized"},
                                                         {402, "Payment Required"},
                                                         {403, "Forbidden"},
                                                         {404, "Not Found"},
                                                         {405, "Method Not Allowed"},
                                                         {406, "Not Acceptable"},
                                                         {408, "Request Timeout"},
                                                         {409, "Conflict"},
                                                         {410, "Gone"},
                                                         {411, "Length Required"},
                                                         {412, "Precondition Failed"},
                                                         {413, "Content Too Large"},
                                                         {415, "Unsupported Media Type"},
                                                         {417, "Expectation Failed"},
                                                         {421, "Misdirected Request"},
                                                         {422, "Unprocessable Content"},
                                                         {425, "Too Early"},
                                                         {426, "Upgrade Required"},
                                                         {428, "Precondition Required"},
                                                         {429, "Too Many Requests"},
                                                         {431, "Request Header Fields Too Large"},
                                                         {500, "Internal Server Error"},
                                                         {501, "Not Implemented"},
                                                         {502, "Bad Gateway"},
                                                         {503, "Service Unavailable"},
                                                         {504, "Gateway Timeout"},
                                                         {505, "HTTP Version Not Supported"},
                                                         {507, "Insufficient Storage"}};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

Result<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '%') {
      const int high = at + 2 < text.size() ? HexDigit(text[at + 1]) : -1;
      const int low = high < 0 ? -1 : HexDigit(text[at + 2]);
      if (low < 0) return Fail(ErrorCode::kUsage, "a % in the target is not followed by two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      at += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return Fail(ErrorCode::kUsage, "the target holds a NUL");
    decoded += c;
  }
  if (ValidUtf8(decoded) != decoded) return Fail(ErrorCode::kUsage, "the target is not UTF-8 once it is decoded");
  return decoded;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return lower;
}

// What could end a header early, or begin another.
std::string OneLine(std::string_view text) {
  std::string line(text);
  std::erase_if(line, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return line;
}

}  // namespace

std::string_view ReasonOf(int status) {
  const auto* const found = std::find_if(std::begin(kReasons), std::end(kReasons),
                                         [status](const auto& reason) { return reason.first == status; });
  return found == std::end(kReasons) ? "Other" : found->second;
}

HttpAnswer Problem(int status, std::string_view detail) {
  nlohmann::ordered_json body;
  body["type"] = "about:blank";
  body["title"] = ReasonOf(status);
  body["status"] = status;
  body["detail"] = detail;
  return {status, "application/problem+json", Dump(body) + "\n", {}};
}

Status ReadTarget(HttpHead* head) {
  std::string_view target = head->target;
  if (target == "*") {
    head->path = "*";
    return {};
  }
  if (target.starts_with("http://") ||
      target.starts_with("https://")) {  // the form for proxies, which any server takes
    target.remove_prefix(target.find("://") + 3);
    target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
  } else if (!target.starts_with('/')) {
    return Fail(ErrorCode::kUsage, "the target is no path: it begins with no slash");
  }
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  KB_ASSIGN_OR_RETURN(head->path, Decode(target.substr(0, mark), false));
  if (head->path.empty()) head->path = "/";
  std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    KB_ASSIGN_OR_RETURN(std::string name, Decode(pair.substr(0, equals), true));
    KB_ASSIGN_OR_RETURN(head->query[name], Decode(pair.substr(std::min(equals + 1, pair.size())), true));
  }
  return {};
}

std::optional<HttpAnswer> ReadHead(std::span<const HttpField> fields, bool version_1_1, HttpHead* head) {
  for (const auto& [sent, value] : fields) {
    const std::string name = Lower(sent);
    const auto [found, added] = head->headers.try_emplace(name, std::string(value));
    if (!added && name == "host") return Problem(400, "there is more than one Host header");
    if (!added) found->second.append(", ").append(value);
  }
  if (version_1_1 && head->headers.count("host") == 0) return Problem(400, "the Host header is missing");
  const auto coding = head->headers.find("transfer-encoding");
  if (coding != head->headers.end() && Lower(coding->second) != "chunked") {
    return Problem(501, "the only transfer encoding that this server reads is chunked");
  }
  const auto expected = head->headers.find("expect");
  if (expected != head->headers.end() && Lower(expected->second) != "100-continue") {
    return Problem(417, "the only expectation that this server meets is 100-continue");
  }
  if (const Status read = ReadTarget(head); !read) return Problem(400, read.error().message);
  return std::nullopt;
}

std::string AnswerHead(const HttpAnswer& answer, HttpFraming framing, size_t length, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", answer.status, ReasonOf(answer.status),
                                 UtcNow("%a, %d %b %Y %H:%M:%S GMT"));
  if (framing != HttpFraming::kNoBody && !answer.type.empty()) {
    head += fmt::format("Content-Type: {}\r\n", OneLine(answer.type));
  }
  if (framing == HttpFraming::kLength) head += fmt::format("Content-Length: {}\r\n", length);
  if (framing == HttpFraming::kChunked) head += "Transfer-Encoding: chunked\r\n";
  head += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", OneLine(name), OneLine(value));
  return head + "\r\n";
}

std::string EventText(std::string_view event, std::string_view data, std::string_view id) {
  std::string text;
  if (!id.empty()) text += fmt::format("id: {}\n", OneLine(id));
  if (!event.empty()) text += fmt::format("event: {}\n", OneLine(event));
  for (;;) {
    const size_t end = std::min(data.find_first_of("\r\n"), data.size());
    text += fmt::format("data: {}\n", data.substr(0, end));
    if (end == data.size()) return text + "\n";
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
}

std::string ChunkText(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

}  // namespace kb::server
