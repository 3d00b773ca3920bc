#include "interop/inspect_sample.h"

#include <fmt/format.h>

#include "interop/listed_candidates.h"
#include "prompt/feedback_text.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr char kCompilerOutput[] = "compiler_output";

// Archives may come from strangers: nothing is taken for granted of what they hold.
std::string TextOr(const json& value, const char* key, const std::string& otherwise) {
  if (!value.is_object()) return otherwise;
  const auto found = value.find(key);
  if (found == value.end() || !found->is_string()) return otherwise;
  const auto& text = found->get_ref<const std::string&>();
  return text.empty() ? otherwise : text;
}

json MemberOf(const json& value, const char* key) {
  const auto found = value.find(key);  // none in what is no object
  return found == value.end() ? json() : *found;
}

json NumberOrNull(const std::optional<double>& value) { return value ? json(*value) : json(); }

json Message(const char* role, const std::string& text) { return {{"role", role}, {"content", text}}; }

std::string FenceLanguage(const std::string& path) {
  const std::string language = LanguageOf(path);
  return language == "py" ? "python" : language == "cu" ? "cuda" : language;
}

// ---- Messages ------------------------------------------------------------------------------------------------------

// What the model was asked last: the whole conversation up to its last answer.
json PromptMessages(const GenerationAnswer& answer) {
  json messages = json::array();
  const json prompt = json::parse(answer.prompt, nullptr, false);
  if (const std::string system = TextOr(prompt, "system", ""); !system.empty()) {
    messages.push_back(Message("system", system));
  }
  for (const json& message : MemberOf(prompt, "messages")) {
    const bool user = TextOr(message, "role", "") == "user";
    messages.push_back(Message(user ? "user" : "assistant", TextOr(message, "text", "")));
  }
  return messages;
}

json AnswerMessage(const GenerationAnswer& answer, const std::string& model) {
  json message = Message("assistant", answer.response);
  if (!answer.reasoning.empty()) {
    message["content"] = json::array(
        {{{"type", "reasoning"}, {"reasoning", answer.reasoning}}, {{"type", "text"}, {"text", answer.response}}});
  }
  message["source"] = "generate";
  message["model"] = model;
  return message;
}

const char* StopReason(const std::string& finish) {
  if (finish == "stop") return "stop";
  if (finish == "length") return "max_tokens";
  return finish == "refused" ? "content_filter" : "unknown";
}

std::string FirstUserText(const json& messages) {
  for (const json& message : messages) {
    if (message["role"] == "user") return message["content"];
  }
  return "";
}

// ---- Usage ---------------------------------------------------------------------------------------------------------

struct Spending {
  int64_t input = 0, cache_read = 0, cache_write = 0, output = 0, reasoning = 0;
  bool usage_known = true;
  std::optional<double> usd = 0.0;
};

Spending SpentOn(const std::vector<GenerationAnswer>& answers) {
  Spending spent;
  for (const GenerationAnswer& answer : answers) {
    spent.input += answer.input.value_or(0);
    spent.cache_read += answer.cache_read.value_or(0);
    spent.cache_write += answer.cache_write.value_or(0);
    spent.output += answer.output.value_or(0);
    spent.reasoning += answer.reasoning_tokens.value_or(0);
    spent.usage_known &= answer.input && answer.output;
    if (!answer.cost_usd) spent.usd.reset();
    if (spent.usd) *spent.usd += *answer.cost_usd;
  }
  return spent;
}

json UsageJson(const Spending& spent) {
  json usage = {{"input_tokens", spent.input},
                {"output_tokens", spent.output},
                {"total_tokens", spent.input + spent.cache_read + spent.cache_write + spent.output},
                {"input_tokens_cache_read", spent.cache_read},
                {"input_tokens_cache_write", spent.cache_write},
                {"reasoning_tokens", spent.reasoning}};
  if (spent.usd) usage["total_cost"] = *spent.usd;
  return usage;
}

