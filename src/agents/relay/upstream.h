// One request to the provider, with repetitions for as long as nothing of an answer was passed on.
#ifndef AGENTS_RELAY_UPSTREAM_H_
#define AGENTS_RELAY_UPSTREAM_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/gate.h"
#include "model/http.h"
#include "model/provider.h"
#include "model/settings.h"
#include "model/wire_format.h"

namespace kb {

// What came of it.
struct Relaying {
  bool begun = false;  // events were passed on
  bool whole = false;  // the answer has its end
  // Of an answer that was no stream, or an error: what to pass on, without the key. Empty: there is nothing but `why`.
  int status = 0;
  std::string body, retry_after;
  std::string why;       // not whole: what happened
  bool refused = false;  // and it would happen again
  int lost = 0;          // attempts that may have taken tokens which nobody has counted
  Completion answer;     // as much of it as there is
};

class Upstream {
 public:
  // Takes one event, whole and as it came but for the key. False: nobody wants more.
  using Events = std::function<bool(std::string_view event)>;

  Upstream(const ModelSettings& settings, std::string key, std::unique_ptr<HttpClient> http, std::shared_ptr<Gate> gate)
      : settings_(settings),
        format_(FormatOf(settings_.wire)),
        key_(std::move(key)),
        http_(std::move(http)),
        gate_(std::move(gate)) {}

  // From any thread. `stop` is asked as Provider::Complete() asks it.
  Relaying Ask(const std::string& body, const std::vector<std::string>& headers, bool stream, const Events& events,
               const std::function<bool()>& stop);

 private:
  class Attempt;
  Relaying AskOften(const HttpRequest& call, bool stream, const Events& events, const std::function<bool()>& stop);

  const ModelSettings settings_;
  const WireFormat& format_;
  const std::string key_;
  const std::unique_ptr<HttpClient> http_;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace kb

#endif  // AGENTS_RELAY_UPSTREAM_H_
