// Where evaluations are kept: one SQLite file in WAL mode. Several processes may write to it at once; an object may be
// used by several threads, one call at a time being served. An evaluation is stored whole or not at all, whatever kills
// the process; after a power failure the last few may be missing, never half there.
#ifndef STORE_STORE_H_
#define STORE_STORE_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/entry_row.h"
#include "store/episode.h"
#include "store/generation.h"
#include "store/job.h"
#include "store/maintenance.h"
#include "store/score_row.h"
#include "store/submission.h"

namespace kb {

// What to list; an empty string or 0 means no restriction.
struct StoreFilter {
  std::string problem{};  // exactly as in the evaluation: "1/19"
  std::string verdict{};
  std::string run{};
  int limit = 0;
};

// A page of what is stored; an empty string or 0 means no restriction.
struct PageFilter {
  std::string run{}, problem{};
  std::string client{};   // of entries: in runs that are its own, NAME or NAME/...; of submissions: that it asked for
  std::string verdict{};  // of entries
  std::string state{};    // of submissions: queued, running, done, failed or cancelled
  std::string batch{};    // of submissions
  std::string key{};      // of submissions: their idempotency key; needs the client
  int64_t before = 0;     // Page::next of the page before
  int limit = 100;
};

template <typename Item>
struct Page {
  std::vector<Item> items;  // newest first
  int64_t next = 0;         // 0: there is no other page
};

// Which baselines; an empty string means no restriction.
struct BaselineFilter {
  std::string problem{}, size{}, precision{}, kind{};
};

struct StoreOptions {
  int busy_timeout_ms = 10'000;  // how long a call waits for another process's lock before it fails
  bool create = true;            // where there is no store; else that is kUsage, and an empty file stays empty
};

struct Exported {
  int64_t evaluations = 0, jobs = 0;
  int64_t jobs_without_source = 0;  // not judged yet, and their file is gone or has changed
};

struct Imported {
  std::string run;
  int64_t evaluations = 0, jobs = 0;              // that are new here
  int64_t known_evaluations = 0, known_jobs = 0;  // that were in that run already and stay as they were
  std::map<std::string, int64_t> elsewhere;       // evaluations that are in another run here and stay there, by run
  int64_t jobs_elsewhere = 0;                     // done with one of those, so not imported
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

  // Stores one evaluation (docs/reference/evaluation.md) in one transaction. `id`, `created`, `problem` and `verdict`
  // are necessary; a key `run` (string) files it under that run. An id that is there already is refused. Bytes that are
  // not UTF-8 come back as U+FFFD, except in the candidate's source, which comes back as it was; numbers that are not
  // finite come back as null.
  Status Add(const nlohmann::json& evaluation);

  // The whole evaluation whose id is `id`, or the only one whose id starts with it. kUsage when there is none or more
  // than one.
  Result<nlohmann::json> Get(std::string_view id, EvaluationParts parts = {}) const;

  // Newest first, without what is long: id, created, run, problem, size, device, device_info.name, protocol,
  // problem_sha256, candidate.path, candidate.sha256, verdict, reason, speedup, speedup_interval, baseline_us,
  // candidate_us.
  Result<std::vector<nlohmann::json>> List(const StoreFilter& filter = {}) const;

  // A page of the same, in the order in which they were stored.
  Result<Page<nlohmann::json>> Entries(const PageFilter& filter) const;

  // Evaluations without measurements, newest first: of each problem, size, device, protocol and candidate path only the
  // newest that the filter lets through.
  Result<std::vector<nlohmann::json>> Load(const StoreFilter& filter = {}) const;

  // Of each run, model, sample, problem, size, device (kind and name), protocol (with what flags changed of it) and
  // candidate path the newest that the filter lets through, in the order in which they were stored; the first `limit`
  // of those.
  Result<std::vector<ScoreRow>> Scores(const StoreFilter& filter = {}) const;

