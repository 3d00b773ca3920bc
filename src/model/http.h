// One HTTP call at a time to a thread: POST or GET, the body handed on as it arrives. Over libcurl, which also sees to
// TLS, to reusing connections and to the proxy variables (https_proxy, no_proxy and their kin).
#ifndef MODEL_HTTP_H_
#define MODEL_HTTP_H_

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kb {

struct HttpTimeouts {
  std::chrono::milliseconds connect{30'000};
  // From the call's start to the first byte of the answer's body. A model that thinks in silence takes minutes.
  std::chrono::milliseconds first_byte{600'000};
  std::chrono::milliseconds between_bytes{300'000};
  std::chrono::milliseconds total{3'600'000};
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"; may hold a key, and is never part of an error
  std::optional<std::string> body;   // a POST with it; none: a GET
  HttpTimeouts timeouts;
  size_t max_bytes = size_t{256} << 20;  // of the answer's body
};

struct HttpHead {
  long status = 0;
  std::string content_type;  // lower case
  std::string retry_after;
  std::string location;
};

enum class HttpEnd {
  kDone,          // the whole answer, whatever its status, or as much of it as was wanted
  kNotConnected,  // no such host, connection refused, no TLS
  kTimeout,
  kBroken,    // the connection ended in the middle
  kTooLarge,  // more than max_bytes
  kStopped,   // `stop` said so
  kRefused,   // what no repetition mends: a certificate, an address
};

struct HttpResult {
  HttpEnd end = HttpEnd::kDone;
  HttpHead head;
  std::string detail;  // of everything but kDone: what happened, for people
};

class HttpClient {
 public:
  // Takes what has arrived; false: that is all that is needed, the connection may end.
  using Sink = std::function<bool(const HttpHead&, std::string_view bytes)>;

  // kUnavailable without libcurl.
  static Result<std::unique_ptr<HttpClient>> Create();
  ~HttpClient();

  // Redirects are not followed: a request carries a key, and its address is the user's word. May be called from several
  // threads at once. `stop` is asked at least every 100 ms.
  HttpResult Call(const HttpRequest& request, const Sink& sink, const std::function<bool()>& stop);

 private:
  struct Lane;  // connections that one call after the other uses
  HttpClient();
  std::unique_ptr<Lane> Acquire();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> idle_;
};

}  // namespace kb

#endif  // MODEL_HTTP_H_
