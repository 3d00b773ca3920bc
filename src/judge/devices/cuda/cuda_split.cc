#include "judge/devices/cuda/cuda_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "judge/devices/cuda/cuda_items.h"
#include "judge/devices/cuda/cuda_tables.h"
#include "judge/devices/cuda/cuda_words.h"

namespace kb {
namespace {

constexpr int kMostRounds = 16;  // of leaving out what nothing mentions; what then is left stays

void Blank(std::string* text, TextRange range) {
  for (size_t i = range.begin; i < range.end; ++i) (*text)[i] = (*text)[i] == '\n' ? '\n' : ' ';
}

bool InNames(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A line that ends inside a name, or brackets under other spellings: rare, and read differently by word and grammar.
bool SpelledOddly(const std::string& source) {
  for (size_t at = source.find("\\\n"); at != std::string::npos; at = source.find("\\\n", at + 1)) {
    if (at > 0 && at + 2 < source.size() && InNames(source[at - 1]) && InNames(source[at + 2])) return true;
  }
  return source.find("<%") != std::string::npos || source.find("%>") != std::string::npos ||
         source.find("%:") != std::string::npos || source.find("\?\?") != std::string::npos ||
         source.find("\\\r") != std::string::npos || source.find('\0') != std::string::npos;
}

// One half in the making: of the source's length, so that bytes keep their places.
class Half {
 public:
  Half(const std::string& source, CudaPart own) : text_(source), own_(own) {}

  void Remove(TextRange range) {
    removed_.push_back(range);
    Blank(&text_, range);
  }
  void Edit(const TextEdit& edit) {
    Blank(&text_, edit.range);
    if (!edit.text.empty()) insertions_.emplace(edit.range.begin, edit.text);
  }
  void RemoveOther(const CudaItems& found) {
    for (const CudaItem& item : found.items) {
      if (item.part != CudaPart::kBoth && item.part != own_) Remove(item.range);
    }
  }
  // What nothing else mentions, and what only that mentioned, and so on.
  void RemoveUnused(const CudaItems& found) {
    std::set<size_t> gone;
    for (int round = 0; round < kMostRounds; ++round) {
      const size_t before = gone.size();
      std::map<std::string_view, std::vector<size_t>> mentions;
      for (const CudaWord& word : CudaWords(text_)) {
        if (word.IsName()) mentions[word.text].push_back(word.begin);
      }
      for (size_t i = 0; i < found.items.size(); ++i) {
        const CudaItem& item = found.items[i];
        const bool optional = own_ == CudaPart::kHost ? item.optional_in_host : item.optional_in_device;
        if (item.part != CudaPart::kBoth || !optional || gone.contains(i)) continue;
        const auto& places = mentions[item.name];
        if (std::all_of(places.begin(), places.end(), [&](size_t at) { return item.range.Holds(at); })) gone.insert(i);
      }
      if (gone.size() == before) return;
      for (const size_t i : gone) Remove(found.items[i].range);
    }
  }

  const std::string& text() const { return text_; }
  std::string WithInsertions() const {
    std::string whole;
    size_t at = 0;
    for (const auto& [place, text] : insertions_) {
      const auto holds = [p = place](const TextRange& range) { return range.Holds(p); };
      if (std::any_of(removed_.begin(), removed_.end(), holds)) continue;
      whole += text_.substr(at, place - at) + text;
      at = place;
    }
    return whole + text_.substr(at);
  }

 private:
  std::string text_;
  CudaPart own_;
  std::vector<TextRange> removed_;
  std::multimap<size_t, std::string> insertions_;
};

class Splitter {
 public:
  Splitter(const std::string& source, const std::string& name)
      : name_(name), found_(FindCudaItems(source)), host_(source, CudaPart::kHost), device_(source, CudaPart::kDevice) {
    split_.refusal = SpelledOddly(source) ? "it is spelled oddly" : found_.refusal;
    if (split_.refusal.empty() && found_.kernels.empty()) split_.refusal = "it has no kernel";
  }

  CudaSplit Run() {
    if (!refused()) Divide();
    if (!refused()) CheckNames();
    if (!refused()) CheckHost();
    if (!refused()) CheckDevice();
    if (!refused()) FindInstances();
    if (!refused()) Assemble();
    return std::move(split_);
  }

 private:
  bool refused() const { return !split_.refusal.empty(); }
  void Refuse(const std::string& text, size_t byte, const std::string& reason) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(byte), '\n');
    if (!refused()) split_.refusal = fmt::format("line {}: {}", line, reason);
  }

