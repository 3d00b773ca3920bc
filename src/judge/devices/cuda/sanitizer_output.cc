#include "judge/devices/cuda/sanitizer_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace kb {
namespace {

using nlohmann::json;

constexpr std::string_view kMark = "=========";
constexpr size_t kLongestLine = 1000;
constexpr size_t kMostFindings = 100;
constexpr size_t kMostDetails = 8;

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

bool Has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// The first number in a text; -1 if there is none.
int64_t FirstNumber(std::string_view text) {
  const size_t begin = text.find_first_of("0123456789");
  int64_t number = -1;
  if (begin != std::string_view::npos) std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return number;
}

// "FILE:12" or "FILE:12:NAME" (older versions name the function there).
void ReadFileAndLine(std::string_view text, DevicePlace* place) {
  for (size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    const std::string_view rest = text.substr(colon + 1);
    int line = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), line);
    if (error != std::errc() || line <= 0) continue;
    place->file = text.substr(0, colon);
    place->line = line;
    const std::string_view after(end, static_cast<size_t>(rest.data() + rest.size() - end));
    if (place->kernel.empty() && after.starts_with(':')) place->kernel = Trim(after.substr(1));
    return;
  }
}

// "KERNEL+0x1b0 in FILE:12", "KERNEL+0x1b0", "0x1b0 in FILE:12:KERNEL", "0x1b0 in KERNEL"; the number of hazards
// behind.
DevicePlace ReadPlace(std::string_view text) {
  DevicePlace place;
  if (const size_t hazards = text.rfind(" ["); hazards != std::string_view::npos && text.ends_with("]")) {
    text = text.substr(0, hazards);
  }
  const size_t in = text.rfind(" in ");
  std::string_view at = Trim(text.substr(0, in));
  if (!at.starts_with("0x")) {
    const size_t offset = at.rfind("+0x");
    place.kernel = at.substr(0, offset);
  }
  if (in == std::string_view::npos) return place;
  const std::string_view where = Trim(text.substr(in + 4));
  ReadFileAndLine(where, &place);
  if (place.file.empty() && place.kernel.empty()) place.kernel = where;
  return place;
}

// "by thread (5,0,0) in block (0,0,0)"
std::string Coordinates(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return "";
  const size_t open = text.find('(', at), close = text.find(')', at);
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return std::string(text.substr(open + 1, close - open - 1));
}

void AddDetail(std::string_view text, SanitizerFinding* finding) {
  if (!text.empty() && finding->details.size() < kMostDetails) finding->details.emplace_back(text);
}

void ReadDetail(std::string_view line, SanitizerFinding* finding) {
  constexpr std::string_view kAt = "at ", kBy = "by thread ", kAddress = "Address ", kAnd = "and ",
                             kAccess = " access at ";
  if (Has(line, "Host Frame") || Has(line, "Device Frame") || Has(line, "backtrace")) return;
  if (line.starts_with(kAnd) && Has(line, kAccess)) {
    finding->other = ReadPlace(line.substr(line.find(kAccess) + kAccess.size()));
  } else if (line.starts_with(kAt)) {
    if (finding->place.kernel.empty()) finding->place = ReadPlace(line.substr(kAt.size()));
  } else if (line.starts_with(kBy)) {
    finding->thread = Coordinates(line, "thread");
    finding->block = Coordinates(line, "block");
  } else if (line.starts_with(kAddress)) {
    line.remove_prefix(kAddress.size());
    finding->address = line.substr(0, line.find(' '));
    AddDetail(Trim(line.substr(finding->address.size())), finding);
  } else if (line.starts_with(kAnd)) {
    std::string_view rest = line.substr(kAnd.size());
    AddDetail(rest.starts_with("is ") ? rest.substr(3) : rest, finding);
  }
}

// "Error: Race reported between Write access at sum(int *)+0x260 in a.cu:17"
void ReadRace(SanitizerFinding* finding) {
  constexpr std::string_view kAccess = " access at ";
  const size_t at = finding->what.find(kAccess);
  if (!Has(finding->what, "Race") || at == std::string::npos) return;
  finding->place = ReadPlace(std::string_view(finding->what).substr(at + kAccess.size()));
  finding->what.resize(at + kAccess.size() - 4);
}

bool SaysTheSame(const SanitizerFinding& a, const SanitizerFinding& b) {
  return a.what == b.what && a.place.kernel == b.place.kernel && a.place.file == b.place.file &&
         a.place.line == b.place.line;
}