void AddConversation(const std::vector<GenerationAnswer>& answers, const std::string& model, json* sample) {
  const GenerationAnswer& last = answers.back();
  json& messages = (*sample)["messages"] = PromptMessages(last);
  (*sample)["input"] = FirstUserText(messages);
  messages.push_back(AnswerMessage(last, model));
  json& output = (*sample)["output"];
  output = {{"model", model},
            {"choices", {{{"message", messages.back()}, {"stop_reason", StopReason(last.finish)}}}},
            {"completion", last.response}};
  const Spending spent = SpentOn(answers);
  if (spent.usage_known) {
    (*sample)["model_usage"] = {{model, UsageJson(spent)}};
    output["usage"] = UsageJson(SpentOn({last}));
  }
  json& metadata = (*sample)["metadata"];
  metadata["answers"] = answers.size();
  metadata["tokens"] = spent.usage_known ? UsageJson(spent)["total_tokens"] : json();
  metadata["cost_usd"] = NumberOrNull(spent.usd);
  double seconds = 0;
  for (const GenerationAnswer& answer : answers) seconds += answer.seconds;
  (*sample)["total_time"] = seconds;
}

void AddSourceAlone(const ScoreRow& row, const std::string& source, const std::string& model, json* sample) {
  json message = Message("assistant", source.empty() ? "" : Fenced(source, FenceLanguage(row.path)));
  message["source"] = "generate";
  message["model"] = model;
  (*sample)["input"] = fmt::format("Problem {}, size {}. The candidate is {}.", row.problem, row.size, row.path);
  (*sample)["messages"] = json::array({Message("user", (*sample)["input"]), message});
  (*sample)["output"] = {{"model", model},
                         {"choices", {{{"message", message}, {"stop_reason", "stop"}}}},
                         {"completion", message["content"]}};
}

// ---- Score ---------------------------------------------------------------------------------------------------------

std::string Explanation(const ScoreRow& row, const json& evaluation) {
  const std::string reason = TextOr(evaluation, "reason", "");
  if (row.verdict != "correct") return fmt::format("{}: {}", row.verdict, reason);
  if (!row.speedup) {
    const std::string why = reason.empty() ? TextOr(evaluation, "no_speedup", "it was not measured") : reason;
    return fmt::format("correct, without a speedup: {}", why);
  }
  std::string text = fmt::format("correct: {:.3g} times as fast as {}", *row.speedup, row.baseline);
  if (row.low && row.high) text += fmt::format(" [{:.3g}, {:.3g}]", *row.low, *row.high);
  return text;
}

json ScoreJson(const ScoreRow& row, const json& evaluation, const std::string& source) {
  const bool correct = row.verdict == "correct";
  json metadata = {{"evaluation", row.id},
                   {"verdict", row.verdict},
                   {"reason", MemberOf(evaluation, "reason")},
                   {"speedup_interval", MemberOf(evaluation, "speedup_interval")},
                   {"no_speedup", MemberOf(evaluation, "no_speedup")},
                   {"baseline", row.baseline},
                   {"baseline_us", NumberOrNull(row.baseline_us)},
                   {"candidate_us", NumberOrNull(row.candidate_us)},
                   {"device", row.device},
                   {"device_name", row.device_name},
                   {"protocol", row.protocol},
                   {"size", row.size},
                   {"torch", row.torch},
                   {"problem_sha256", row.problem_sha256}};
  if (const json mismatch = MemberOf(evaluation, "mismatch"); mismatch.is_object()) metadata["mismatch"] = mismatch;
  const std::string said = TextOr(MemberOf(evaluation, "evidence"), kCompilerOutput, "");
  if (!said.empty()) metadata[kCompilerOutput] = said;
  json notes = json::array();
  for (const json& note : MemberOf(evaluation, "notes")) notes.push_back(TextOr(note, "text", ""));
  metadata["notes"] = std::move(notes);
  json speedup = correct ? NumberOrNull(row.speedup) : json(0);
  json score = {{"value", {{"speedup", std::move(speedup)}, {"correct", correct ? 1 : 0}}},
                {"explanation", Explanation(row, evaluation)},
                {"metadata", std::move(metadata)}};
  if (!source.empty()) score["answer"] = source;
  return score;
}

}  // namespace

