// Fault -> behaviour, against a real server: the table of docs/reference/models.md is what is observed here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <future>

#include "base/file.h"
#include "model/open_model.h"
#include "model/test_server.h"
#include "model/test_streams.h"

namespace kb {
namespace {

constexpr char kSecret[] = "sk-test-0123456789abcdef";
constexpr std::chrono::milliseconds kShort{400};
constexpr char kFaultAnswer[] = "fine \xE2\x82\xAC";

struct Fault {
  const char* name;
  std::function<void(Wire, ServedConnection*)> answer;
  bool hangs = false;  // so that waiting for it should be short
};

std::string Json(const std::string& type, const std::string& message) {
  return nlohmann::json{{"type", "error"}, {"error", {{"type", type}, {"message", message}}}}.dump();
}

std::string JsonAnswer(const char* status, const std::string& body, const std::string& headers = "") {
  return PlainAnswer(status, headers + "Content-Type: application/json\r\n", body);
}

// A fault that is one answer with these bytes, after which the connection closes or not.
Fault Bytes(const char* name, std::string bytes, bool close = false) {
  return {name, [=](Wire, ServedConnection* connection) {
            connection->Send(bytes);
            if (close) connection->Close();
          }};
}

Fault Status(const char* name, const char* status, const char* type, const char* message, const char* headers = "") {
  return Bytes(name, JsonAnswer(status, Json(type, message), headers));
}

// The stream of an answer up to somewhere in the middle, and then something else.
Fault Half(const char* name, std::function<void(ServedConnection*)> then, bool hangs = false) {
  return {name,
          [=](Wire wire, ServedConnection* connection) {
            const std::vector<std::string> events = StreamOf(wire, {"one", "two", "three"});
            connection->Send(StreamHead() + Chunk(Joined(events, 5)));
            then(connection);
          },
          hangs};
}

// All of an answer but the end mark, and then the end of the stream in some way.
Fault LacksItsEnd(const char* name, std::function<void(ServedConnection*)> then, bool hangs = false) {
  return {name,
          [=](Wire wire, ServedConnection* connection) {
            const std::vector<std::string> events = StreamOf(wire, {"fine ", "\xE2\x82\xAC"});
            connection->Send(StreamHead() + Chunk(Joined(events, events.size() - 1)));
            then(connection);
          },
          hangs};
}

std::string DateIn(int seconds) {
  const std::time_t at = std::time(nullptr) + seconds;
  std::tm utc{};
  gmtime_r(&at, &utc);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

std::vector<Fault> Refusals() {
  return {
      Status("429", "429 Too Many Requests", "rate_limit_error", "slow down"),
      Status("429 with Retry-After: 3600", "429 Too Many Requests", "rate_limit_error", "slow down",
             "Retry-After: 3600\r\n"),
      {"429 with Retry-After: a date",
       [](Wire, ServedConnection* connection) {
         connection->Send(JsonAnswer("429 Too Many Requests", Json("rate_limit_error", "slow down"),
                                     "Retry-After: " + DateIn(3600) + "\r\n"));
       }},
      Status("429, but the account is empty", "429 Too Many Requests", "insufficient_quota", "check your plan"),
      Status("408", "408 Request Timeout", "timeout_error", "too slow"),
      Status("409", "409 Conflict", "conflict", "try again"),
      Status("500", "500 Internal Server Error", "api_error", "internal error"),
      Bytes("503 with a page of HTML",
            PlainAnswer("503 Service Unavailable", "Content-Type: text/html\r\n", "<html><body>down</body></html>")),
      Status("529 (overloaded)", "529 Overloaded", "overloaded_error", "Overloaded"),
      Status("400", "400 Bad Request", "invalid_request_error", "max_tokens: must be below 8192"),
      {"401 that repeats the key",
       [](Wire, ServedConnection* connection) {
         connection->Send(
             JsonAnswer("401 Unauthorized", Json("authentication_error", fmt::format("{} is no valid key", kSecret))));
       }},
      Status("403", "403 Forbidden", "permission_error", "not allowed"),
      Status("404", "404 Not Found", "not_found_error", "model: some-model"),
      Status("422", "422 Unprocessable Entity", "invalid_request_error", "temperature is out of range"),
      Bytes("redirected to another host",
            PlainAnswer("302 Found", "Location: http://elsewhere.example/v1/messages\r\n", "")),
  };
}

std::vector<Fault> Breakages() {
  const auto hang = [](ServedConnection* connection) { connection->Hang(); };
  const auto close = [](ServedConnection* connection) { connection->Close(); };
  return {
      {"no answer at all", [=](Wire, ServedConnection* connection) { hang(connection); }, true},
      Bytes("closes without an answer", "", true),
      Half("hangs in the middle of the stream", hang, true),
      Half("closes in the middle of the stream", close),
      Half("ends in order, but without the end mark",
           [](ServedConnection* connection) { connection->Send(Chunk("")); }),
      Half("an error event in the stream",
           [](ServedConnection* connection) {
             connection->Send(Chunk("event: error\ndata: " + Json("overloaded_error", "Overloaded") + "\n\n"));
             connection->Send(Chunk(""));
           }),
      Half("an error event that blames the request",
           [](ServedConnection* connection) {
             connection->Send(
                 Chunk("event: error\ndata: " + Json("invalid_request_error", "prompt is too long") + "\n\n"));
             connection->Send(Chunk(""));
           }),
      Half("something else than JSON in the stream",
           [](ServedConnection* connection) { connection->Send(Chunk("data: {\"cut\n\n") + Chunk("")); }),
      Bytes("200 with an error body", JsonAnswer("200 OK", Json("api_error", "internal error"))),
      Bytes("200 with an error body that blames the request",
            JsonAnswer("200 OK", Json("invalid_request_error", "unknown model"))),
      Bytes("200 with a page of HTML",
            PlainAnswer("200 OK", "Content-Type: text/html\r\n", "<!DOCTYPE html><p>Sign in</p>")),
      Bytes("200 with an empty body", PlainAnswer("200 OK", "", "")),
      Bytes("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", true),
  };
}

std::vector<Fault> Oddities() {
  const auto stream = [](const char* name, auto change) {
    return Fault{name, [=](Wire wire, ServedConnection* connection) {
                   connection->Send(StreamHead());
                   change(Joined(StreamOf(wire, {"fine ", "\xE2\x82\xAC"})), connection);
                 }};
  };
  return {
      stream("stream in pieces of one byte",
             [](const std::string& all, ServedConnection* connection) {
               for (const char& byte : all) connection->Send(Chunk({&byte, 1}));
               connection->Send(Chunk(""));
             }),
      stream("end mark, then nothing and no close",
             [](const std::string& all, ServedConnection* connection) {
               connection->Send(Chunk(all));
               connection->Hang();
             }),
      LacksItsEnd("no end mark after the reason to end",
                  [](ServedConnection* connection) { connection->Send(Chunk("")); }),
      LacksItsEnd("closes after the reason to end", [](ServedConnection* connection) { connection->Close(); }),
      LacksItsEnd(
          "hangs after the reason to end", [](ServedConnection* connection) { connection->Hang(); }, true),
      {"stream under another content type",
       [](Wire wire, ServedConnection* connection) {
         connection->Send(StreamHead("application/octet-stream") +
                          Chunk(Joined(StreamOf(wire, {"fine ", "\xE2\x82\xAC"}))) + Chunk(""));
       }},
      {"one JSON object instead of a stream",
       [](Wire wire, ServedConnection* connection) {
         connection->Send(JsonAnswer("200 OK", WholeOf(wire, kFaultAnswer)));
       }},
      {"an answer over max_answer_bytes",
       [](Wire wire, ServedConnection* connection) {
         connection->Send(StreamHead() + Chunk(Joined(StreamOf(wire, {std::string(5000, 'x')}))) + Chunk(""));
       }},
  };
}

struct Observed {
  size_t calls = 0;
  std::string error;  // empty: answered
};

// One question to a provider with this fault, `always` or in its first answer only; two attempts are allowed.
Observed AskFaulty(const Fault& fault, Wire wire, bool always) {
  TestServer server([&](const ServedRequest&, int number, ServedConnection* connection) {
    if (always || number == 0) return fault.answer(wire, connection);
    connection->Send(StreamHead() + Chunk(Joined(StreamOf(wire, {"fine ", "\xE2\x82\xAC"}))) + Chunk(""));
  });
  ModelSettings settings = QuickSettings(wire, server.url());
  if (fault.hangs) settings.timeouts.first_byte = settings.timeouts.between_bytes = kShort;
  settings.max_answer_bytes = 1000;
  settings.retry.attempts = 2;
  const auto provider = OpenModel(settings);
  EXPECT_TRUE(provider);
  const auto result = (*provider)->Complete({.model = "some-model", .messages = {{Role::kUser, "hello"}}}, nullptr);
  const size_t calls = server.requests().size();
  if (result) {
    EXPECT_EQ(static_cast<size_t>(result->attempts), calls) << fault.name;
    EXPECT_EQ(result->text, kFaultAnswer) << fault.name;
    return {calls, ""};
  }
  std::string message = result.error().message;
  const std::string who = "tested (" + server.url() + "): ";
  EXPECT_EQ(result.error().code, calls == 1 ? ErrorCode::kUsage : ErrorCode::kUnavailable) << fault.name;
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr(kSecret)));
  EXPECT_TRUE(message.starts_with(who)) << message;
  return {calls, message.substr(std::min(who.size(), message.size()))};
}

std::string Line(const Fault& fault, const Observed& once, const Observed& always) {
  const char* what = !once.error.empty() ? "error at once" : once.calls == 1 ? "answered" : "tried again";
  return fmt::format("| {} | {} | {} |\n", fault.name, what, always.error.empty() ? "" : "`" + always.error + "`");
}

TEST(FaultTest, AKeyInAnAnswerIsNotKept) {
  setenv("KB_TEST_KEY", kSecret, 1);
  for (const Wire wire : kWires) {
    TestServer server([wire](const ServedRequest&, int, ServedConnection* connection) {
      connection->Send(StreamHead() + Chunk(Joined(StreamOf(wire, {"your key is sk-test-01", "23456789abcdef."}))) +
                       Chunk(""));
    });
    const auto provider = OpenModel(QuickSettings(wire, server.url()));
    ASSERT_TRUE(provider);
    const auto result = (*provider)->Complete({.model = "some-model", .messages = {{Role::kUser, "hello"}}}, nullptr);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->text, "your key is [KB_TEST_KEY].");
  }
}

