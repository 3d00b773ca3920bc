// What a prompt is made of, as data: prompts/default.toml, and a user's file laid over it.
#ifndef PROMPT_TEMPLATE_H_
#define PROMPT_TEMPLATE_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kb {

// A worked example: a candidate in examples/ that the project's own tests judge correct.
struct PromptExample {
  std::string candidate;  // below examples/: "1_36_rmsnorm/fused.cpp"
  std::string problem;    // "1/36"
  std::string size;       // at which it is shown
  std::string target;     // which targets it is for: TargetName()
};

struct PromptTemplate {
  std::string system;                             // texts may hold placeholders: {problem_source}
  std::vector<std::string> order;                 // of the user's part
  std::map<std::string, std::string> parts;       // by name
  std::map<std::string, std::string> contracts;   // by TargetName(): {contract}
  std::map<std::string, std::string> answers;     // by extension without its point (py, cpp, cu): {answer_format}
  std::map<std::string, std::string> precisions;  // by name (fp32, fp16, bf16): {precision_note}
  std::vector<PromptExample> examples;            // in the order in which they are taken
  std::string example;                            // the text around one: {example_problem}, {example_candidate}, ...

  // `directory`/default.toml, with `custom` laid over it where that is not empty. In a custom file `system`, `order`
  // and `example` replace what is there, tables replace or add single entries, and [[examples]] replace all. Errors
  // (usage) name the file and the key, part or placeholder, and say what there is.
  static Result<PromptTemplate> Load(const std::filesystem::path& directory, const std::filesystem::path& custom = {});
  // Lays another file over it, as a custom one. Errors: as there.
  Status LayOver(const std::filesystem::path& file);
};

using Placeholders = std::map<std::string, std::string>;

struct FilledText {
  std::string text;
  int placeholders = 0, empty = 0;  // how many there were, and how many of them had an empty value
};

// Every {name} replaced by its value; {{name}} stands for {name} itself, and all other braces for themselves. Values
// are taken as they are. Errors (usage): a name that is none of `values`; `where` says in which text.
Result<FilledText> FillIn(std::string_view text, const Placeholders& values, const std::string& where);

}  // namespace kb

#endif  // PROMPT_TEMPLATE_H_
