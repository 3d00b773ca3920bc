// A model behind HTTP: one call, what its failures mean, and trying again.
#ifndef MODEL_REMOTE_PROVIDER_H_
#define MODEL_REMOTE_PROVIDER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "model/gate.h"
#include "model/http.h"
#include "model/wire_format.h"

namespace kb {

// Why a call came to nothing.
struct CallFailure {
  std::string message;
  bool retry = true;
  std::string retry_after;  // the header's value
};

// Of a call that ended with anything but a finished answer; `body` is what came instead, or before.
CallFailure FailureOf(const HttpResult& result, const std::string& body, const ModelSettings& settings);

// Whether the value of a Retry-After header is one.
bool IsRetryAfter(const std::string& value);
// How long to wait after that before call `next` of one that began at `start`; nothing if that is more than the policy
// allows.
std::optional<std::chrono::milliseconds> WaitAfter(const CallFailure& failure, int next, const RetryPolicy& policy,
                                                   std::chrono::steady_clock::time_point start);
// False if `stop` said so before the time was over.
bool Sleep(std::chrono::milliseconds time, const std::function<bool()>& stop);

class RemoteProvider : public Provider {
 public:
  RemoteProvider(ModelSettings settings, std::string key, std::unique_ptr<HttpClient> http, std::shared_ptr<Gate> gate)
      : settings_(std::move(settings)),
        format_(FormatOf(settings_.wire)),
        key_(std::move(key)),
        http_(std::move(http)),
        gate_(std::move(gate)) {}

  Result<Completion> Complete(const CompletionRequest& request, const std::function<bool()>& stop) override;

 private:
  using Outcome = std::variant<Completion, CallFailure>;

  Result<Completion> TryOften(const HttpRequest& call, const std::function<bool()>& stop);
  Outcome CallOnce(const HttpRequest& call, const std::function<bool()>& stop);

  const ModelSettings settings_;
  const WireFormat& format_;
  const std::string key_;
  const std::unique_ptr<HttpClient> http_;
  const std::shared_ptr<Gate> gate_;
};

// `text` with every occurrence of `key` replaced by its variable's name. Also on request of ListedPrice().
std::string Redacted(std::string text, const std::string& key, const std::string& key_env);
// The same in text that is JSON.
std::string RedactedJson(std::string json, const std::string& key, const std::string& key_env);
// Answers are kept and exported: a key that a server repeats must not be among them.
void HideKey(const std::string& key, const std::string& key_env, Completion* completion);
// What somebody else said, for people: without the key, on one line, not too long.
std::string Shown(const std::string& message, const std::string& key, const std::string& key_env);

}  // namespace kb

#endif  // MODEL_REMOTE_PROVIDER_H_
