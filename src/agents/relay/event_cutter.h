// Cuts a stream of server-sent events after each empty line, which ends an event, and changes no byte.
#ifndef AGENTS_RELAY_EVENT_CUTTER_H_
#define AGENTS_RELAY_EVENT_CUTTER_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace kb {

class EventCutter {
 public:
  // Calls `on_event` with the bytes of each event that these complete. It returns false when it wants no more.
  bool Feed(std::string_view bytes, const std::function<bool(const std::string&)>& on_event) {
    for (const char c : bytes) {
      event_ += c;
      if (c == '\r') continue;
      const bool ends = c == '\n' && line_is_empty_;
      line_is_empty_ = c == '\n';
      if (ends && !on_event(std::exchange(event_, {}))) return false;
    }
    return true;
  }
  size_t size() const { return event_.size(); }  // of the event that is not complete

 private:
  std::string event_;
  bool line_is_empty_ = true;
};

}  // namespace kb

#endif  // AGENTS_RELAY_EVENT_CUTTER_H_
