// What comes before a candidate is judged: its text is checked, what it wants built is found out, and that is built.
// None of it holds a device, so candidates are prepared on any thread, several at a time.
#ifndef JUDGE_PREPARE_PREPARE_H_
#define JUDGE_PREPARE_PREPARE_H_

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "judge/compile/builder.h"
#include "judge/request.h"
#include "judge/services/services.h"
#include "judge/setup.h"

namespace kb {

// So many extensions may be first asked for in calls: each takes another runner.
inline constexpr int kMostAsked = 8;

// A candidate that was prepared; what its runner loads, or why there is nothing to load.
struct Prepared {
  Request request;
  std::string rejection;  // by its text; empty: it is built
  std::vector<std::string> notes;
  nlohmann::json static_findings;  // null: none

  std::string failure;           // why there is nothing to load; empty: there is
  std::string log;               // of the compilers
  std::filesystem::path kernel;  // native
  std::vector<std::tuple<std::string, std::string, std::filesystem::path>> extensions;  // key, name, file
  // Extensions that the compiler refused: key, and its errors. Asking for one raises in the candidate, as in PyTorch.
  std::vector<std::pair<std::string, std::string>> refused;
  std::filesystem::path first_call;         // what the module compiled at its first call; empty: nothing
  std::vector<CacheHold> holds;             // of all these files
  std::string compiler;                     // what built it; empty: nothing was built
  CompileLimits limits;                     // what is left of them
  int asked = 0;                            // extensions that its calls asked for
  std::optional<ExtensionRequest> lacking;  // the last of these, as long as it is not built
  double spent_s = 0;                       // of `evaluation_timeout_s`, until it asked
  double us = 0;                            // that building took, or finding it in the cache
  bool called = false;                      // AddFirstCall() did what it could
  std::string call_log;                     // of that
};

// Backends that build at the first call, in programs that a runner may not start. A module that says one of their words
// and compiles nothing has made three calls more.
bool CompilesWhenCalled(const Candidate& candidate);

// What compilers printed, of all builds of a candidate: what is longer is cut out of the middle.
std::string CompilerOutput(const Prepared& prepared);

class Preparer {
 public:
  static Result<std::unique_ptr<Preparer>> Create(const Setup* setup, Services* services);
  Preparer(const Preparer&) = delete;  // makes room in the cache once
  Preparer& operator=(const Preparer&) = delete;
  // Candidates that were prepared hold their entries of the cache until they are judged.
  ~Preparer() { builder_.cache().MakeRoomAgain(); }

  // What Prepare() needs beside compilers is started. On the thread that judges, before each Prepare() that follows.
  Status MakeReady(const Request& request) const;
  // On any thread. An error is one of the engine or of the request, and no verdict on the candidate.
  Result<Prepared> Prepare(const Request& request) const;
  // Builds the extension that a call of the candidate lacked, on any thread.
  Status AddLacking(Prepared* prepared) const;
  // The last build: what a module compiles at its first call (Triton, torch.compile). That call is made on the device,
  // so it waits for its turn there and for the problem. Does nothing for candidates that compile nothing then.
  Status AddFirstCall(const ops::Problem& problem, Prepared* prepared) const;

  // The same of a baseline. An artifact is there whatever its first call did: its process meets that again.
  // `place`: of Join(): on any core, beside others, while nothing is measured; -1: by itself.
  Result<BuildResult> CompileBaseline(const RunnerSpec& spec, int place = -1) const;
  // A place among the baselines that are compiled beside each other: a shared lock. The compilation times kernels under
  // that lock alone, so when all others have ended, or wait as it did (kernelbench_torch/first_call.py).
  Result<Fd> Join() const;
  // What Inductor makes of the problem that is the spec's source, as JSON (kernelbench_torch/inductor_capture.py).
  Result<BuildResult> CompileToTriton(const RunnerSpec& spec, const std::filesystem::path& problem,
                                      const std::string& size) const;

  const Builder& builder() const { return builder_; }

 private:
  Preparer(const Setup* setup, Services* services, Builder builder, Fd turns)
      : setup_(setup), services_(services), builder_(std::move(builder)), turns_(std::move(turns)) {}
  void CheckText(Prepared* prepared) const;
  Status CheckNeeds(const Request& request) const;
  Result<std::vector<ExtensionRequest>> CaptureExtensions(const Request& request) const;
  Status BuildNative(Prepared* prepared) const;
  Status BuildExtensions(Prepared* prepared) const;
  // `files`: beside what `told` says.
  using Files = std::vector<std::pair<std::string, std::string>>;
  // `modules` of kernelbench_torch, of which the first is run, and told `told`. `place`: as above.
  Result<BuildResult> FirstCall(const std::vector<std::string>& modules, const nlohmann::json& told, Files files,
                                const CompileLimits& limits, int place = -1) const;
  CompileLimits BaselineLimits() const;
  // The result as it counts: in the time that all builds have.
  BuildResult Add(BuildResult result, Prepared* prepared) const;
  Status BuildExtension(const ExtensionRequest& extension, Prepared* prepared) const;
  std::string WhyNotBuilt(const BuildResult& result, const Protocol& protocol) const;

  const Setup* setup_;
  Services* services_;
  Builder builder_;
  Fd turns_;                      // of baselines that are compiled beside each other
  mutable std::mutex capturing_;  // held while a module is captured, which may take all the memory of a candidate
};

}  // namespace kb

#endif  // JUDGE_PREPARE_PREPARE_H_
