// Which of a program's requests go on with which conversation. Programs send a whole conversation with every request;
// a transcript wants what is new in each.
#ifndef AGENTS_RELAY_CONVERSATIONS_H_
#define AGENTS_RELAY_CONVERSATIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/relay/dialect.h"

namespace kb {

// What a request adds, in at most 1 MiB: its long texts are shortened where it is more.
struct Addition {
  int conversation = 0;    // from 1, in the order of their first requests
  bool continues = false;  // else this request begins it: it goes on with none that was seen, and is here as a whole
  size_t known = 0;        // first messages that earlier requests of the conversation held
  std::string messages;    // a JSON array of the others
  std::optional<std::string> system;  // JSON; of a request that begins one and has it beside the messages
  std::optional<std::string> tools;   // JSON, where they are not those of the conversation's last request
};

class Conversations {
 public:
  // Of more than `most` the one that was asked longest ago is forgotten: a request that goes on with it begins another.
  explicit Conversations(size_t most = 1000) : most_(most) {}

  // `request` goes on with the longest conversation of the same system prompt whose last request's messages it begins
  // with. Marks for a cache are no difference. A shortened history, a title, a sub-agent begin with something else.
  Addition Add(const Dialect& dialect, const WireJson& request);

 private:
  struct Conversation {
    int number = 0;
    size_t messages = 0;
    std::string tools;  // hash
    int64_t asked = 0;  // last, among all requests
  };
  const size_t most_;
  std::map<std::string, Conversation> known_;  // by a hash of the system prompt and the last request's messages
  int begun_ = 0;
  int64_t requests_ = 0;
};

}  // namespace kb

#endif  // AGENTS_RELAY_CONVERSATIONS_H_
