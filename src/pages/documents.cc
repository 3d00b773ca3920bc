// Documents of one thing: a run, an evaluation, a problem, the machine.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "generate/parents.h"
#include "generate/read_trajectory.h"
#include "generate/transcript.h"
#include "judge/candidate/folder.h"
#include "judge/floors.h"
#include "judge/problem/problem_index.h"
#include "pages/pages.h"
#include "report/score_formats.h"
#include "report/view.h"

namespace kb {

using nlohmann::json;

namespace {

auto NoEntry(const std::string& id) {
  return Fail(ErrorCode::kUsage, fmt::format("there is no evaluation {} here", id));
}

// {} where the text is no JSON.
json Settings(const RunSummary& run) { return run.settings.is_object() ? run.settings : json(); }

json AnswerOf(const GenerationRequest& request, const GenerationAnswer& answer) {
  const json prompt = ParseStored(answer.prompt);
  json messages = json::array();
  for (const json& message : MemberAt(prompt, "messages"))
    messages.push_back({{"role", StoredText(message, "role")}, {"text", StoredText(message, "text")}});
  std::optional<int64_t> input;
  if (answer.input) input = *answer.input + answer.cache_read.value_or(0) + answer.cache_write.value_or(0);
  return {{"created", answer.created},
          {"model", answer.answered_by.empty() ? request.model : answer.answered_by},
          {"system", StoredText(prompt, "system")},
          {"messages", std::move(messages)},
          {"response", answer.response},
          {"reasoning", answer.reasoning},
          {"finish", answer.finish},
          {"complaint", answer.complaint},
          {"input_tokens", OrNull(input)},
          {"cached_tokens", OrNull(answer.cache_read)},
          {"output_tokens", OrNull(answer.output)},
          {"usd", OrNull(answer.cost_usd)},
          {"seconds", answer.seconds}};
}

json TranscriptOf(const Transcript& transcript) {
  json turns = json::array();
  for (const TranscriptTurn& turn : transcript.turns) turns.push_back(TurnJson(turn, false));
  return {{"episode", EpisodeJson(transcript)}, {"turns", std::move(turns)}, {"end", EndJson(transcript)}};
}

json FloorJson(const Floor& floor) { return {{"us", floor.us}, {"relative", floor.relative}}; }

json CalibrationOf(const Installation& installation, const std::string& kind, const std::string& name) {
  const auto floors = FindFloors(installation, kind, name);
  if (!floors) return {};
  return {{"native", FloorJson(floors->native)}, {"module", FloorJson(floors->module)}, {"origin", floors->origin}};
}

}  // namespace

Result<std::string> Pages::Run(const std::string& run, const PagesView& view) {
  json line;
  for (const json& each : RunLines(lines_, view, UtcSeconds())) {
    if (each.at("run") == run) line = each;
  }
  if (line.is_null()) return Fail(ErrorCode::kUsage, fmt::format("there is no run {} here", run));
  KB_ASSIGN_OR_RETURN(const ScoreInput input, InputOf({run}, view));
  const std::string score = ScoreJson(MakeScoreSheet(input.rows, input.jobs, input.problems, {}, input.spent));
  json settings, trajectory;
  for (const RunSummary& summary : lines_.runs()) {
    if (summary.name == run) settings = Settings(summary);
  }
  if (!settings.is_null()) {
    const auto trajectories = ReadTrajectories(*store_, {.run = run});  // an error: it is over cards
    if (trajectories && !trajectories->empty()) trajectory = TrajectoriesJson(run, *trajectories);
  }
  return fmt::format(R"({{"line":{},"settings":{},"score":{},"trajectory":{}}})", Dump(line), Dump(settings),
                     score.substr(0, score.find_last_not_of('\n') + 1), Dump(trajectory));
}

// The evaluation of that very id, if the view shows its run.
Result<json> Pages::Visible(const std::string& id, EvaluationParts parts, const PagesView& view) {
  if (id.empty()) return NoEntry(id);
  auto evaluation = store_->Get(id, parts);
  if (!evaluation && evaluation.error().code != ErrorCode::kUsage) return evaluation;
  if (!evaluation || TextAt(*evaluation, "id") != id || !view.TakesRun(TextAt(*evaluation, "run"))) return NoEntry(id);
  return evaluation;
}

Result<json> Pages::Entry(const std::string& id, const PagesView& view) {
  return Visible(id, {.samples = false, .source = false, .measurements = false}, view);
}

Result<json> Pages::Rounds(const std::string& id, const PagesView& view) {
  KB_ASSIGN_OR_RETURN(const json evaluation, Visible(id, {.source = false, .measurements = false}, view));
  const json& samples = MemberAt(evaluation, "samples");
  return json{{"samples", samples.is_array() ? samples : json::array()}};
}

Result<json> Pages::Source(const std::string& sha256, const PagesView& view) {
  if (view.may_see) {
    const std::vector<size_t> seen = lines_.Taken({.may_see = view.may_see});
    const auto has = [&](size_t place) { return lines_.all()[place].entry.row.sha256 == sha256; };
    if (std::none_of(seen.begin(), seen.end(), has))
      return Fail(ErrorCode::kUsage, fmt::format("there is no source {} here", sha256));
  }
  KB_ASSIGN_OR_RETURN(const std::string text, store_->Source(sha256));
  json files = json::array();
  const auto folder = IsPacked(text) ? Unpack(text) : Result<FolderFiles>(FolderFiles{{"", text}});
  for (const auto& [path, contents] : folder ? *folder : FolderFiles{{"", text}})
    files.push_back({{"path", path}, {"text", contents}});
  return json{{"sha256", sha256}, {"files", std::move(files)}};
}

// Those whose candidates the model was shown.
Result<std::vector<std::string>> Pages::Parents(const json& evaluation, const GenerationRequest& request) {
  const std::string run = TextAt(evaluation, "run");
  const auto key = [](const std::string& of, const std::string& model, const std::string& problem) {
    return fmt::format("{}\n{}\n{}", of, model, problem);
  };
  if (kept_.lines.empty()) {
    for (size_t place = 0; place < lines_.all().size(); ++place) {
      const Line& line = lines_.all()[place];
      const ScoreRow& row = line.entry.row;
      if (line.newest && row.verdict != kInfrastructure)
        kept_.lines[key(row.run, row.model, row.problem)].push_back(place);
    }
  }
  if (kept_.run != run || kept_.requests.empty()) {
    KB_ASSIGN_OR_RETURN(kept_.requests, store_->Requests(run));
    kept_.run = run;
  }
  std::vector<GenerationRequest> requests;
  for (const GenerationRequest& each : kept_.requests) {
    if (each.model == request.model && each.problem == request.problem) requests.push_back(each);
  }
  std::vector<ScoreRow> rows;
  for (const size_t place : kept_.lines[key(run, request.model, request.problem)])
    rows.push_back(lines_.all()[place].entry.row);
  json settings;
  for (const RunSummary& summary : lines_.runs()) {
    if (summary.name == run) settings = summary.settings;
  }
  std::vector<std::string> parents;
  for (const int parent : ParentsOf(settings, requests, rows, request.candidate)) {
    const auto of = [&](const ScoreRow& row) { return row.sample == parent; };
    const auto found = std::find_if(rows.begin(), rows.end(), of);
    if (found != rows.end()) parents.push_back(found->id);
  }
  return parents;
}

Result<json> Pages::Conversation(const std::string& id, const PagesView& view) {
  KB_ASSIGN_OR_RETURN(const json evaluation,
                      Visible(id, {.samples = false, .source = false, .measurements = false}, view));
  const std::string run = TextAt(evaluation, "run");
  const json& sample = MemberAt(evaluation, "sample");
  std::optional<GenerationRequest> request;
  if (!run.empty() && sample.is_number_integer()) {
    KB_ASSIGN_OR_RETURN(request, store_->RequestOf(run, TextAt(evaluation, "model"), TextAt(evaluation, "problem"),
                                                   sample.get<int64_t>()));
  }
  if (!request) {
    return Fail(ErrorCode::kUsage, fmt::format("no model was asked for the candidate of {}", id));
  }
  KB_ASSIGN_OR_RETURN(const std::optional<Transcript> transcript, ReadTranscript(*store_, run, *request));
  json answers;
  if (!transcript) {
    answers = json::array();
    KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> all, store_->AnswersTo(request->id));
    for (const GenerationAnswer& answer : all) answers.push_back(AnswerOf(*request, answer));
  }
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> parents, Parents(evaluation, *request));
  return json{{"answers", std::move(answers)},
              {"transcript", transcript ? TranscriptOf(*transcript) : json()},
              {"parents", parents}};
}

