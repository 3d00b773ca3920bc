#include "server/access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "server/order.h"

namespace kb::server {
namespace {

using nlohmann::json;

json ToJson(const Token& token) {
  return {{"name", token.client.name},     {"rights", token.client.rights},     {"queued", token.client.queued},
          {"builds", token.client.builds}, {"device_s", token.client.device_s}, {"sha256", token.sha256},
          {"created", token.created}};
}

Token TokenOf(const json& object) {
  Token token;
  object.at("name").get_to(token.client.name);
  object.at("rights").get_to(token.client.rights);
  object.at("queued").get_to(token.client.queued);
  token.client.builds = object.value("builds", 0);
  token.client.device_s = object.value("device_s", 0.0);
  object.at("sha256").get_to(token.sha256);
  object.at("created").get_to(token.created);
  return token;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// What base64 stands for; nothing: it is none.
std::string FromBase64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return "";
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return bytes;
}

// "localhost" of "LocalHost:80", "[::1]" of "[::1]:80".
std::string HostOf(const std::string& authority) {
  const size_t colon = authority.rfind(':');
  const bool port = colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  return Lower(port ? authority.substr(0, colon) : authority);
}

std::string Header(const HttpHead& head, const char* name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? "" : found->second;
}

bool IsAddress(const std::string& host) {
  return host == "localhost" || host.starts_with('[') ||
         (!host.empty() && host.find_first_not_of("0123456789.") == std::string::npos);
}

// Takes as long for every text, so that nobody finds a hash digit by digit.
bool SameText(const std::string& a, const std::string& b) {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    differs |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return differs == 0;
}

// Of a header Authorization. The password of http://x:TOKEN@host is for clients that can be given nothing but a URL.
std::string TokenIn(const std::string& authorization) {
  constexpr std::string_view kBearer = "Bearer ", kBasic = "Basic ";
  if (authorization.starts_with(kBearer)) return authorization.substr(kBearer.size());
  if (!authorization.starts_with(kBasic)) return "";
  const std::string both = FromBase64(std::string_view(authorization).substr(kBasic.size()));
  return both.substr(std::min(both.find(':'), both.size() - 1) + 1);
}

}  // namespace

Result<std::vector<Token>> TokenFile::Read() const {
  struct stat stat {};
  if (::stat(path_.c_str(), &stat) != 0) return std::vector<Token>();
  if ((stat.st_mode & 077) != 0) {
    return Fail(ErrorCode::kUsage, fmt::format("others may read {}: chmod 600 it", path_.string()));
  }
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_));
  try {
    std::vector<Token> tokens;
    const json file = json::parse(text);
    for (const json& object : file.at("tokens")) tokens.push_back(TokenOf(object));
    return tokens;
  } catch (const json::exception& exception) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is no file of tokens ({}): move it away and add them anew",
                                               path_.string(), exception.what()));
  }
}

Status TokenFile::Change(const std::function<Status(std::vector<Token>*)>& change) const {
  std::error_code ignored;  // open() says what is wrong
  std::filesystem::create_directories(path_.parent_path(), ignored);
  const std::filesystem::path lock = path_.string() + ".lock";
  const Fd held(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (held.get() < 0 || ::flock(held.get(), LOCK_EX) != 0) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot write {}: {}", lock.string(), std::strerror(errno)));
  }
  KB_ASSIGN_OR_RETURN(std::vector<Token> tokens, Read());
  KB_RETURN_IF_ERROR(change(&tokens));
  json file = {{"tokens", json::array()}};
  for (const Token& token : tokens) file["tokens"].push_back(ToJson(token));
  return WriteFileAtomic(path_, Dump(file) + "\n", 0600);
}

Result<std::string> TokenFile::Add(const Client& client) const {
  const std::string token =
      fmt::format("kb_{:016x}{:016x}{:016x}{:016x}", RandomBits(), RandomBits(), RandomBits(), RandomBits());
  KB_RETURN_IF_ERROR(Change([&](std::vector<Token>* tokens) -> Status {
    if (std::any_of(tokens->begin(), tokens->end(), [&](const Token& t) { return t.client.name == client.name; })) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("there is a token of {} already: revoke it first, or take another name", client.name));
    }
    tokens->push_back({client, Sha256(token), UtcNow(kIso8601)});
    return {};
  }));
  return token;
}

Result<bool> TokenFile::Revoke(const std::string& name) const {
  bool found = false;
  KB_RETURN_IF_ERROR(Change([&](std::vector<Token>* tokens) -> Status {
    found = std::erase_if(*tokens, [&](const Token& token) { return token.client.name == name; }) > 0;
    return {};
  }));
  return found;
}

tl::expected<Client, Refusal> Access::ClientOf(const HttpHead& head) {
  if (head.local) return Client{kLocalClient, {kRights.begin(), kRights.end()}, 1'000'000};
  const std::string host = HostOf(Header(head, "host"));
  const bool named = std::any_of(options_.hosts.begin(), options_.hosts.end(),
                                 [&](const std::string& name) { return Lower(name) == host; });
  if (!named && !IsAddress(host)) {
    return tl::make_unexpected(
        CallersFault(403, fmt::format("this service is not called {}: start it with --host {} if it is", host, host)));
  }
  if (const std::string origin = Header(head, "origin"); !origin.empty()) {
    const size_t scheme = origin.find("://");
    const std::string from = scheme == std::string::npos ? origin : origin.substr(scheme + 3);
    if (from != Header(head, "host")) return tl::make_unexpected(CallersFault(403, "pages of other sites may not ask"));
  }
  if (options_.no_auth) {
    Client anyone{"anyone", {"judge"}};
    if (options_.allow_problems) anyone.rights.insert("problems");
    return anyone;
  }
  return OfToken(head);
}

// Every change replaces the file, so two in the same tick of the file system's clock differ, too.
std::optional<Access::Version> Access::VersionOf(const std::filesystem::path& path) {
  struct stat stat {};
  if (::stat(path.c_str(), &stat) != 0) return std::nullopt;
  return Version{stat.st_ino, stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec, stat.st_size};
}

tl::expected<Client, Refusal> Access::OfToken(const HttpHead& head) {
  const std::string given = TokenIn(Header(head, "authorization"));
  if (given.empty()) {
    return tl::make_unexpected(
        CallersFault(401, "send a token: Authorization: Bearer TOKEN; kernelbench token add makes one"));
  }
  const std::string hash = Sha256(given);
  const std::lock_guard lock(mutex_);
  if (const auto there = VersionOf(file_.path()); !there || there != read_) {
    read_.reset();
    auto tokens = file_.Read();
    if (!tokens) return tl::make_unexpected(RefusalOf({ErrorCode::kEngine, tokens.error().message}));
    tokens_ = std::move(*tokens);
    read_ = there;
  }
  for (const Token& token : tokens_) {
    if (SameText(token.sha256, hash)) return token.client;
  }
  return tl::make_unexpected(CallersFault(401, "this token is not known: it may have been revoked"));
}

}  // namespace kb::server
