#include "judge/candidate/packages.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "judge/static/syntax.h"

namespace kb {
namespace {

constexpr Package kPackages[] = {
    {"triton", "triton", "triton"}, {"tilelang", "tilelang", "tilelang"}, {"cute", "cutlass", "nvidia-cutlass-dsl"}};

std::string Root(const std::string& module) { return module.substr(0, module.find('.')); }

// Modules that the text imports at its top level, with those that may be modules of what they are imported from.
// Relative ones begin with their dots.
std::vector<std::string> TopLevelImports(const std::string& text) {
  ParseBudget budget(text.size());
  const SyntaxTree tree(text, Grammar::kPython, &budget);
  std::vector<std::string> modules;
  if (!tree.complete()) return modules;
  const auto name_of = [&](int node) {
    return std::string(tree.Text(tree.Is(node, "aliased_import") ? tree.Child(node, "name") : node));
  };
  for (const int statement : tree.NamedChildren(0)) {
    if (tree.Is(statement, "import_statement")) {
      for (const int child : tree.NamedChildren(statement)) modules.push_back(name_of(child));
    } else if (tree.Is(statement, "import_from_statement")) {
      const std::string from(tree.Text(tree.Child(statement, "module_name")));
      modules.push_back(from);
      for (int child = tree[statement].first_child; child >= 0; child = tree[child].next) {
        if (tree[child].field != "name") continue;
        modules.push_back(from + (from.ends_with('.') ? "" : ".") + name_of(child));
      }
    }
  }
  return modules;
}

// The same without dots at its beginning, as seen from the candidate's folder.
std::string Absolute(const std::string& module, const std::filesystem::path& importer) {
  const size_t dots = std::min(module.find_first_not_of('.'), module.size());
  std::filesystem::path folder = importer.parent_path();
  for (size_t i = 1; i < dots; ++i) folder = folder.parent_path();
  std::string package = folder.string();
  std::replace(package.begin(), package.end(), '/', '.');
  return package + (package.empty() || dots == module.size() ? "" : ".") + module.substr(dots);
}

// The files of the folder that make up a module, its packages' too.
std::vector<std::string> FilesOf(std::string module, const FolderFiles& files) {
  std::vector<std::string> found;
  std::replace(module.begin(), module.end(), '.', '/');
  const auto add = [&](const std::string& path) {
    if (files.contains(path)) found.push_back(path);
  };
  for (size_t end = module.find('/'); end != std::string::npos; end = module.find('/', end + 1)) {
    add(module.substr(0, end) + "/__init__.py");
  }
  add(module + ".py");
  add(module + "/__init__.py");
  return found;
}

// Of the file and of what it imports from beside it.
std::set<std::string> ImportedRoots(const FolderFiles& files) {
  std::set<std::string> roots, seen = {kFolderEntry};
  std::vector<std::string> ahead = {kFolderEntry};
  const int64_t start = ProcessorTimeNs();
  while (!ahead.empty() && ProcessorTimeNs() - start < kMostAnalysisNs) {
    const std::string path = std::move(ahead.back());
    ahead.pop_back();
    for (const std::string& module : TopLevelImports(files.at(path))) {
      const bool relative = module.starts_with('.');
      std::vector<std::string> own = FilesOf(relative ? Absolute(module, path) : module, files);
      if (own.empty() && !relative) roots.insert(Root(module));
      for (std::string& file : own) {
        if (seen.insert(file).second) ahead.push_back(std::move(file));
      }
    }
  }
  return roots;
}

}  // namespace

std::span<const Package> Packages() { return kPackages; }

std::vector<Package> PackagesNeededBy(const Candidate& candidate) {
  std::vector<Package> needed;
  const auto mentions = [&](const Package& each) { return candidate.source.find(each.module) != std::string::npos; };
  if (candidate.kind != CandidateKind::kModule || std::none_of(std::begin(kPackages), std::end(kPackages), mentions)) {
    return needed;
  }
  const FolderFiles files =
      IsPacked(candidate.source) ? Unpack(candidate.source).value_or(FolderFiles()) : FolderFiles();
  const std::set<std::string> roots =
      ImportedRoots(files.contains(kFolderEntry) ? files : FolderFiles{{kFolderEntry, candidate.source}});
  for (const Package& each : kPackages) {
    if (roots.contains(each.module)) needed.push_back(each);
  }
  return needed;
}

}  // namespace kb
