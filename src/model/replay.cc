#include "model/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

// One line: whom it answers, and with what.
struct Answer {
  std::optional<std::string> problem;
  std::optional<int> sample, turn;
  std::string when;  // the last message must hold it, in its text or results
  double wait_s = 0;
  Completion completion;
};

// The first thing wrong with a member; empty if none.
std::string ReadMember(const std::string& key, const json& value, Answer* answer) {
  const auto count = [&](auto* target, const char* wanted = "a whole number from 0") -> std::string {
    if (!value.is_number_integer() || value < 0 || value > 2'000'000'000) return key + " should be " + wanted;
    *target = value.get<int>();
    return "";
  };
  const auto text = [&](auto* target) -> std::string {
    if (!value.is_string()) return key + " should be a text";
    *target = value.get<std::string>();
    return "";
  };
  const auto number = [&](auto* target) -> std::string {
    if (!value.is_number() || !(value.get<double>() >= 0)) return key + " should be a number from 0";
    *target = value.get<double>();
    return "";
  };
  Completion& completion = answer->completion;
  if (key == "problem") return text(&answer->problem);
  if (key == "sample") return count(&answer->sample);
  if (key == "turn") return count(&answer->turn);
  if (key == "when") return text(&answer->when);
  if (key == "wait_s") return number(&answer->wait_s);
  if (key == "text") return text(&completion.text);
  if (key == "reasoning") return text(&completion.reasoning);
  if (key == "model") return text(&completion.model);
  if (key == "cost_usd") return number(&completion.cost_usd);
  if (key == "finish") {
    const auto finish = value == "stop"      ? FinishReason::kStop
                        : value == "length"  ? FinishReason::kLength
                        : value == "refused" ? FinishReason::kRefused
                                             : FinishReason::kUnknown;
    completion.finish = finish;
    return finish == FinishReason::kUnknown && value != "unknown" ? "finish should be stop, length, refused or unknown"
                                                                  : "";
  }
  return key + " is no member of an answer (docs/reference/models.md)";
}

std::string ReadUsage(const json& usage, Usage* counted) {
  if (!usage.is_object()) return "usage should be an object";
  const std::pair<const char*, std::optional<int64_t>*> members[] = {{"input", &counted->input},
                                                                     {"cache_read", &counted->cache_read},
                                                                     {"cache_write", &counted->cache_write},
                                                                     {"output", &counted->output},
                                                                     {"reasoning", &counted->reasoning}};
  for (const auto& [key, value] : usage.items()) {
    const auto* at =
        std::find_if(std::begin(members), std::end(members), [&name = key](const auto& m) { return name == m.first; });
    if (at == std::end(members) || !value.is_number_integer() || value < 0) {
      return "usage should have whole numbers input, cache_read, cache_write, output, reasoning";
    }
    *at->second = value.get<int64_t>();
  }
  return "";
}

std::string ReadCalls(const json& calls, std::vector<ToolCall>* read) {
  const std::string wanted = "calls should be a list of objects with id, name and arguments, a text or an object";
  if (!calls.is_array()) return wanted;
  for (const json& call : calls) {
    if (!call.is_object() || call.size() != 3 || !call.contains("arguments")) return wanted;
    const json& arguments = call["arguments"];
    ToolCall each;
    for (const auto& [key, text] : {std::pair("id", &each.id), std::pair("name", &each.name)}) {
      if (!call.contains(key) || !call[key].is_string()) return wanted;
      *text = call[key].get<std::string>();
    }
    if (!arguments.is_string() && !arguments.is_object()) return wanted;
    each.arguments = arguments.is_string() ? arguments.get<std::string>() : Dump(arguments);
    read->push_back(std::move(each));
  }
  return "";
}

Result<Answer> ParseAnswer(const std::string& line, const std::string& place) {
  const json value = json::parse(ValidUtf8(line), nullptr, false);
  Answer answer;
  answer.completion.finish = FinishReason::kStop;
  answer.completion.model = "replay";
  if (!value.is_object()) return Fail(ErrorCode::kUsage, place + ": is no JSON object");
  for (const auto& [key, member] : value.items()) {
    const std::string wrong = key == "usage"   ? ReadUsage(member, &answer.completion.usage)
                              : key == "calls" ? ReadCalls(member, &answer.completion.calls)
                                               : ReadMember(key, member, &answer);
    if (!wrong.empty()) return Fail(ErrorCode::kUsage, place + ": " + wrong);
  }
  if (answer.completion.finish == FinishReason::kStop && !answer.completion.calls.empty()) {
    answer.completion.finish = FinishReason::kToolCalls;
  }
  return answer;
}

Result<std::vector<Answer>> ReadLines(const fs::path& path) {
  KB_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, size_t{1} << 30));
  std::vector<Answer> answers;
  std::istringstream stream(contents);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    KB_ASSIGN_OR_RETURN(Answer answer, ParseAnswer(line, fmt::format("{}:{}", path.string(), number)));
    answers.push_back(std::move(answer));
  }
  return answers;
}

