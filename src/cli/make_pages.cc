#include "cli/make_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/selection_flags.h"
#include "judge/doctor/doctor.h"
#include "pages/site.h"

namespace kb::cli {

Result<OpenPages> OpenPages::Open(const std::string& path, const std::string& scope) {
  const bool none = path == DefaultStore() && !std::filesystem::exists(path);
  KB_ASSIGN_OR_RETURN(Store store, Store::Open(none ? ":memory:" : path, {.create = none}));
  KB_RETURN_IF_ERROR(store.HoldSnapshot());  // so that each entry that is listed is there, whatever is judged meanwhile
  PagesOptions options{.installation = {}, .problems = {}, .version = KB_VERSION, .scope = scope};
  KB_ASSIGN_OR_RETURN(options.installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(options.problems, ProblemDirectory(""));
  options.doctor = [installation = options.installation]() -> Result<nlohmann::json> {
    const auto state = std::filesystem::path(DefaultStore()).parent_path();
    KB_ASSIGN_OR_RETURN(const Diagnosis diagnosis, Diagnose(installation, Isolation::kNamespaces, {}, state));
    return diagnosis.ToJson();
  };
  OpenPages open;
  open.name = path;
  open.store = std::make_unique<Store>(std::move(store));
  open.pages = std::make_unique<Pages>(open.store.get(), std::move(options));
  return open;
}

Status OpenPages::CheckRuns(const std::vector<std::string>& wanted) const {
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> there, store->Runs());
  return kb::CheckRuns(wanted, there, name);
}

namespace {

// "%2F" of "/", and so on.
std::string QueryPart(const std::string& text) {
  std::string part;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    plain ? part += c : part += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return part;
}

// Where the leaderboard shows what the flags select, as far as its filters go.
std::string LeaderboardOf(const ScoreFlags& flags) {
  std::string address = "#/leaderboard";
  const auto add = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    address += fmt::format("{}{}={}", address.find('?') == std::string::npos ? '?' : '&', key, QueryPart(value));
  };
  for (const std::string& run : flags.runs) add("run", run);
  for (const std::string& model : flags.models) add("model", model);
  add("protocol", flags.protocol);
  add("size", flags.size);
  return address;
}

}  // namespace

Status WriteScorePage(const ScoreFlags& flags) {
  if (flags.output.empty()) return Fail(ErrorCode::kUsage, "a page is a file: name it with -o");
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const OpenPages open, OpenPages::Open(flags.store, "store"));
  const SiteOptions options{.view = {.runs = flags.runs, .used_problems = true}, .start = LeaderboardOf(flags)};
  KB_ASSIGN_OR_RETURN(const SiteWritten written, WritePage(open.pages.get(), installation.web, flags.output, options));
  if (!written.left_out.empty())
    fmt::print(stderr, "{}: left out: {}\n", flags.output, fmt::join(written.left_out, ", "));
  return {};
}

}  // namespace kb::cli
