// Who asks, and what for: tokens, their rights and quotas.
#ifndef SERVER_ACCESS_H_
#define SERVER_ACCESS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/http_message.h"
#include "server/refusal.h"

namespace kb::server {

// judge: have candidates judged and see what became of one's own. problems: bring problems of one's own.
// admin: see what is of all clients.
inline const std::vector<std::string> kRights = {"judge", "problems", "admin"};

struct Client {
  std::string name;
  std::set<std::string> rights = {"judge"};
  int queued = 10'000;  // evaluations that may be open at the same time
  int builds = 0;       // that may be prepared at the same time, the others wait; 0: any number
  double device_s = 0;  // seconds of devices in an hour; 0: any number
};

struct Token {
  Client client;
  std::string sha256;   // of the token, which is stored nowhere
  std::string created;  // UTC
};

// A file of tokens (tokens.json), readable by its owner alone. Every change replaces it whole, under a lock.
class TokenFile {
 public:
  explicit TokenFile(std::filesystem::path path) : path_(std::move(path)) {}

  // None where there is no file. kUsage: it is damaged, or others may read it.
  Result<std::vector<Token>> Read() const;
  // The new token, told this once: kb_ and 64 hexadecimal digits. kUsage: there is a client of that name.
  Result<std::string> Add(const Client& client) const;
  // False: there is none of that name.
  Result<bool> Revoke(const std::string& name) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  Status Change(const std::function<Status(std::vector<Token>*)>& change) const;

  const std::filesystem::path path_;
};

struct AccessOptions {
  std::filesystem::path tokens;
  bool no_auth = false;            // over TCP: whoever comes may judge
  bool allow_problems = false;     // and bring problems
  std::vector<std::string> hosts;  // names under which the service is reached over TCP, besides its own addresses
};

// Decides who a request is from. Thread-safe.
class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)), file_(options_.tokens) {}

  // The client, or why there is none: 401, or 403 for a page of another site (Origin) or a name that is not the
  // service's (Host), by which a web page would reach it. Over the Unix socket it is the user, who may do all.
  tl::expected<Client, Refusal> ClientOf(const HttpHead& head);

 private:
  tl::expected<Client, Refusal> OfToken(const HttpHead& head);

  const AccessOptions options_;
  const TokenFile file_;
  std::mutex mutex_;
  std::vector<Token> tokens_;
  struct Version {
    uint64_t file = 0;
    int64_t seconds = 0, nanoseconds = 0, size = 0;
    bool operator==(const Version&) const = default;
  };
  static std::optional<Version> VersionOf(const std::filesystem::path& path);
  std::optional<Version> read_;  // of the file whose tokens those are
};

}  // namespace kb::server

#endif  // SERVER_ACCESS_H_