class ReplayProvider : public Provider {
 public:
  ReplayProvider(fs::path path, std::vector<Answer> answers)
      : path_(std::move(path)), is_directory_(fs::is_directory(path_)), answers_(std::move(answers)) {}

  Result<Completion> Complete(const CompletionRequest& request, const std::function<bool()>& stop) override {
    KB_ASSIGN_OR_RETURN(const Answer answer, Find(request));
    const auto start = std::chrono::steady_clock::now();
    const auto until = start + std::chrono::duration<double>(answer.wait_s);
    do {
      if (stop && stop()) return Fail(ErrorCode::kInterrupted, "interrupted");
      const auto left = until - std::chrono::steady_clock::now();
      if (left > left.zero()) std::this_thread::sleep_for(std::min<decltype(left)>(left, milliseconds(100)));
    } while (std::chrono::steady_clock::now() < until);
    Completion completion = answer.completion;
    completion.text = ValidUtf8(completion.text);
    completion.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return completion;
  }

 private:
  Result<Answer> Find(const CompletionRequest& request) const {
    std::string last;
    if (!request.messages.empty()) {
      for (const ToolResult& result : request.messages.back().results) last += result.text + '\n';
      last += request.messages.back().text;
    }
    for (const Answer& answer : answers_) {
      const bool fits = (!answer.problem || *answer.problem == request.problem) &&
                        (!answer.sample || *answer.sample == request.sample) &&
                        (!answer.turn || *answer.turn == request.turn) && last.find(answer.when) != std::string::npos;
      if (fits) return answer;
    }
    const fs::path stem = path_ / request.problem / fmt::format("{}.{}", request.sample, request.turn);
    if (is_directory_ && fs::exists(stem.string() + ".txt")) return FromFiles(stem.string());
    if (request.problem.empty()) {  // kernelbench models --try
      return Fail(
          ErrorCode::kUsage,
          fmt::format("{} has no answer to a question that belongs to no problem: only a line without \"problem\" "
                      "would answer it (docs/reference/models.md)",
                      path_.string()));
    }
    return Fail(ErrorCode::kUsage,
                fmt::format("{} has no answer for problem {}, sample {}, turn {}{}", path_.string(), request.problem,
                            request.sample, request.turn,
                            is_directory_ ? fmt::format(": neither {}.txt nor a line in answers.jsonl", stem.string())
                                          : std::string()));
  }

  static Result<Answer> FromFiles(const std::string& stem) {
    std::string members = "{}";
    if (fs::exists(stem + ".json")) {
      KB_ASSIGN_OR_RETURN(members, ReadFile(stem + ".json"));
    }
    KB_ASSIGN_OR_RETURN(Answer answer, ParseAnswer(members, stem + ".json"));
    KB_ASSIGN_OR_RETURN(answer.completion.text, ReadFile(stem + ".txt"));
    return answer;
  }

  const fs::path path_;
  const bool is_directory_;
  const std::vector<Answer> answers_;
};

}  // namespace

Result<std::unique_ptr<Provider>> OpenReplay(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return Fail(ErrorCode::kUsage, fmt::format("there is no {} to answer from", path.string()));
  }
  std::vector<Answer> answers;
  const fs::path lines = fs::is_directory(path) ? path / "answers.jsonl" : path;
  if (fs::exists(lines)) {
    KB_ASSIGN_OR_RETURN(answers, ReadLines(lines));
  }
  return std::make_unique<ReplayProvider>(path, std::move(answers));
}

}  // namespace kb