  // What pages show in lines (entry_row.h). Of evaluations those that were stored after the one of that sequence.
  Result<std::vector<EntryRow>> EntryRows(int64_t after = 0) const;
  // Ids of correct evaluations whose whole interval is above 1 and whose authorship is custom. `run`: only of this one.
  Result<std::set<std::string>> OwnWork(const std::string& run = {}) const;
  // Up to that sequence.
  Result<int64_t> CountEntries(int64_t until) const;
  Result<std::vector<FailedJob>> FailedJobs() const;
  // Oldest first; of each at most so many that are being judged.
  Result<std::vector<RunSummary>> RunSummaries(int most_judging) const;
  // Of all devices on which something was judged, with the kind as `device`.
  Result<std::vector<nlohmann::json>> DeviceInfos() const;
  // Of evaluations that somebody audited, whether all audits confirm them.
  Result<std::map<std::string, bool>> Audited() const;
  // Another text each time that something may have changed, whoever wrote it.
  Result<std::string> Version() const;
  // From now on this one reads the store as it is now, whoever writes meanwhile, and must not write.
  Status HoldSnapshot();

  // Gives all evaluations that the filter lets through, in the order in which they were stored, with their measurements
  // and without samples and sources. The first error of `take` ends it and is returned; the store must not be used
  // meanwhile.
  Status EachMeasured(const StoreFilter& filter, const std::function<Status(nlohmann::json)>& take) const;

  // Names of all runs, oldest first.
  Result<std::vector<std::string>> Runs() const;

  // Jobs of a run (job.h), which is made if it is not there. One that is there already stays as it is, unless its
  // candidate's or its problem's text is another one now, or `again`: then it is queued anew, with the same id. Returns
  // how many are. A job that is given without its problem's text asks nothing about that.
  Result<int64_t> AddJobs(const std::string& run, std::span<const Job> jobs, bool again = false);
  // The same for one job, which comes back as it is in the store.
  Result<Job> AddJob(const std::string& run, const Job& job);
  // All jobs of a run, or those in one state, in the order in which they were added.
  Result<std::vector<Job>> Jobs(const std::string& run, const std::string& state = {}) const;
  // Those that changed after the run's change `since` (Job::changed), in the order of their last changes.
  Result<std::vector<Job>> ChangedJobs(const std::string& run, int64_t since) const;
  // Makes a queued job a running one of this owner, for so long (Job::lease_until). False if it is not queued any more:
  // somebody else has it.
  Result<bool> ClaimJob(int64_t id, const std::string& owner, int64_t lease_until = 0);
  // Of all jobs that this owner still has.
  Status RenewJobs(const std::string& owner, int64_t lease_until);
  // The evaluation and its job's end, in one transaction; the job is then about the problem's text that was judged
  // with. False: the job was taken away from this owner, and nothing is added.
  Result<bool> FinishJob(int64_t id, const std::string& owner, const nlohmann::json& evaluation);
  // After an attempt that says nothing about the candidate: queued again, or failed if there is to be no other. False
  // as above.
  Result<bool> GiveUpJob(int64_t id, const std::string& owner, const std::string& error, bool again);
  // Makes a job a failed one that is queued, or that this owner has. False if it is neither.
  Result<bool> CancelJob(int64_t id, const std::string& owner, const std::string& error);
  // Queues those of these jobs of the run that have failed.
  Status RetryJobs(const std::string& run, std::span<const int64_t> ids);
  // Queues running jobs of owners that do not live any more or whose lease is over, and failed ones if `failed`.
  // Returns how many.
  Result<int64_t> ReleaseJobs(const std::string& run, bool failed);

  // Files what clients ask for: each with its job and its candidate's source, all or none, in one transaction. What a
  // client asks again with the same key comes back as it is, unless it asks for something else: kUsage. So is a sample
  // that its run has already.
  Result<std::vector<Submission>> AddSubmissions(std::span<const NewSubmission> wanted);
  // Of that id, absent where there is none.
  Result<std::optional<Submission>> FindSubmission(const std::string& id) const;
  // In the order in which they were filed.
  Result<std::vector<Submission>> BatchSubmissions(const std::string& batch) const;
  // A page of what was filed, with what became of each.
  Result<Page<SubmissionSummary>> Submissions(const PageFilter& filter) const;
  // Whose jobs are queued, in that order, after those that processes left behind which are gone have been queued again.
  Result<std::vector<Submission>> QueuedSubmissions();

