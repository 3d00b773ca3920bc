#include "pages/site.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/temp_dir.h"
#include "pages/names.h"
#include "pages/site_folder.h"

namespace kb {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostAsset = size_t{8} << 20;

struct Assets {
  std::string index, script, style;
};

Result<Assets> ReadAssets(const fs::path& web) {
  Assets assets;
  KB_ASSIGN_OR_RETURN(assets.index, ReadFile(web / "index.html", kMostAsset));
  KB_ASSIGN_OR_RETURN(assets.script, ReadFile(web / "app.js", kMostAsset));
  KB_ASSIGN_OR_RETURN(assets.style, ReadFile(web / "style.css", kMostAsset));
  return assets;
}

bool Contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// Documents of one kind, which are left out together.
struct Kind {
  const char* name;
  std::vector<std::string> names;
};

struct Plan {
  std::vector<std::string> always;  // without catalog.json, which tells what is left out
  std::vector<Kind> kinds;          // the last one is left out first
  std::vector<std::string> compare;
  size_t entries = 0, not_compared = 0;

  size_t size() const {
    size_t all = always.size() + compare.size() + 1;
    for (const Kind& kind : kinds) all += kind.names.size();
    return all;
  }
};

Result<Plan> PlanOf(Pages* pages, const PagesView& view) {
  Plan plan;
  KB_ASSIGN_OR_RETURN(Pages::Names names, pages->AllNames(view));
  plan.entries = names.entries.size();
  plan.always = std::move(names.always);
  std::erase(plan.always, "catalog.json");
  plan.always.insert(plan.always.end(), names.entries.begin(), names.entries.end());
  plan.kinds = {{"sources", std::move(names.sources)},
                {"conversations", std::move(names.conversations)},
                {"rounds", std::move(names.rounds)}};
  std::erase_if(plan.kinds, [&](const Kind& kind) { return Contains(view.left_out, kind.name); });
  KB_ASSIGN_OR_RETURN(std::vector<std::string> models, pages->Models(view));
  if (models.size() > kMostCompared) {
    plan.not_compared = models.size() - kMostCompared;
    models.resize(kMostCompared);
  }
  for (const std::string& a : models) {
    for (const std::string& b : models) {
      if (a != b) plan.compare.push_back(fmt::format("compare/{}/{}.json", NamePart(a), NamePart(b)));
    }
  }
  return plan;
}

// Counts documents, and ends at an interruption.
class Steps {
 public:
  Steps(const SiteOptions& options, size_t all) : options_(options), all_(all) {}
  Status Next() {
    if (Interrupted()) return Fail(ErrorCode::kInterrupted, "");
    return options_.progress ? options_.progress(done_++, all_) : Status();
  }

 private:
  const SiteOptions& options_;
  size_t done_ = 0, all_;
};

// Documents that are left out one by one.
struct Missed {
  size_t damaged = 0, long_names = 0;