json Pages::ProblemLine(const std::string& name) const {
  const auto found = std::find_if(problems_.begin(), problems_.end(),
                                  [&](const SelectedProblem& problem) { return problem.file.name == name; });
  const ProblemFacts facts = FactsOf(*table_, name);
  const bool known = found != problems_.end();
  const std::string level = known && found->file.level > 0 ? std::to_string(found->file.level) : facts.level;
  const auto or_nothing = [](const std::string& text) { return text == "other" ? "" : text; };
  return {{"problem", name},
          {"title", known ? found->file.title : name},
          {"deck", facts.level},
          {"level", level},
          {"family", or_nothing(facts.family)},
          {"dominated_by", or_nothing(facts.dominated_by)},
          {"scored", facts.unscored.empty()},
          {"unscored_reason", facts.unscored}};
}

// Only of those that are in the directory: a name is no path.
Result<json> Pages::Problem(const std::string& name, const PagesView& view) {
  const auto found = std::find_if(problems_.begin(), problems_.end(),
                                  [&](const SelectedProblem& problem) { return problem.file.name == name; });
  if (found == problems_.end()) {
    KB_ASSIGN_OR_RETURN(const std::vector<std::string> used, UsedProblems(view));
    if (std::find(used.begin(), used.end(), name) == used.end())
      return Fail(ErrorCode::kUsage, fmt::format("there is no problem {} here", name));
  }
  json document = {{"line", ProblemLine(name)},  {"text", ""},
                   {"sizes", json::array()},     {"figures", json::object()},
                   {"baselines", json::array()}, {"audits", json::array()}};
  if (found != problems_.end()) {
    KB_ASSIGN_OR_RETURN(document["text"], TextOf(found->file));
    document["sizes"] = found->metadata.sizes;
    document["figures"] = IndexEntry(found->file.path, name).value("sizes", json::object());
  }
  KB_ASSIGN_OR_RETURN(document["baselines"], store_->Baselines({.problem = name}));
  KB_ASSIGN_OR_RETURN(std::vector<json> audits, store_->Audits());
  std::erase_if(audits, [&](const json& audit) { return TextAt(audit, "problem") != name; });
  document["audits"] = std::move(audits);
  return document;
}