  void Divide() {
    host_.RemoveOther(found_);
    device_.RemoveOther(found_);
    for (const TextEdit& edit : found_.host_edits) host_.Edit(edit);
    for (const TextRange& range : found_.device_edits) device_.Remove(range);
    for (const CudaInclude& include : found_.includes) {
      const IncludeKind kind = *IncludeUse(include.header);
      if (kind == IncludeKind::kDevice) host_.Remove(include.range);
      if (kind == IncludeKind::kBasic || kind == IncludeKind::kStandard || kind == IncludeKind::kMath) {
        device_.Remove(include.range);
      }
    }
    host_.RemoveUnused(found_);
    device_.RemoveUnused(found_);
    RemoveUnusedIncludes();
  }

  // They are most of what g++ would spend its time with.
  void RemoveUnusedIncludes() {
    bool math = false, half = false;
    std::string text = host_.text();
    for (const CudaInclude& include : found_.includes) Blank(&text, include.range);
    for (const CudaWord& word : CudaWords(text)) {
      math |= word.IsName() && IsMath(word.text);
      half |= word.IsName() && (IsHalfType(word.text) || word.text.find("half") != std::string_view::npos ||
                                word.text.find("bfloat16") != std::string_view::npos);
    }
    for (const CudaInclude& include : found_.includes) {
      const IncludeKind kind = *IncludeUse(include.header);
      if ((kind == IncludeKind::kMath && !math) || (kind == IncludeKind::kHalf && !half)) {
        host_.Remove(include.range);
      } else if (kind == IncludeKind::kMath || kind == IncludeKind::kStandard) {
        standard_headers_ = true;
      }
    }
  }

  void CheckNames() {
    std::map<std::string_view, CudaPart> owner;
    for (const CudaItem& item : found_.items) {
      if (item.part != CudaPart::kBoth && !item.name.empty()) owner.emplace(item.name, item.part);
    }
    for (const CudaItem& item : found_.items) {
      const auto known = owner.find(item.name);
      if (known != owner.end() && known->second != item.part) {
        return Refuse(host_.text(), item.range.begin,
                      "host and device have something of their own under one name, " + item.name);
      }
    }
    const auto check = [&](const std::string& text, CudaPart other, const char* reason) {
      for (const CudaWord& word : CudaWords(text)) {
        const auto known = word.IsName() ? owner.find(word.text) : owner.end();
        if (known != owner.end() && known->second == other) {
          Refuse(text, word.begin, fmt::format(fmt::runtime(reason), word.text));
        }
      }
    };
    check(host_.text(), CudaPart::kDevice, "the host's part mentions {}, which is the device's");
    check(device_.text(), CudaPart::kHost, "the device's part mentions {}, which is the host's");
  }

  void CheckHost() {
    const std::string& text = host_.text();
    const auto words = CudaWords(text);
    for (size_t i = 0; i < words.size() && !refused(); ++i) {
      if (!words[i].IsName()) continue;
      const std::string_view word = words[i].text;
      const std::string_view last = i > 0 ? words[i - 1].text : "",
                             next = i + 1 < words.size() ? words[i + 1].text : "";
      const bool reserved = word.starts_with("__") && !word.starts_with("__builtin_") && !IsKnownReserved(word);
      if (IsForeignToSplit(word) || reserved)
        Refuse(text, words[i].begin, fmt::format("the host's part uses {}", word));
      // nvcc has functions of its own for the host, which treat NaN in another way than std's do.
      if ((word == "min" || word == "max") && last != ":" && last != "." && last != ">") {
        Refuse(text, words[i].begin, fmt::format("the host's part uses CUDA's {}()", word));
      }
      // Their operators need nvcc on the host.
      const bool pointed = next == "*" || (next == "const" && i + 2 < words.size() && words[i + 2].Is("*"));
      const bool measured = last == "(" && i > 1 && words[i - 2].Is("sizeof");
      if (IsHalfType(word) && !pointed && !measured && !InKernelArguments(words[i].begin)) {
        Refuse(text, words[i].begin, fmt::format("the host's part computes with {}", word));
      }
    }
  }

