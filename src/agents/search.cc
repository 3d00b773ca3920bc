#include "agents/search.h"

#include <fmt/format.h>

#include <string_view>

#include "base/utf8.h"

namespace kb {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr int kLines = 200, kLineBytes = 400;

// One word for a shell.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// Ends as grep does: 1 if there was nothing, 2 for a pattern or a path that is none. Its messages follow a line that no
// output of it begins with. Standard programs alone: a folder can hold its own `grep`.
constexpr const char* kScript = R"(
PATH=/usr/bin:/bin
kind={}
if [ $kind = -E ] && printf x | grep -qP x 2>/dev/null; then kind=-P; fi
messages=$(mktemp) && found=$(mktemp) || exit 3
trap 'rm -f "$messages" "$found"' EXIT
grep -rnIH --devices=skip $kind -m {} -e {} -- {} >"$found" 2>"$messages"
ended=$?
sed 's|^\./||' "$found" | LC_ALL=C sort -t: -k1,1 -k2,2n -s | head -n {} | LC_ALL=C cut -b -{}
[ $ended -gt 1 ] && ! [ -s "$found" ] && head -c 1000 "$messages"
exit $ended
)";

}  // namespace

Result<std::string> Search(Box* box, const SearchRequest& request) {
  if (request.pattern.empty() || request.pattern.find('\n') != std::string::npos) {
    return Fail(ErrorCode::kUsage, "the pattern must be one line of text; search for a part of it");
  }
  const std::string path = request.path.empty() ? "." : request.path;
  const std::string script = fmt::format(kScript, request.plain ? "-F" : "-E", kLines, Quoted(request.pattern),
                                         Quoted(path), kLines + 1, kLineBytes);
  KB_ASSIGN_OR_RETURN(const CommandResult found,
                      box->Run(script, {.timeout = kPatience, .output_bytes = size_t{2} * kLines * kLineBytes}));
  if (found.timed_out) {
    return Fail(ErrorCode::kUsage,
                fmt::format("the search took more than {} s and was ended; use a simpler pattern, or "
                            "plain text, or search a folder of it",
                            kPatience.count()));
  }
  if (found.status.signal == 0 && found.status.code == 1) {
    return fmt::format("nothing matches in {}\n", ValidUtf8(path));
  }
  if (found.output.empty() || (!found.status.ok() && found.output.starts_with("grep: "))) {
    return Fail(ErrorCode::kUsage,
                fmt::format("the search failed ({}); correct the pattern or the path, or use plain text",
                            found.output.empty() ? found.Ending() : LastLine(found.output)));
  }
  std::string text = ValidUtf8(found.output);
  size_t lines = 0, end = 0;
  for (size_t at = text.find('\n'); at != text.npos && lines < kLines; at = text.find('\n', at + 1)) {
    ++lines;
    end = at + 1;
  }
  if (lines == kLines && end < text.size()) {
    text.resize(end);
    text += fmt::format("[more than {} lines match; make the pattern or the path narrower]\n", kLines);
  }
  return text;
}

}  // namespace kb
