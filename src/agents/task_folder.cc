#include "agents/task_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "judge/problem/problem_catalog.h"
#include "prompt/problem_text.h"

namespace kb {
namespace {

constexpr unsigned kMode = 0644;

void Put(const std::string& path, std::string contents, Snapshot* snapshot) {
  std::string hash = Sha256(contents);
  snapshot->files.push_back({path, kMode, contents.size(), hash});
  snapshot->contents.emplace(std::move(hash), std::move(contents));
}

// A size may have constants that only a sentence can tell.
std::string ReferenceText(ProblemText problem) {
  return problem.sizes.empty() ? std::move(problem.source) : "# " + problem.sizes + "\n" + problem.source;
}

Status PutExample(const PromptExample& example, const Installation& installation, Snapshot* snapshot) {
  KB_ASSIGN_OR_RETURN(const ProblemFile problem, FindProblem(installation.problems, example.problem));
  KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.path));
  KB_ASSIGN_OR_RETURN(ProblemText shown, ShowProblem(source, example.problem, example.size));
  KB_ASSIGN_OR_RETURN(std::string candidate, ReadFile(installation.examples / example.candidate));
  const std::filesystem::path path = std::filesystem::path("examples") / example.candidate;
  Put(path.string(), std::move(candidate), snapshot);
  Put((path.parent_path() / "reference.py").string(), ReferenceText(std::move(shown)), snapshot);
  return {};
}

// A reference may build a model of a package, which does not come as text.
constexpr const char* kTransformers =
    "\n# The package transformers\n\n`reference.py` builds its model with `transformers`, from a configuration that it "
    "holds. The package is here and where\ncandidates are judged, and nothing else of it is: there is no network, and "
    "`from_pretrained(\"NAME\")` finds nothing. Weights are\nrandom, unless the environment variable "
    "`KERNELBENCH_WEIGHTS` names a folder that has them. The operators of a model are in its\nsource: "
    "`python3 -c 'import transformers; print(transformers.__path__[0])'`, below `models`.\n";

bool UsesTransformers(const std::string& source) {
  return source.find("\nfrom transformers import ") != source.npos ||
         source.find("\nimport transformers") != source.npos;
}

// What is there beside TASK.md.
std::string FilesText(const Prompt& prompt, bool native) {
  std::string text = "# What lies here\n\n- `reference.py`: the reference\n";
  if (native) {
    text += "- `kernelbench/kernel.h`: the header that a candidate includes; `-I .` finds it in builds of your own\n";
  }
  if (!prompt.examples.empty()) {
    text +=
        "- `examples/`: candidates for other problems that are judged correct, each with its reference; they show the "
        "form, not the answer\n";
  }
  return text;
}

}  // namespace

Result<TaskFolderContents> TaskFolder(const TaskFolderRequest& request, const Installation& installation) {
  PromptTemplate parts = request.parts;
  KB_RETURN_IF_ERROR(parts.LayOver(installation.prompts / "task.toml"));
  TaskFolderContents contents;
  KB_ASSIGN_OR_RETURN(contents.prompt, BuildPrompt(parts, request.prompt, installation));
  Snapshot& files = contents.files;
  const bool native = request.prompt.target.backend == Backend::kNative;
  const ProblemFile& problem = request.prompt.problem;
  KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.path));
  Put("TASK.md",
      fmt::format("{}\n{}{}\n# How to check it and hand it in\n\n{}", contents.prompt.user,
                  FilesText(contents.prompt, native), UsesTransformers(source) ? kTransformers : "", request.how),
      &files);
  KB_ASSIGN_OR_RETURN(ProblemText shown, ShowProblem(source, problem.name, request.prompt.size));
  Put("reference.py", ReferenceText(std::move(shown)), &files);
  if (native) {
    KB_ASSIGN_OR_RETURN(std::string header, ReadFile(installation.include / "kernelbench" / "kernel.h"));
    Put("kernelbench/kernel.h", std::move(header), &files);
  }
  for (const PromptExample& example : parts.examples) {
    const auto& shown_too = contents.prompt.examples;
    const bool chosen = example.target == TargetName(request.prompt.target) &&
                        std::find(shown_too.begin(), shown_too.end(), example.candidate) != shown_too.end();
    if (chosen) KB_RETURN_IF_ERROR(PutExample(example, installation, &files));
  }
  std::sort(files.files.begin(), files.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return contents;
}

}  // namespace kb
