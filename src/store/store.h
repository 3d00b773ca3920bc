// Where evaluations are kept: one SQLite file in WAL mode. Several processes may write to it at once; an object may be
// used by several threads, one call at a time being served. An evaluation is stored whole or not at all, whatever kills
// the process; after a power failure the last few may be missing, never half there.
#ifndef STORE_STORE_H_
#define STORE_STORE_H_

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kb {

// What to list; an empty string or 0 means no restriction.
struct StoreFilter {
  std::string problem{};  // exactly as in the evaluation: "1/19"
  std::string verdict{};
  std::string run{};
  int limit = 0;
};

struct StoreOptions {
  int busy_timeout_ms = 10'000;  // how long a call waits for another process's lock before it fails
};

class Store {
 public:
  // Opens the file, or creates it with its parent directories, and brings its schema up to date. Fails with kStore and
  // a message that says what to do: read-only, locked, not a database, newer than this program, disk full.
  static Result<Store> Open(const std::filesystem::path& path, const StoreOptions& options = {});

  Store(const Store&) = delete;  // one owner of the connection
  Store& operator=(const Store&) = delete;
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // Stores one evaluation (docs/evaluation.md) in one transaction. `id`, `created`, `problem` and `verdict` are
  // necessary; a key `run` (string) files it under that run. An id that is there already is refused. Bytes that are not
  // UTF-8 come back as U+FFFD, except in the candidate's source, which comes back as it was; numbers that are not
  // finite come back as null.
  Status Add(const nlohmann::json& evaluation);

  // The whole evaluation whose id is `id`, or the only one whose id starts with it. kUsage when there is none or more
  // than one.
  Result<nlohmann::json> Get(std::string_view id) const;

  // Newest first, without what is long: id, created, run, problem, size, device, device_info.name, protocol,
  // candidate.path, candidate.sha256, verdict, reason, speedup, speedup_interval, baseline_us, candidate_us.
  Result<std::vector<nlohmann::json>> List(const StoreFilter& filter = {}) const;

  // Whole evaluations, newest first: of each problem, size, device, protocol and candidate path only the newest that
  // the filter lets through.
  Result<std::vector<nlohmann::json>> Load(const StoreFilter& filter = {}) const;

  // Stores one audit of a problem (docs/problems.md) in place of an older one of the same problem text, size, device
  // and PyTorch.
  Status AddAudit(const nlohmann::json& audit);
  // All audits, in the order in which they were made.
  Result<std::vector<nlohmann::json>> Audits() const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kb

#endif  // STORE_STORE_H_
