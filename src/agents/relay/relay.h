// The model of an agent program in a box: an HTTP server on a Unix socket that the box shows, which speaks the wire
// that the program was made for and asks the provider in its stead.
//
// The program is told neither key nor provider. Whatever it asks for is one model with the limits of its settings
// (dialect.h). What it was sent and what came back is told to the owner, who has no need to believe what the program
// writes down itself. docs/design/agents.md says why so.
#ifndef AGENTS_RELAY_RELAY_H_
#define AGENTS_RELAY_RELAY_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/relay/conversations.h"
#include "base/result.h"
#include "model/gate.h"
#include "model/provider.h"
#include "model/settings.h"

namespace kb {

// One request of the program.
struct RelayCall {
  // Known before the provider is asked.
  int64_t number = 0;         // from 1, in the order in which they came
  std::string program_model;  // what the program called the model, in 256 bytes
  bool streamed = false;      // it asked for a stream
  size_t prompt_bytes = 0;    // of the request to the provider
  int max_tokens = 0;         // of its answer
  // At most 1 MiB. Where a request adds more, its long texts are shortened here: head, how much is left out, tail. The
  // provider is sent all of them.
  Addition added;
  std::vector<std::string> dropped;  // members of its request that stayed behind: the first 32, in 64 bytes each
  // Whether its answer is of no use any more, as the program has gone or the relay ends. Admit() must not wait longer.
  // From any thread, at any time.
  std::function<bool()> stop;

  // What became of it.
  int status = 0;        // HTTP, as the program was told
  std::string why;       // of a call without a whole answer: what happened, without the key; of one denied in 300 bytes
  bool denied = false;   // the provider was not asked: `added` is empty
  bool whole = false;    // the answer has its end
  bool left = false;     // it has none because the program, or the relay, was gone before
  bool refused = false;  // it has none, and would have none if it were asked again
  // The answer, with its attempts and seconds. Without a whole one: what came of it, and its usage lacks the output.
  Completion answer;
  // Attempts, the last one included, that may have taken tokens which nobody has counted: at most those of the prompt
  // and `max_tokens` each.
  int lost = 0;
};

// Called from several threads at once, and must not end the relay. Every call that is admitted is told of once, also
// when the relay ends.
class RelayOwner {
 public:
  virtual ~RelayOwner() = default;
  // Before the provider is asked. A sentence: the run is over, and the program gets it with HTTP 402. It may wait until
  // `call.stop`: the relay's destructor waits for it.
  virtual std::optional<std::string> Admit(const RelayCall& call) = 0;
  // At the end of each admitted call, and of each that was denied, before the program is told that it has all of the
  // answer. A program may have as many denied as it likes.
  virtual void Told(RelayCall call) = 0;
};

struct RelayOptions {
  ModelSettings settings;
  std::filesystem::path socket;                   // to be made, with mode 0600; its folder, too
  int calls_at_once = 8;                          // more of them wait
  size_t most_waiting_bytes = size_t{128} << 20;  // of requests that wait: beyond it HTTP 429
};

class Relay {
 public:
  // The key is read from the environment. `owner` outlives the relay; relays with the same `gates` share their
  // provider's limit of calls at a time. kUsage: the settings, the key or the path. kUnavailable: no libcurl, or
  // somebody listens there.
  static Result<std::unique_ptr<Relay>> Start(RelayOptions options, RelayOwner* owner, Gates* gates = nullptr);
  Relay(const Relay&) = delete;  // it owns threads
  Relay& operator=(const Relay&) = delete;
  ~Relay();  // ends what is under way

 private:
  class Impl;
  explicit Relay(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace kb

#endif  // AGENTS_RELAY_RELAY_H_
