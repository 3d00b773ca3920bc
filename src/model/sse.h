// Server-sent events, as the HTML standard has them: bytes in pieces of any size, whole events out.
#ifndef MODEL_SSE_H_
#define MODEL_SSE_H_

#include <functional>
#include <string>
#include <string_view>

namespace kb {

struct SseEvent {
  std::string type;  // empty: the stream named none
  std::string data;  // its data lines, joined by newlines
};

class SseParser {
 public:
  explicit SseParser(size_t max_event_bytes) : limit_(max_event_bytes) {}

  // Calls `on_event` for each event that these bytes complete. An event that the stream ends in the middle of is never
  // reported. False once an event is longer than the limit; what follows is then not looked at.
  bool Feed(std::string_view bytes, const std::function<void(const SseEvent&)>& on_event);

 private:
  void Line(const std::function<void(const SseEvent&)>& on_event);

  size_t limit_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_return_ = false;  // a newline that follows a carriage return ends nothing
  bool first_line_ = true;
};

}  // namespace kb

#endif  // MODEL_SSE_H_
