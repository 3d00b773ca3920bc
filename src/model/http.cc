#include "model/http.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "model/curl_library.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{100};
// After an answer is complete its connection gets this long to end in order, so that it can be used again.
constexpr milliseconds kOrderlyEnd{100};

// Where distributions keep the certificates they trust: a libcurl that was carried here from another one looks in the
// wrong place. Null: where libcurl itself looks.
const char* CertificateFile() {
  for (const char* variable : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (const char* set = std::getenv(variable); set && *set) return set;
  }
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(file, R_OK) == 0) return file;
  }
  return nullptr;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// One call while it lasts: what libcurl's callbacks write to.
struct Transfer {
  const HttpRequest& request;
  const HttpClient::Sink& sink;
  HttpHead head;
  Clock::time_point start = Clock::now(), last_byte = start;
  size_t bytes = 0;
  bool enough = false, too_large = false;
  char error[CURL_ERROR_SIZE] = {};
};

size_t OnHeader(char* data, size_t, size_t size, void* user) {
  auto* const transfer = static_cast<Transfer*>(user);
  std::string_view line(data, size);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {  // also after an interim answer, whose headers then do not count
    transfer->head = {};
    const size_t space = std::min(line.find(' '), line.size() - 1);
    std::from_chars(line.data() + space + 1, line.data() + line.size(), transfer->head.status);
    return size;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  const std::string name = Lower(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  if (name == "content-type") transfer->head.content_type = Lower(value);
  if (name == "retry-after") transfer->head.retry_after = value;
  if (name == "location") transfer->head.location = value;
  return size;
}

size_t OnBody(char* data, size_t, size_t size, void* user) {
  auto* const transfer = static_cast<Transfer*>(user);
  transfer->last_byte = Clock::now();
  transfer->bytes += size;
  transfer->too_large = transfer->bytes > transfer->request.max_bytes;
  if (transfer->too_large) return 0;
  if (!transfer->enough) transfer->enough = !transfer->sink(transfer->head, {data, size});
  return size;
}

std::string Seconds(milliseconds time) { return fmt::format("{:g} s", static_cast<double>(time.count()) / 1e3); }

// What ran out, if something did. The connection's own limit is libcurl's affair.
std::string Overdue(const Transfer& transfer) {
  const HttpTimeouts& limits = transfer.request.timeouts;
  const auto now = Clock::now();
  if (now - transfer.start > limits.total) return "the answer took longer than " + Seconds(limits.total);
  if (transfer.bytes == 0) {
    return now - transfer.start > limits.first_byte ? "no answer within " + Seconds(limits.first_byte) : "";
  }
  return now - transfer.last_byte > limits.between_bytes
             ? fmt::format("nothing came for {} in the middle of the answer", Seconds(limits.between_bytes))
             : "";
}

HttpEnd EndOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpEnd::kDone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
      return HttpEnd::kNotConnected;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpEnd::kTimeout;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return HttpEnd::kRefused;
    default:
      return HttpEnd::kBroken;
  }
}

// In our words where libcurl's tell a user nothing.
std::string DetailOf(CURLcode code, const Transfer& transfer, const CurlLibrary& curl) {
  switch (code) {
    case CURLE_GOT_NOTHING:
      return "the connection closed without an answer";
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return "the connection broke";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return "what answers there does not speak HTTP: is the base_url right?";
    default:
      return transfer.error[0] ? transfer.error : curl.easy_strerror(code);
  }
}

}  // namespace

// A multi handle owns its connections, so it stays together with the one easy handle that uses them.
struct HttpClient::Lane {
  const CurlLibrary* curl = nullptr;
  CURL* easy = nullptr;
  CURLM* multi = nullptr;

  ~Lane() {
    if (easy != nullptr) curl->easy_cleanup(easy);
    if (multi != nullptr) curl->multi_cleanup(multi);
  }

  HttpResult Run(Transfer* transfer, const std::function<bool()>& stop);
  curl_slist* Prepare(Transfer* transfer);
  HttpResult Wait(Transfer* transfer, const std::function<bool()>& stop);
};