TEST(FaultTest, AnAnswerThatIsNoStreamIsReadWhole) {
  setenv("KB_TEST_KEY", kSecret, 1);
  const std::string text(300 << 10, 'x');  // longer than what is kept of an error
  for (const Wire wire : kWires) {
    TestServer server([&](const ServedRequest&, int call, ServedConnection* connection) {
      const char* type = call == 0 ? "Content-Type: application/json; charset=utf-8\r\n" : "";
      connection->Send(PlainAnswer("200 OK", type, WholeOf(wire, call == 0 ? text : "short")));
    });
    ModelSettings settings = QuickSettings(wire, server.url());
    settings.extra = {{"stream", false}};
    const auto provider = OpenModel(settings);
    ASSERT_TRUE(provider);
    const CompletionRequest request = {.model = "some-model", .messages = {{Role::kUser, "hello"}}};
    auto answer = (*provider)->Complete(request, nullptr);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->text, text);
    EXPECT_EQ(answer->reasoning, "hm");
    EXPECT_EQ(answer->finish, FinishReason::kStop);
    EXPECT_EQ(answer->model, "served-model");
    EXPECT_EQ(answer->attempts, 1);
    EXPECT_EQ(answer->usage.input, 60);
    EXPECT_EQ(answer->usage.cache_read, 40);
    EXPECT_EQ(answer->usage.output, 50);
    answer = (*provider)->Complete(request, nullptr);  // under no content type
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->text, "short");
    const auto sent = nlohmann::json::parse(server.requests()[0].body);
    EXPECT_EQ(sent["stream"], false);
    EXPECT_FALSE(sent.contains("stream_options"));
  }
}

