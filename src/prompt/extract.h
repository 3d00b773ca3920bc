// From what a model answered to the source of a candidate.
//
// Models write code in fences of all sorts, several of them, with prose around, drafts and repetitions of the reference
// between, reasoning before, or without any fence at all; and some answers end in the middle. What is taken is the last
// complete block that defines the entry point (ModelNew, kb_forward), is more than a sketch and stands on its own, else
// one with the blocks that define what it needs (block_choice.h).
#ifndef PROMPT_EXTRACT_H_
#define PROMPT_EXTRACT_H_

#include <optional>
#include <string>
#include <string_view>

#include "prompt/target.h"

namespace kb {

// Values are stored by name (ToString).
enum class ExtractOutcome {
  kFound,         // `source` defines the entry point
  kNoCode,        // "no_code": nothing in the answer looks like source
  kNoEntryPoint,  // "no_entry_point": there is code, but none that defines what a candidate must
  kTruncated,     // "truncated": the answer ends inside its code, or inside its reasoning
};
std::string_view ToString(ExtractOutcome outcome);

struct Extraction {
  ExtractOutcome outcome = ExtractOutcome::kNoCode;
  std::string source;     // lines end in \n; what is there of it if truncated or without entry point
  std::string extension;  // of a candidate file: ".py", ".cpp", ".cu"
  std::string how;        // "fence", "json", "unfenced"; empty if nothing was taken
  std::string reason;     // one sentence for people and for the next turn; empty if found

  bool ok() const { return outcome == ExtractOutcome::kFound; }
};

// `cut_off`: the provider said that the answer reached its limit of tokens, so code that goes on to the very end of an
// answer without fences is not whole. Takes any bytes; never fails otherwise than by its outcome.
Extraction ExtractCode(std::string_view answer, const Target& target, bool cut_off = false);

// The code in a text that was to be a source and is an answer with fences; nothing if it reads as source as it stands,
// or no block in it is a candidate. `extension`: ".py", ".cpp" or ".cu".
std::optional<std::string> CodeOfAnswer(const std::string& text, std::string_view extension);

}  // namespace kb

#endif  // PROMPT_EXTRACT_H_