// The tool about itself, or about a process that it could not watch.
bool IsComplaint(std::string_view head) {
  return head.starts_with("Error: ") && !Has(head, "Race") && !Has(head, "azard");
}

bool IsOfNoInterest(std::string_view head) {
  return head.starts_with("COMPUTE-SANITIZER") || head.starts_with("LEAK SUMMARY") || Has(head, "errors not printed") ||
         Has(head, "were not printed") || head.starts_with("Host Frame");
}

void Finish(std::optional<SanitizerFinding>* open, SanitizerOutput* output) {
  if (!*open) return;
  for (SanitizerFinding& known : output->findings) {
    if (!SaysTheSame(known, **open)) continue;
    ++known.count;
    return open->reset();
  }
  if (output->findings.size() < kMostFindings) output->findings.push_back(std::move(**open));
  open->reset();
}

void ReadHead(std::string_view head, std::optional<SanitizerFinding>* open, SanitizerOutput* output) {
  Finish(open, output);
  if (head.starts_with("ERROR SUMMARY:")) {
    output->errors = FirstNumber(head);
  } else if (head.starts_with("RACECHECK SUMMARY:")) {
    output->errors = FirstNumber(head);  // hazards, of which warnings are some
  } else if (IsComplaint(head) || head.starts_with("Internal Sanitizer Error")) {
    if (output->complaint.empty()) output->complaint = head;
  } else if (!IsOfNoInterest(head)) {
    open->emplace();
    (*open)->what = head;
    ReadRace(&**open);
  }
}

std::string PlaceText(const DevicePlace& place) {
  std::string text = place.kernel.empty() ? "" : " in " + place.kernel;
  if (place.line > 0) text += fmt::format(" at {}:{}", place.file.substr(place.file.rfind('/') + 1), place.line);
  return text;
}

json PlaceJson(const DevicePlace& place) {
  return {{"kernel", place.kernel}, {"file", place.file}, {"line", place.line > 0 ? json(place.line) : json(nullptr)}};
}

template <typename Visit>
void ForEachLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

const std::vector<std::string>& SanitizerTools() {
  static const std::vector<std::string> kTools = {"memcheck", "racecheck", "initcheck", "synccheck"};
  return kTools;
}

std::vector<std::string> SanitizerOptions(const std::string& tool) {
  std::vector<std::string> options = {"--tool", tool, "--target-processes", "all", "--print-limit", "100"};
  if (tool == "memcheck") {
    // What lies behind a tensor is nobody's; what libraries try and handle themselves is no error of the candidate.
    options.insert(options.end(), {"--padding", "512", "--report-api-errors", "no"});
  }
  return options;
}

std::string SanitizerFinding::ToText() const {
  std::string text = what + PlaceText(place);
  if (other) text += " and" + PlaceText(*other);
  if (!thread.empty()) text += fmt::format(", thread ({}) of block ({})", thread, block);
  if (!address.empty()) text += fmt::format(": address {}", address);
  if (!details.empty()) text += fmt::format("{}{}", address.empty() ? ": " : " ", fmt::join(details, ", "));
  if (count > 1) text += fmt::format("; {} times", count);
  return text;
}

json SanitizerFinding::ToJson() const {
  return {{"what", what},
          {"place", PlaceJson(place)},
          {"other", other ? PlaceJson(*other) : json(nullptr)},
          {"thread", thread},
          {"block", block},
          {"address", address},
          {"details", details},
          {"count", count},
          {"text", ToText()}};
}

SanitizerOutput ReadSanitizerOutput(std::string_view text) {
  SanitizerOutput output;
  std::optional<SanitizerFinding> open;
  ForEachLine(text, [&](std::string_view line) {
    if (!line.starts_with(kMark)) return;
    line = line.substr(kMark.size(), kLongestLine);
    const std::string_view said = Trim(line);
    const size_t indent = line.find_first_not_of(' ');
    if (said.empty()) {
      Finish(&open, &output);
    } else if (indent <= 2) {
      ReadHead(said, &open, &output);
    } else if (open) {
      ReadDetail(said, &*open);
    }
  });
  Finish(&open, &output);
  return output;
}

std::string WithoutSanitizerLines(std::string_view text) {
  std::string rest;
  ForEachLine(text, [&](std::string_view line) {
    if (!line.starts_with(kMark)) rest.append(line).append("\n");
  });
  return rest;
}

}  // namespace kb