  // In the angle brackets of a kernel's name.
  bool InKernelArguments(size_t byte) const {
    return std::any_of(found_.uses.begin(), found_.uses.end(), [&](const TemplateUse& use) {
      const bool kernel = std::any_of(found_.kernels.begin(), found_.kernels.end(), [&](const CudaKernel& one) {
        return host_.text().compare(use.name_at, one.name.size() + 1, one.name + "<") == 0;
      });
      return kernel && use.name_at < byte && byte < use.name_at + use.arguments.size();
    });
  }

  void CheckDevice() {
    std::string_view last;
    for (const CudaWord& word : CudaWords(device_.text())) {
      const bool size_differs = last == "long" && word.Is("double");
      if (word.IsName() && (IsForeignToSplit(word.text) || size_differs)) {
        Refuse(device_.text(), word.begin,
               fmt::format("the device's part uses {}{}", size_differs ? "long " : "", word.text));
      }
      last = word.text;
    }
  }

  // The kernels that the host half needs: templates with the arguments that it names.
  void FindInstances() {
    std::map<std::string_view, const CudaKernel*> templates;
    for (const CudaKernel& kernel : found_.kernels) {
      if (kernel.is_template) {
        templates[kernel.name] = &kernel;
      } else {
        split_.kernels.push_back(fmt::format("&::{}{}", kernel.scope, kernel.name));
      }
    }
    for (const CudaWord& word : CudaWords(host_.text())) {
      const auto known = templates.find(word.text);
      if (known == templates.end() || word.begin == known->second->name_at) continue;
      const auto use = std::find_if(found_.uses.begin(), found_.uses.end(),
                                    [&](const TemplateUse& one) { return one.name_at == word.begin; });
      if (use == found_.uses.end() || use->arguments.find_first_of("\n/\"'\\") != std::string::npos) {
        return Refuse(host_.text(), word.begin, fmt::format("{} without its template arguments", word.text));
      }
      const std::string instance = fmt::format("&::{}{}{}", known->second->scope, word.text, use->arguments);
      if (std::find(split_.kernels.begin(), split_.kernels.end(), instance) != split_.kernels.end()) continue;
      split_.kernels.push_back(instance);
      instances_.push_back(instance);
    }
    if (split_.kernels.empty()) split_.refusal = "it uses no kernel";
  }

  void Assemble() {
    for (const TextEdit& edit : found_.launches) host_.Edit(edit);
    const std::string line = fmt::format("#line 1 \"{}\"\n", name_);
    split_.device = kDevicePreamble + line + device_.WithInsertions() + "\n";
    std::string& host = split_.host;
    if (standard_headers_) host += kStandardPreamble;
    host += kHostPreamble + line + host_.WithInsertions() + "\n#line 1 \"kb_nvrtc\"\n";
    std::string names, registrations;
    for (size_t i = 0; i < split_.kernels.size(); ++i) {
      names += fmt::format("extern const char kb_nvrtc_name_{}[] __attribute__((visibility(\"hidden\")));\n", i);
      registrations += fmt::format(
          "  __cudaRegisterFunction(binary, reinterpret_cast<const char*>({0}), const_cast<char*>(kb_nvrtc_name_{1}), "
          "kb_nvrtc_name_{1}, -1, 0, 0, 0, 0, 0);\n",
          split_.kernels[i], i);
    }
    host += "extern \"C\" {\n" + names + "}\nnamespace kb_nvrtc {\n";
    for (const std::string& instance : instances_)
      host += fmt::format("template <> struct Registered<{}> {{}};\n", instance);
    host +=
        "static struct { int magic, version; const void* image; void* unused; } wrapper\n"
        "    __attribute__((section(\".nvFatBinSegment\"), aligned(8))) = {0x466243b1, 1, kb_nvrtc_image, 0};\n"
        "static void** binary;\n"
        "static void Unregister() { __cudaUnregisterFatBinary(binary); }\n"
        "static __attribute__((constructor)) void Register() {\n"
        "  binary = __cudaRegisterFatBinary(&wrapper);\n" +
        registrations + "  __cudaRegisterFatBinaryEnd(binary);\n  atexit(Unregister);\n}\n}\n";
  }

  const std::string& name_;
  const CudaItems found_;
  Half host_, device_;
  bool standard_headers_ = false;
  std::vector<std::string> instances_;  // of templates
  CudaSplit split_;
};

}  // namespace

CudaSplit SplitCuda(const std::string& source, const std::string& name) { return Splitter(source, name).Run(); }

}  // namespace kb
