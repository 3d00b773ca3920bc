// What a client asks to have judged: its JSON, checked and found.
#ifndef SERVER_ORDER_H_
#define SERVER_ORDER_H_

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/candidate/candidate.h"
#include "judge/problem/problem_catalog.h"
#include "judge/protocol/protocol.h"
#include "server/fields.h"

namespace kb::server {

extern const Table kEvaluationRequest;

inline constexpr size_t kMostProblemBytes = size_t{256} << 10;
inline constexpr size_t kMostAnswerBytes = size_t{16} << 20;

// The user of this machine, over the Unix socket.
inline constexpr const char* kLocalClient = "local";

// How a device is lent (docs/reference/api.md).
struct LeaseTerms {
  double seconds = 60, memory_share = 0.5;
};

struct Order {
  ProblemFile problem;
  std::string problem_sha256, size;
  std::shared_ptr<const Protocol> protocol;
  std::string rules;       // the protocol and every key that the request changed
  std::string name;        // of the candidate's file or folder
  std::string source;      // its text, of a folder the packed form
  nlohmann::json request;  // without that text; a client's problem is named by its hash in it
  int priority = 0;
  double deadline_s = 0;  // 0: none
  std::string idempotency_key, run, model;
  int sample = -1;        // the run's next one
  std::string rejection;  // as Candidate's
  // Of a candidate that was taken from an answer: Evaluation's field of that name. Else null.
  nlohmann::json extraction;
  bool keep = true;  // in the store; else it is gone with the request that asks for it
  enum class Kind { kEvaluate, kCompile, kTrace, kLend };
  Kind kind = Kind::kEvaluate;  // the others are not kept
  std::optional<LeaseTerms> lease = {};
};

// Thread-safe.
class OrderReader {
 public:
  // `device`: the kind that is served.
  OrderReader(std::filesystem::path problems, std::filesystem::path protocols, std::string device);

  // kUsage says which field is wrong, as Check() does. `trusted`: the client is the user, whose files may be read.
  // `source`: of a candidate that is named by its digest, or that was accepted before, with Order::request.
  // `problem_text`: of a client's problem that was accepted before.
  Result<Order> Read(const nlohmann::json& request, bool trusted,
                     const std::optional<std::string>& source = std::nullopt,
                     const std::optional<std::string>& problem_text = std::nullopt) const;
  // All problems, in their order.
  const std::vector<ProblemFile>& problems() const { return problems_; }
  Result<ProblemFile> Problem(const std::string& name) const;
  // The one whose text has this SHA-256.
  std::optional<ProblemFile> ProblemOfText(const std::string& sha256) const;
  const std::filesystem::path& protocols() const { return protocols_; }
  const std::string& device() const { return device_; }

 private:
  Result<ProblemFile> ProblemOf(const nlohmann::json& request, bool trusted,
                                const std::optional<std::string>& problem_text) const;
  Result<ProblemFile> ProblemAt(const std::filesystem::path& path, const std::string& name) const;

  const std::filesystem::path protocols_;
  const std::string device_;
  std::vector<ProblemFile> problems_;
  std::map<std::string, size_t> by_name_;
  mutable std::once_flag hashed_;
  mutable std::map<std::string, size_t> by_text_;
};

}  // namespace kb::server

#endif  // SERVER_ORDER_H_