  void AddTo(std::vector<std::string>* left_out) const {
    if (damaged > 0) left_out->push_back(fmt::format("damaged documents ({})", damaged));
    if (long_names > 0)
      left_out->push_back(fmt::format("documents with names over {} bytes ({})", NAME_MAX, long_names));
  }
};

// Absent: there is none, such as a comparison of models without a problem in common, or a source that is not kept; or
// it is of one evaluation, which the store cannot read.
Result<std::optional<std::string>> Ask(Pages* pages, const std::string& name, const PagesView& view, Missed* missed) {
  auto document = pages->Document(name, view);
  if (document) return std::optional(std::move(*document));
  if (document.error().code == ErrorCode::kUsage) return std::optional<std::string>();
  constexpr std::string_view kOfOne[] = {"entries/", "rounds/", "sources/", "conversations/"};
  const bool of_one =
      std::any_of(std::begin(kOfOne), std::end(kOfOne), [&](std::string_view kind) { return name.starts_with(kind); });
  if (!of_one || document.error().code != ErrorCode::kStore) return tl::make_unexpected(document.error());
  ++missed->damaged;
  return std::optional<std::string>();
}

bool FitsFileSystem(const fs::path& name) {
  return std::all_of(name.begin(), name.end(), [](const fs::path& part) { return part.native().size() <= NAME_MAX; });
}

// A part of a folder that nobody sees yet.
Status WriteFile(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return {};
  return Fail(ErrorCode::kEngine, fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

class FolderWriter {
 public:
  FolderWriter(Pages* pages, fs::path folder, const SiteOptions& options, size_t all)
      : pages_(pages), folder_(std::move(folder)), view_(options.view), steps_(options, all) {}

  Status Add(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      KB_RETURN_IF_ERROR(steps_.Next());
      if (!FitsFileSystem(name)) {
        ++missed_.long_names;
        continue;
      }
      KB_ASSIGN_OR_RETURN(const std::optional<std::string> document, Ask(pages_, name, view_, &missed_));
      if (!document) continue;
      KB_RETURN_IF_ERROR(WriteFile(folder_ / "data" / name, *document));
      ++written_.documents;
      written_.bytes += document->size();
    }
    return {};
  }
  const SiteWritten& written() const { return written_; }
  const Missed& missed() const { return missed_; }

 private:
  Pages* pages_;
  fs::path folder_;
  const PagesView& view_;
  Steps steps_;
  SiteWritten written_;
  Missed missed_;
};

std::string Base64OfHex(const std::string& hex) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  for (size_t at = 0; at < hex.size(); at += 6) {
    const std::string three = hex.substr(at, 6);
    const size_t bits = std::stoul(three + std::string(6 - three.size(), '0'), nullptr, 16);
    for (size_t digit = 0; digit < 4; ++digit)
      base64 += digit * 6 < three.size() * 4 ? kDigits[bits >> (18 - 6 * digit) & 63] : '=';
  }
  return base64;
}

// JSON that may stand in a <script>: markup ends no text in it.
void AppendEscaped(const std::string& document, std::string* to) {
  for (const char c : document) c == '<' ? * to += "\\u003c" : * to += c;
}

Status ReplaceOnce(std::string_view what, const std::string& with, std::string* in) {
  const size_t at = in->find(what);
  if (at == std::string::npos || in->find(what, at + 1) != std::string::npos) {
    return Fail(ErrorCode::kEngine,
                fmt::format("the installed index.html should hold {} once: install kernelbench again", what));
  }
  in->replace(at, what.size(), with);
  return {};
}

Result<std::string> PageOf(const Assets& assets, const std::string& documents) {
  if (assets.script.find("</script") != std::string::npos || assets.script.find("<!--") != std::string::npos ||
      assets.style.find("</style") != std::string::npos) {
    return Fail(ErrorCode::kEngine,
                "the installed app.js or style.css cannot stand in a page: install kernelbench again");
  }
  std::string page = assets.index;
  const std::string policy = fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; "
      "form-action 'none'",
      Base64OfHex(Sha256(assets.script)), Base64OfHex(Sha256(assets.style)));
  constexpr std::string_view kPolicy = "Content-Security-Policy\" content=\"";
  const size_t begin = page.find(kPolicy);
  const size_t end = begin == std::string::npos ? begin : page.find('"', begin + kPolicy.size());
  if (end == std::string::npos)
    return Fail(ErrorCode::kEngine,
                "the installed index.html has no Content-Security-Policy: install kernelbench again");
  page.replace(begin + kPolicy.size(), end - begin - kPolicy.size(), policy);
  KB_RETURN_IF_ERROR(
      ReplaceOnce("<link rel=\"stylesheet\" href=\"style.css\">", "<style>" + assets.style + "</style>", &page));
  KB_RETURN_IF_ERROR(ReplaceOnce("<script src=\"app.js\"></script>",
                                 "<script type=\"application/json\" id=\"documents\">" + documents +
                                     "</script>\n<script>" + assets.script + "</script>",
                                 &page));
  return page;
}

// Documents as members of one JSON object.
class PageWriter {
 public:
  PageWriter(Pages* pages, const SiteOptions& options, size_t all) : pages_(pages), steps_(options, all) {}

  // False, and nothing is added: they would be more than `most` bytes in all.
  Result<bool> Add(const std::vector<std::string>& names, const PagesView& view, size_t most) {
    const size_t before = members_.size(), documents = written_.documents;
    for (const std::string& name : names) {
      KB_RETURN_IF_ERROR(steps_.Next());
      KB_ASSIGN_OR_RETURN(const std::optional<std::string> document, Ask(pages_, name, view, &missed_));
      if (!document) continue;
      members_ += fmt::format("{}\"{}\":", members_.empty() ? "" : ",\n", name);
      AppendEscaped(*document, &members_);
      ++written_.documents;
      if (members_.size() <= most) continue;
      members_.resize(before);
      written_.documents = documents;
      return false;
    }
    return true;
  }
  std::string Object() const { return "{" + members_ + "}"; }
  // What is no document. An empty text adds nothing.
  void AddText(const char* key, const std::string& text) {
    if (text.empty()) return;
    members_ += fmt::format(",\n\"{}\":", key);
    AppendEscaped(Dump(nlohmann::json(text)), &members_);
  }
  SiteWritten written() const { return written_; }
  const Missed& missed() const { return missed_; }