// What a service says of itself is for those who see all.
Result<json> Pages::Machine(const PagesView& view) {
  KB_ASSIGN_OR_RETURN(std::vector<json> devices, store_->DeviceInfos());
  for (json& device : devices) {
    const std::string kind = TextAt(device, "device");
    device.erase("device");
    device["kind"] = kind;
    device["calibration"] = CalibrationOf(options_.installation, kind, TextAt(device, "name"));
  }
  json doctor;
  {
    const std::lock_guard lock(doctor_mutex_);
    doctor = doctor_;
  }
  return json{{"live", static_cast<bool>(options_.service)},
              {"made", UtcNow(kIso8601)},
              {"service", options_.service && !view.may_see ? options_.service() : json()},
              {"devices", std::move(devices)},
              {"doctor", view.may_see ? json() : std::move(doctor)}};
}

// It takes seconds and processors, so whoever asks again within a minute reads what it said.
Result<json> Pages::Doctor(const PagesView& view) {
  constexpr int64_t kHolds = 60;  // seconds
  if (!options_.doctor || view.may_see) return Fail(ErrorCode::kUsage, "there is no document doctor.json");
  const std::lock_guard one(asking_doctor_);
  {
    const std::lock_guard lock(doctor_mutex_);
    if (!doctor_.is_null() && UtcSeconds() - doctor_said_ < kHolds) return doctor_;
  }
  KB_ASSIGN_OR_RETURN(json said, options_.doctor());
  const std::lock_guard lock(doctor_mutex_);
  doctor_ = said;
  doctor_said_ = UtcSeconds();
  return said;
}

}  // namespace kb
