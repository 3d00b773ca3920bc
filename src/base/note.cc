#include "base/note.h"

#include <map>
#include <utility>

namespace kb {
namespace {

const char* CodeOf(const std::string& word) {
  static const std::map<std::string, const char*> codes = {
      // Why the interval is as wide as it is, or where it lies.
      {"wide_interval", "uncertain"},
      {"surely_slow", "uncertain"},
      {"too_short_to_resolve", "uncertain"},
      {"launch_bound", "uncertain"},
      {"baseline_disturbed", "uncertain"},
      {"machine_busy", "uncertain"},
      {"launches_vary", "uncertain"},  // of earlier versions
      {"slower_inputs", "uncertain"},
      // The speedup is that of other inputs than the natural ones.
      {"slower_elsewhere", "headline"},
      // The judge's clock, the device's events and the memory contradict each other.
      {"timing_mismatch", "clock"},
      {"by_clock", "clock"},
      {"timing_by_candidate", "clock"},
      {"faster_than_memory", "clock"},
      {"authorship", "authorship"},
      // How a module came to be what was judged.
      {"state_copied", "module"},
      {"other_weights", "module"},
      {"build_fallback", "module"},
      // Less was done than the protocol asks.
      {"weakened", "weakened"},
      {"compared_in_part", "weakened"},
      {"not_audited", "weakened"},
      {"static", "static"},
  };
  const auto found = codes.find(word);
  return found == codes.end() ? "problem" : found->second;
}

}  // namespace

Note MakeNote(std::string text, nlohmann::json values) {
  const char* code = CodeOf(text.substr(0, text.find(':')));
  return {code, std::move(values), std::move(text)};
}

}  // namespace kb
