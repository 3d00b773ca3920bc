// The prompt of one proposal: the problem's own, and for later turns what became of earlier candidates.
#ifndef GENERATE_TURN_PROMPT_H_
#define GENERATE_TURN_PROMPT_H_

#include <filesystem>
#include <string>
#include <vector>

#include "generate/generator.h"
#include "prompt/prompt.h"

namespace kb {

// prompts/turns.toml.
struct TurnTexts {
  std::string refine, mutate, combine;
  // Errors (usage): the file cannot be read, or lacks a text.
  static Result<TurnTexts> Load(const std::filesystem::path& path);
};

// `parents`: those of the proposal, then its earlier ones. `feedback`: whether the model is told how they were judged.
Result<GeneratorPrompt> MakeTurnPrompt(const TurnTexts& texts, const Prompt& base, const Target& target,
                                       const Proposal& proposal, const std::vector<GeneratorParent>& parents,
                                       bool feedback);

}  // namespace kb

#endif  // GENERATE_TURN_PROMPT_H_
