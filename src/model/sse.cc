#include "model/sse.h"

#include <utility>

namespace kb {

bool SseParser::Feed(std::string_view bytes, const std::function<void(const SseEvent&)>& on_event) {
  while (!bytes.empty()) {
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + event_.data.size() > limit_) return false;
    if (end == std::string_view::npos) return true;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    Line(on_event);
  }
  return true;
}

void SseParser::Line(const std::function<void(const SseEvent&)>& on_event) {
  std::string line = std::exchange(line_, {});
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  if (line.empty()) {
    const SseEvent event = std::exchange(event_, {});
    if (std::exchange(has_data_, false)) on_event(event);
    return;
  }
  const size_t colon = line.find(':');
  const std::string_view field = std::string_view(line).substr(0, colon);  // empty: a comment, which keeps alive
  std::string_view value = colon == std::string::npos ? "" : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.type = value;
  } else if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  }
}

}  // namespace kb
