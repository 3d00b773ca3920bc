// Pages for people: the files of web/, the documents that they show, and what is new.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <functional>
#include <map>

#include "base/json.h"
#include "base/random.h"
#include "pages/pages.h"
#include "server/api.h"

namespace kb::server {

using nlohmann::json;

namespace {

constexpr double kTickSeconds = 1;
constexpr size_t kMostAsset = size_t{8} << 20;
constexpr std::string_view kFolderSource = "name=\"kernelbench-source\" content=\"folder\"";
constexpr std::string_view kServiceSource = "name=\"kernelbench-source\" content=\"service\"";

struct Asset {
  const char *path, *file, *type;
};
constexpr Asset kAssets[] = {{"/", "index.html", "text/html; charset=utf-8"},
                             {"/app.js", "app.js", "text/javascript; charset=utf-8"},
                             {"/style.css", "style.css", "text/css; charset=utf-8"}};

// What the page says of itself in a <meta>.
std::string PolicyOf(const std::string& index) {
  constexpr std::string_view kPolicy = "Content-Security-Policy\" content=\"";
  const size_t begin = index.find(kPolicy);
  if (begin == std::string::npos) return "default-src 'none'";
  return index.substr(begin + kPolicy.size(), index.find('"', begin + kPolicy.size()) - begin - kPolicy.size());
}

PagesView ViewOf(const Client& client, bool all) {
  if (all || client.rights.contains("admin")) return {};
  return {
      .may_see = [name = client.name](const std::string& run) { return run == name || run.starts_with(name + "/"); },
      .viewer = client.name};
}

// Whom bounds are for: a client, or where there are no tokens an address.
std::string BoundOf(const Call& call, bool no_auth) {
  if (!no_auth || call.head.local) return call.client.name;
  return call.head.peer.substr(0, call.head.peer.rfind(':'));
}

// A document may be another one when the store has changed, and for somebody else or with other rights.
std::string TagOf(const std::string& version, const Client& client) {
  static const std::string start = fmt::format("{:x}", RandomBits());
  return fmt::format("\"{}-{}-{:x}\"", start, version,
                     std::hash<std::string>()(fmt::format("{} {}", client.name, fmt::join(client.rights, " "))));
}

}  // namespace

// What one reader of events has been told.
struct PageStream {
  Call call;
  PagesView view;
  Pages::Place place;
  std::string version;
  std::map<std::string, json> runs;
  std::atomic<bool> gone = false;
};

void Api::GetPageFile(Call call) {
  for (const Asset& asset : kAssets) {
    if (call.head.path != asset.path) continue;
    auto text = ReadFile(options_.installation.web / asset.file, kMostAsset);
    if (!text) return call.responder->Send(AnswerOf(RefusalOf({ErrorCode::kEngine, text.error().message})));
    HttpAnswer answer{200, asset.type, std::move(*text), {}};
    answer.headers = {{"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", "no-cache"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
    if (std::string_view(asset.path) == "/") {
      answer.headers.emplace_back("Content-Security-Policy", PolicyOf(answer.body) + "; frame-ancestors 'none'");
      if (const size_t at = answer.body.find(kFolderSource); at != std::string::npos)
        answer.body.replace(at, kFolderSource.size(), kServiceSource);
    }
    return call.responder->Send(std::move(answer));
  }
}

void Api::GetPageDocument(Call call) {
  if (options_.pages == nullptr)
    return call.responder->Send(AnswerOf(CallersFault(404, "this service shows no pages")));
  const auto responder = call.responder;
  const std::string bound = BoundOf(call, options_.access.no_auth);
  if (!page_turns_.Do(bound, [this, call = std::move(call)] { AnswerPageDocument(call); }))
    responder->Send(AnswerOf({503, "other pages are being read: try again", "engine", true, 1}));
}

void Api::AnswerPageDocument(const Call& call) {
  const std::string name = call.path.at("name");
  Pages* pages = options_.pages.get();
  const auto version = pages->Version();
  if (!version) return call.responder->Send(AnswerOf(RefusalOf(version.error())));
  const std::string tag = name == "machine.json" ? "" : TagOf(*version, call.client);
  HttpHeaders headers = {{"Cache-Control", "private, no-cache"}, {"X-Content-Type-Options", "nosniff"}};
  if (!tag.empty()) headers.emplace_back("ETag", tag);
  const auto known = call.head.headers.find("if-none-match");
  if (!tag.empty() && known != call.head.headers.end() && known->second == tag)
    return call.responder->Send({304, "application/json", "", std::move(headers)});
  auto document = pages->Document(name, ViewOf(call.client, options_.pages_show_all));
  if (!document) return call.responder->Send(AnswerOf(RefusalOf(document.error(), 404)));
  call.responder->Send({200, "application/json", std::move(*document), std::move(headers)});
}

void Api::GetPageEvents(Call call) {
  if (options_.pages == nullptr)
    return call.responder->Send(AnswerOf(CallersFault(404, "this service shows no pages")));
  const std::string bound = BoundOf(call, options_.access.no_auth);
  if (!page_streams_.Take(bound))
    return call.responder->Send(AnswerOf({503, "too many pages are open: close one", "engine", true, 10}));
  const auto stream = std::shared_ptr<PageStream>(new PageStream, [this, bound](PageStream* ended) {
    page_streams_.Give(bound);
    delete ended;
  });
  stream->view = ViewOf(call.client, options_.pages_show_all);
  stream->call = std::move(call);
  stream->call.responder->BeginEvents();
  stream->call.responder->WhenGone([weak = std::weak_ptr(stream)] {
    if (const auto open = weak.lock()) open->gone = true;
  });
  TellPages(stream);
}

// And again a second later, as long as the reader is there and may still read.
void Api::TellPages(const std::shared_ptr<PageStream>& stream) {
  const Client& before = stream->call.client;
  const auto now = access_.ClientOf(stream->call.head);
  const bool may = now && now->name == before.name && now->rights == before.rights;
  if (stopping_ || stream->gone || !may || !TellChanges(stream.get())) return stream->call.responder->EndEvents();
  page_timers_.After(kTickSeconds, [this, stream] {
    if (!workers_.Do([this, stream] { TellPages(stream); })) stream->call.responder->EndEvents();
  });
}

// False: nobody reads any more. An error is no end: the next second may be better.
bool Api::TellChanges(PageStream* stream) {
  HttpResponder& to = *stream->call.responder;
  const auto version = options_.pages->Version();
  if (!version || *version == stream->version) return true;
  const bool first = stream->version.empty();
  const auto changes = options_.pages->ChangesSince(&stream->place, stream->view);
  if (!changes) return true;
  stream->version = changes->version;
  json runs = json::array();
  for (const json& line : changes->runs) {
    json& told = stream->runs[line.at("run").get<std::string>()];
    if (told != line && !first) runs.push_back(line);
    told = line;
  }
  bool reads = true;
  if (!runs.empty()) reads = to.SendEvent("runs", Dump(json{{"runs", std::move(runs)}}));
  if (reads && !changes->entries.is_null()) reads = to.SendEvent("entries", Dump(changes->entries));
  return reads;
}

}  // namespace kb::server