std::string InspectModel(const std::string& model) { return model.empty() ? "none" : model; }

std::optional<std::string> InspectTime(const std::string& created) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (created.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = '0' <= created[i] && created[i] <= '9';
    if (kForm[i] == 'd' ? !digit : created[i] != kForm[i]) return std::nullopt;
  }
  return created.substr(0, created.size() - 1) + "+00:00";
}

Result<Conversations> Conversations::Of(const Store& store, const std::string& run) {
  Conversations conversations;
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, store.Requests(run));
  for (const GenerationRequest& request : requests) {
    conversations.requests_[{request.model, request.problem, request.candidate}] = request.id;
  }
  return conversations;
}

Result<std::vector<GenerationAnswer>> Conversations::AnswersFor(const Store& store, const ScoreRow& row) const {
  const auto found = requests_.find({row.model, row.problem, row.sample.value_or(-1)});
  if (found == requests_.end()) return std::vector<GenerationAnswer>();
  KB_ASSIGN_OR_RETURN(std::vector<GenerationAnswer> answers, store.AnswersTo(found->second));
  // Somebody may have judged another text as that sample since.
  if (!answers.empty() && !answers.back().source_sha256.empty() && answers.back().source_sha256 != row.sha256) {
    answers.clear();
  }
  return answers;
}

Result<json> MakeInspectSample(const Store& store, const Conversations& conversations, const InspectLog& log,
                               const ScoreRow& row, int64_t epoch) {
  json evaluation = json::object();
  std::string source;
  if (!row.verdict.empty()) {
    KB_ASSIGN_OR_RETURN(evaluation, store.Get(row.id));
    source = TextOr(MemberOf(evaluation, "candidate"), "source", "");
  } else if (auto stored = store.Source(row.sha256)) {
    source = std::move(*stored);
  }
  const std::string model = InspectModel(log.model);
  json sample = {{"id", row.problem},
                 {"epoch", epoch},
                 {"target", ""},
                 {"metadata", {{"problem", row.problem}, {"run", log.run}, {"candidate", row.path}}}};
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> answers, conversations.AnswersFor(store, row));
  if (answers.empty()) {
    AddSourceAlone(row, source, model, &sample);
  } else {
    AddConversation(answers, model, &sample);
  }
  if (const auto unscored = log.unscored.find(row.problem); unscored != log.unscored.end()) {
    sample["metadata"]["unscored"] = unscored->second;
  }
  if (const auto time = InspectTime(row.created)) sample["completed_at"] = *time;
  if (row.verdict.empty()) {
    sample["error"] = {{"message", row.reason}, {"traceback", row.reason}, {"traceback_ansi", row.reason}};
  } else {
    sample["uuid"] = row.id;
    sample["scores"] = {{kInspectScorer, ScoreJson(row, evaluation, source)}};
  }
  return sample;
}

json InspectSummary(const json& sample) {
  constexpr size_t kMostText = 1000;
  json summary = {{"completed", true}, {"message_count", sample["messages"].size()}};
  for (const char* key :
       {"id", "epoch", "input", "target", "metadata", "model_usage", "completed_at", "total_time", "uuid", "scores"}) {
    if (const auto found = sample.find(key); found != sample.end()) summary[key] = *found;
  }
  if (const auto error = sample.find("error"); error != sample.end()) summary["error"] = error->at("message");
  const auto cut = [](json* text) {
    if (text->is_string() && text->get_ref<const std::string&>().size() > kMostText) {
      *text = text->get_ref<const std::string&>().substr(0, kMostText) + "...";
    }
  };
  cut(&summary["input"]);
  if (!summary.contains("scores")) return summary;
  json& score = summary["scores"][kInspectScorer];
  score.erase("answer");
  cut(&score["explanation"]);
  cut(&score["metadata"]["reason"]);
  for (const char* longer : {"notes", "mismatch", kCompilerOutput}) score["metadata"].erase(longer);
  return summary;
}

}  // namespace kb
