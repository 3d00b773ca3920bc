#include "server/metrics.h"

#include <fmt/format.h>

namespace kb::server {
namespace {

void AddHead(const char* name, const char* type, const char* help, std::string* text) {
  *text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

std::string MetricsText(const Desk::Counts& counts) {
  std::string text;
  AddHead("kernelbench_evaluations_open", "gauge", "Evaluations that have not ended.", &text);
  for (const char* state : {"queued", "preparing", "judging"}) {
    const auto open = counts.open.find(state);
    text += fmt::format("kernelbench_evaluations_open{{state=\"{}\"}} {}\n", state,
                        open == counts.open.end() ? 0 : open->second);
  }
  AddHead("kernelbench_evaluations_total", "counter", "Evaluations that have ended, by verdict, failed or cancelled.",
          &text);
  for (const auto& [how, count] : counts.ended) {
    text += fmt::format("kernelbench_evaluations_total{{verdict=\"{}\"}} {}\n", how, count);
  }
  AddHead("kernelbench_device_seconds_total", "counter", "Seconds that devices were held by evaluations.", &text);
  text += fmt::format("kernelbench_device_seconds_total {}\n", counts.judging_s);
  return text;
}

}  // namespace kb::server
