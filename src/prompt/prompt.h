// What a model is asked: a problem, how candidates are built and judged, the device, worked examples.
#ifndef PROMPT_PROMPT_H_
#define PROMPT_PROMPT_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "judge/problem/problem_catalog.h"
#include "prompt/target.h"
#include "prompt/template.h"

namespace kb {

struct PromptRequest {
  ProblemFile problem;
  std::string size = "standard";
  Target target;
  std::string precision = "fp32";  // fp32, fp16 or bf16
  int shots = 1;                   // worked examples
  std::string hardware;            // finished text (prompt/hardware.h); empty: the device is not described
};

struct Prompt {
  std::string system, user;
  std::vector<std::string> examples;  // candidates shown, below examples/: "1_36_rmsnorm/fused.cpp"
  std::vector<std::string> notes;     // what whoever asked should know: fewer examples than wanted
};

// Reads the problem, kernel.h and the examples from the installation; runs nothing. Equal requests give equal prompts.
// Errors (usage): a problem without this size or precision, one that refuses native candidates, a placeholder of the
// template that does not exist.
Result<Prompt> BuildPrompt(const PromptTemplate& parts, const PromptRequest& request, const Installation& installation);

// "native-cpu", "native-cuda", else the backend's name: the keys of a template's contracts.
std::string TargetName(const Target& target);

}  // namespace kb

#endif  // PROMPT_PROMPT_H_