  // How a run is generated: stores `settings` if the run has none yet, and returns those that it has.
  Result<nlohmann::json> BeginGeneration(const std::string& run, const nlohmann::json& settings);
  // Puts other settings in their place.
  Status ChangeGeneration(const std::string& run, const nlohmann::json& settings);
  // Null if nothing was generated in that run.
  Result<nlohmann::json> Generation(const std::string& run) const;
  // Makes the request one that this owner asks, adding it if it is not there. Absent: somebody else asks, or it has its
  // answer. kUsage if its candidate's number is another one's.
  Result<std::optional<GenerationRequest>> ClaimRequest(const std::string& run, const GenerationRequest& request,
                                                        const std::string& owner);
  // Stores an answer as it came, in one transaction, and returns its id. kStore if the request is not this owner's.
  Result<int64_t> AddAnswer(int64_t request, const std::string& owner, const GenerationAnswer& answer);
  // What became of the request's answer: the candidate's text, if there is one, its language and the complaint.
  // `final`: the request is answered by it, else it is asked again. An owner who lost the request changes nothing.
  Status SettleAnswer(int64_t answer, const std::string& owner, const std::optional<std::string>& source,
                      const std::string& language, const std::string& complaint, bool final);
  // After an attempt that says nothing about the model: queued again, or failed if there is to be no other.
  Status GiveUpRequest(int64_t id, const std::string& owner, const std::string& error, bool again);
  // Queues requests of owners that do not live any more, and failed ones. Returns how many.
  Result<int64_t> ReleaseRequests(const std::string& run);
  // By model, problem, turn and sample.
  Result<std::vector<GenerationRequest>> Requests(const std::string& run) const;
  // That made the candidate of that number; absent: no model was asked for it.
  Result<std::optional<GenerationRequest>> RequestOf(const std::string& run, const std::string& model,
                                                     const std::string& problem, int64_t candidate) const;
  // Of a run, in the order in which they came, without prompts, responses and reasoning.
  Result<std::vector<GenerationAnswer>> Answers(const std::string& run) const;
  // Of one request, whole, in that order.
  Result<std::vector<GenerationAnswer>> AnswersTo(int64_t request) const;
  // The newest whole evaluation of that candidate of the run, with `device` that of its job there; null if there is
  // none.
  Result<nlohmann::json> CandidateEvaluation(const std::string& run, const std::string& model,
                                             const std::string& problem, int candidate,
                                             const std::string& device = "") const;
  Result<GenerationSpent> Spent(const std::string& run, const std::string& model = "") const;
  // The newest `limit` answers of a model in all runs, without prompts, responses and reasoning: of agents, each with
  // the sum of its turns, or all others.
  Result<std::vector<GenerationAnswer>> History(const std::string& model, bool agents = false, int limit = 1000) const;

