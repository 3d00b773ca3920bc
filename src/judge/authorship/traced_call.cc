// Who did the work on a GPU: one more call of a candidate that is known to be correct, its kernels traced by its
// runner.

#include <fmt/format.h>

#include "judge/authorship/kernel_authorship.h"
#include "judge/static/candidate_check.h"
#include "judge/static/kernel_names.h"
#include "judge/trial/trial.h"

namespace kb {
namespace {

// The beginning of what a runner says, not cut inside a character.
std::string Beginning(std::string text) {
  constexpr size_t kMost = 300;
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

Result<std::string> Trial::TraceCall() {
  KB_ASSIGN_OR_RETURN(const auto answered, rounds_.TraceCall());
  if (const auto* ending = std::get_if<Ending>(&answered)) {
    const Finding finding = FindingOf(*ending, protocol().memory_gb);
    return fmt::format("the traced call did not end well: {}", Beginning(finding.reason));
  }
  const ops::Said& said = std::get<Rounds::Answer>(answered).said;
  if (!said.text.empty()) return Beginning(said.text);
  const std::set<std::string> own = KernelNames(StaticSourcesOf(request_.candidate));
  measured().authorship = KernelAuthorship(said.kernels, said.kernels_span_us, own);
  return std::string();
}

}  // namespace kb