// The table's lines as seen over one wire. All faults at once, for they mostly wait.
std::vector<std::string> LinesOf(const std::vector<Fault>& faults, Wire wire) {
  std::vector<std::future<Observed>> asked;
  for (const Fault& fault : faults) {
    for (const bool always : {false, true}) {
      asked.push_back(std::async(std::launch::async, AskFaulty, fault, wire, always));
    }
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < faults.size(); ++i) {
    const Observed once = asked[2 * i].get(), always = asked[2 * i + 1].get();
    lines.push_back(Line(faults[i], once, always));
  }
  return lines;
}

TEST(FaultTableTest, IsWhatTheDocumentationSays) {
  setenv("KB_TEST_KEY", kSecret, 1);
  std::vector<Fault> faults;
  for (auto& some : {Refusals(), Breakages(), Oddities()}) faults.insert(faults.end(), some.begin(), some.end());
  const std::vector<std::string> lines = LinesOf(faults, Wire::kChat);
  for (const Wire other : {Wire::kMessages, Wire::kResponses}) EXPECT_EQ(LinesOf(faults, other), lines);
  const std::string table =
      "| the provider | what happens | what is said if it stays so |\n|---|---|---|\n" + Joined(lines);
  const auto document = ReadFile(KB_SOURCE_DIR "/docs/reference/models.md");
  ASSERT_TRUE(document);
  if (document->find(table) == std::string::npos) {
    ADD_FAILURE() << "docs/reference/models.md should hold this table, which is what was observed:\n" << table;
  }
}

}  // namespace
}  // namespace kb