curl_slist* HttpClient::Lane::Prepare(Transfer* transfer) {
  const HttpRequest& request = transfer->request;
  curl->easy_reset(easy);
  curl->easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl->easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's headers are not the server's
  curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);             // hours of silence may lie behind a NAT
  curl->easy_setopt(easy, CURLOPT_USERAGENT, "kernelbench");
  curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.timeouts.connect.count()));
  curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
  curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl->easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
  curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  if (const char* file = CertificateFile()) curl->easy_setopt(easy, CURLOPT_CAINFO, file);
  curl_slist* headers = curl->slist_append(nullptr, "Expect:");  // or a long prompt waits a second for leave to be sent
  for (const std::string& each : request.headers) headers = curl->slist_append(headers, each.c_str());
  if (request.body) {
    headers = curl->slist_append(headers, "Content-Type: application/json");
    curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
    curl->easy_setopt(easy, CURLOPT_POSTFIELDS, request.body->data());
  }
  curl->easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  return headers;
}

HttpResult HttpClient::Lane::Wait(Transfer* transfer, const std::function<bool()>& stop) {
  auto enough_since = Clock::time_point::max();
  while (true) {
    int running = 0, left = 0;
    if (const CURLMcode code = curl->multi_perform(multi, &running); code != CURLM_OK) {
      return {HttpEnd::kBroken, transfer->head, fmt::format("libcurl: error {}", static_cast<int>(code))};
    }
    while (const CURLMsg* message = curl->multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      if (code == CURLE_OK || transfer->enough) return {HttpEnd::kDone, transfer->head, ""};
      if (transfer->too_large) {
        return {HttpEnd::kTooLarge, transfer->head,
                fmt::format("the answer is longer than {} bytes", transfer->request.max_bytes)};
      }
      return {EndOf(code), transfer->head, DetailOf(code, *transfer, *curl)};
    }
    if (transfer->enough) {
      enough_since = std::min(enough_since, Clock::now());
      if (Clock::now() - enough_since > kOrderlyEnd) return {HttpEnd::kDone, transfer->head, ""};
    }
    if (stop && stop()) {
#if LIBCURL_VERSION_NUM >= 0x075700
      curl->easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // or it waits for a name server that does not answer
#endif
      return {HttpEnd::kStopped, transfer->head, "interrupted"};
    }
    if (std::string overdue = transfer->enough ? "" : Overdue(*transfer); !overdue.empty()) {
      return {HttpEnd::kTimeout, transfer->head, std::move(overdue)};
    }
    curl->multi_poll(multi, nullptr, 0, static_cast<int>(kPoll.count()), nullptr);
  }
}

HttpResult HttpClient::Lane::Run(Transfer* transfer, const std::function<bool()>& stop) {
  curl_slist* const headers = Prepare(transfer);
  curl->multi_add_handle(multi, easy);
  HttpResult result = Wait(transfer, stop);
  curl->multi_remove_handle(multi, easy);
  curl->easy_reset(easy);  // what it points to goes with this call
  curl->slist_free_all(headers);
  return result;
}

HttpClient::HttpClient() = default;
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::Create() {
  KB_RETURN_IF_ERROR(LoadCurl());
  return std::unique_ptr<HttpClient>(new HttpClient());
}

std::unique_ptr<HttpClient::Lane> HttpClient::Acquire() {
  const std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    std::unique_ptr<Lane> lane = std::move(idle_.back());
    idle_.pop_back();
    return lane;
  }
  auto lane = std::make_unique<Lane>();
  lane->curl = *LoadCurl();
  lane->easy = lane->curl->easy_init();
  lane->multi = lane->curl->multi_init();
  KB_CHECK(lane->easy != nullptr && lane->multi != nullptr);
  return lane;
}

HttpResult HttpClient::Call(const HttpRequest& request, const Sink& sink, const std::function<bool()>& stop) {
  std::unique_ptr<Lane> lane = Acquire();
  Transfer transfer{request, sink};
  HttpResult result = lane->Run(&transfer, stop);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(lane));
  return result;
}

}  // namespace kb