  // What agents do (episode.h). Each change is one transaction, and kStore if the request is not this owner's.
  // Begins an episode with what its folder holds, which is its turn 0; one that is there stays as it is. As it is
  // stored.
  Result<Episode> BeginEpisode(const std::string& owner, const Episode& episode, std::span<const TurnFile> files = {});
  // Empty: it goes on after all.
  Status EndEpisode(int64_t request, const std::string& owner, const std::string& ended_by, const std::string& ending);
  // Its model refused to answer in this command. Returns how many commands in a row it did so: an answer of a turn ends
  // that row.
  Result<int> CountRefusal(int64_t request, const std::string& owner);
  // Has those of the run that ended so, and are answered, go on: their answers are dropped, their turns stay. How many.
  Result<int64_t> ReopenEpisodes(const std::string& run, const std::string& ended_by);
  // Absent: the request is no agent's.
  Result<std::optional<Episode>> FindEpisode(int64_t request) const;
  // The next turn, which is asked now: number, kind and context. Its id. One that was asked before and has no answer is
  // asked again: `lost`, `lost_tokens` and `lost_usd` are added to its own, and it has the new kind and context. Turns
  // before it may be open still. kStore after the episode's end.
  Result<int64_t> AskTurn(int64_t request, const std::string& owner, const Turn& turn);
  // The answer of an asked one, with its usage and cost. `lost`, `lost_tokens` and `lost_usd` are added as above.
  Status AnswerTurn(int64_t id, const std::string& owner, const Turn& turn);
  // What the tools of an answered one gave, changed and were told by the judge. kEngine if a text has another hash than
  // is said.
  Status FinishTurn(int64_t id, const std::string& owner, const Turn& turn, std::span<const TurnFile> files,
                    std::span<const TurnVerdict> verdicts);
  // What the judge told after a turn was done already.
  Status AddTurnVerdicts(int64_t request, const std::string& owner, int turn, std::span<const TurnVerdict> verdicts);
  Result<TurnsSpent> SpentOnTurns(const std::string& run) const;
  // In their order, whole.
  Result<std::vector<Turn>> Turns(int64_t request) const;
  // The folder after that turn (0: before the first), with contents; by path.
  Result<std::vector<TurnFile>> FolderAfter(int64_t request, int turn) const;
  // Files that turns changed, by turn, without contents.
  Result<std::vector<std::pair<int, TurnFile>>> TurnFiles(int64_t request) const;
  // Of the contents of those files, by hash.
  Result<std::map<std::string, uint64_t>> TurnFileBytes(int64_t request) const;
  // In the order in which they were stored, without sources.
  Result<std::vector<TurnVerdict>> TurnVerdicts(int64_t request) const;

  // In place of an older one of the same evaluation and auditor.
  Status AddReview(const EvaluationReview& review);
  // Of all evaluations of a run, in the order in which they were made.
  Result<std::vector<EvaluationReview>> Reviews(const std::string& run) const;

  // Writes an archive of the run (docs/reference/interop.md): its evaluations and jobs, and all that belongs to them.
  // Jobs that run are queued in it. kUsage if there is no such run.
  Result<Exported> ExportRun(const std::string& run, const std::filesystem::path& archive) const;
  // Merges an archive into the store, in one transaction, under its own run name or `as`. Evaluations that are here, by
  // their id, stay, and in the run that they are in; so do jobs, except that one with an evaluation there and none here
  // is done now. kUsage if all evaluations are in other runs and no job is left for this one. Archives may come from
  // anywhere: kUsage for anything that ExportRun() does not write.
  Result<Imported> ImportRun(const std::filesystem::path& archive, const std::string& as = "");
  // A candidate's source by the hash of its bytes. kUsage if it is not there.
  Result<std::string> Source(const std::string& sha256) const;

  // Stores one audit of a problem (docs/reference/problems.md) in place of an older one of the same problem text, size,
  // device and PyTorch.
  Status AddAudit(const nlohmann::json& audit);
  // All audits, in the order in which they were made.
  Result<std::vector<nlohmann::json>> Audits() const;

  // Stores one baseline (docs/reference/baselines.md) in place of an older one of the same problem text, size,
  // precision, kind, device (its name and how many of its cores were used) and PyTorch. An imported one has no text and
  // no PyTorch, so it never takes the place of one that was measured here.
  Status AddBaseline(const nlohmann::json& baseline);
  // In the order in which they were made.
  Result<std::vector<nlohmann::json>> Baselines(const BaselineFilter& filter = {}) const;

  // Reads everything: is the file whole, does every record decompress and parse, does every source have its hash, do
  // jobs and evaluations agree? Others may write meanwhile. Damage is found, not an error.
  Result<StoreHealth> Check() const;
  // Removes sources, devices, problems and parts of evaluations that nothing refers to any more, and what the options
  // say, in one transaction; then makes the file smaller.
  Result<Garbage> CollectGarbage(const GarbageOptions& options);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  template <typename Change>
  Result<bool> ChangeJob(int64_t id, Change change);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kb

#endif  // STORE_STORE_H_