 private:
  Pages* pages_;
  Steps steps_;
  std::string members_;
  SiteWritten written_;
  Missed missed_;
};

}  // namespace

Result<SiteWritten> WriteSite(Pages* pages, const fs::path& web, const fs::path& folder, const SiteOptions& options) {
  std::error_code error;
  fs::path target = fs::absolute(folder, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  KB_RETURN_IF_ERROR(CheckSiteFolder(target));
  KB_ASSIGN_OR_RETURN(const Assets assets, ReadAssets(web));
  KB_ASSIGN_OR_RETURN(const Plan plan, PlanOf(pages, options.view));
  fs::create_directories(target.parent_path(), error);
  KB_ASSIGN_OR_RETURN(TempDir made, TempDir::Create(kSiteMarker, target.parent_path()));
  FolderWriter writer(pages, made.path(), options, plan.size());
  KB_RETURN_IF_ERROR(WriteFile(made.path() / kSiteMarker, "kernelbench site may replace this folder.\n"));
  KB_RETURN_IF_ERROR(WriteFile(made.path() / "index.html", assets.index));
  KB_RETURN_IF_ERROR(WriteFile(made.path() / "app.js", assets.script));
  KB_RETURN_IF_ERROR(WriteFile(made.path() / "style.css", assets.style));
  KB_RETURN_IF_ERROR(writer.Add({"catalog.json"}));
  KB_RETURN_IF_ERROR(writer.Add(plan.always));
  for (const Kind& kind : plan.kinds) KB_RETURN_IF_ERROR(writer.Add(kind.names));
  KB_RETURN_IF_ERROR(writer.Add(plan.compare));
  KB_RETURN_IF_ERROR(PublishFolder(&made, target));
  SiteWritten written = writer.written();
  written.left_out = options.view.left_out;
  writer.missed().AddTo(&written.left_out);
  written.entries = plan.entries;
  written.not_compared = plan.not_compared;
  return written;
}

Result<SiteWritten> WritePage(Pages* pages, const fs::path& web, const fs::path& file, const SiteOptions& options) {
  KB_ASSIGN_OR_RETURN(const Assets assets, ReadAssets(web));
  KB_ASSIGN_OR_RETURN(const Plan plan, PlanOf(pages, options.view));
  PagesView view = options.view;
  PageWriter writer(pages, options, plan.size());
  KB_ASSIGN_OR_RETURN(bool fits, writer.Add(plan.always, view, options.most_bytes));
  if (fits) {
    KB_ASSIGN_OR_RETURN(fits, writer.Add(plan.compare, view, options.most_bytes));
  }
  if (!fits) {
    return Fail(ErrorCode::kUsage,
                fmt::format("these {} entries are more than one page should hold: choose some with --run, --problem or "
                            "--limit, or write a folder with kernelbench site",
                            plan.entries));
  }
  for (const Kind& kind : plan.kinds) {
    if (fits) {
      KB_ASSIGN_OR_RETURN(fits, writer.Add(kind.names, view, options.most_bytes));
    }
    if (!fits) view.left_out.emplace_back(kind.name);
  }
  constexpr size_t kAny = SIZE_MAX;
  KB_ASSIGN_OR_RETURN(fits, writer.Add({"catalog.json"}, view, kAny));
  writer.AddText("start", options.start);
  writer.AddText("left_out", fmt::format("{}", fmt::join(view.left_out, ", ")));
  KB_ASSIGN_OR_RETURN(const std::string page, PageOf(assets, writer.Object()));
  KB_RETURN_IF_ERROR(WriteFileAtomic(file, page));
  SiteWritten written = writer.written();
  written.bytes = page.size();
  written.left_out = view.left_out;
  writer.missed().AddTo(&written.left_out);
  written.entries = plan.entries;
  written.not_compared = plan.not_compared;
  return written;
}

}  // namespace kb
