// kernelbench models, against a provider of the test's own.

#include <fmt/format.h>

#include "harness.h"
#include "model/test_server.h"
#include "model/test_streams.h"

namespace kb::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kModelsKey[] = "sk-secret-0123456789";

using ModelsTest = EngineTest;

TEST_F(ModelsTest, ListsWhatIsConfiguredAndNeverAKey) {
  const std::string file = Write("models.toml", R"(
    [models.big]
    provider = "anthropic"
    model = "claude-opus-5"
    [models.mine]
    provider = "vllm"
    model = "m"
    key_env = "KB_LAB_KEY"
    price = { input = 0.5, output = 1 }
    [models.other]
    provider = "openai"
    model = "nobody-knows"
  )");
  const Environment keys = {{"ANTHROPIC_API_KEY", kModelsKey}};
  const Ended ended = Run({"models", "--models-file", file}, keys);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("ANTHROPIC_API_KEY is set"), HasSubstr("input $5"), HasSubstr("table of 20"),
                               HasSubstr("KB_LAB_KEY is not usable"), HasSubstr("input $0.5, output $1"),
                               HasSubstr("price unknown"), Not(HasSubstr(kModelsKey))));
  const Ended listed = Run({"models", "--json"}, {{"ANTHROPIC_API_KEY", kModelsKey}, {"KERNELBENCH_MODELS", file}});
  ASSERT_EQ(listed.Lines().size(), 3u) << listed;
  EXPECT_EQ(listed.Lines()[0]["key_set"], true);
  EXPECT_EQ(listed.Lines()[1]["key_set"], false);
  EXPECT_EQ(listed.Lines()[2]["price"], nullptr);
  EXPECT_THAT(listed.out, Not(HasSubstr(kModelsKey)));
}

TEST_F(ModelsTest, TriesAModel) {
  TestServer server([](const ServedRequest& request, int, ServedConnection* connection) {
    if (request.headers.at("authorization") != std::string("Bearer ") + kModelsKey) {
      return connection->Send(PlainAnswer("401 Unauthorized", "Content-Type: application/json\r\n",
                                          json{{"error", {{"message", request.headers.at("authorization")}}}}.dump()));
    }
    connection->Send(StreamHead() + Chunk(Joined(ChatStream({"a function ", "for many \x1b[31mthreads"}))) + Chunk(""));
  });
  const std::string file = Write("models.toml", fmt::format(R"(
    [models.mine]
    provider = "openai"
    model = "m"
    base_url = "{}/v1"
    price = {{ input = 1, cache_read = 0.1, output = 2 }}
  )",
                                                            server.url()));
  const Arguments arguments = {"models", "--models-file", file, "--try", "mine"};
  const Ended ended = Run(arguments, {{"OPENAI_API_KEY", kModelsKey}});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("a function for many "), Not(HasSubstr("\x1b")), HasSubstr("served-model"),
                               HasSubstr("input 60, cache read 40, cache write unknown, output 50 (reasoning 20)"),
                               HasSubstr("cost: $0.000164")));
  EXPECT_EQ(server.requests()[0].target, "/v1/chat/completions");

  Arguments with_json = arguments;
  with_json.emplace_back("--json");
  const Ended tried = Run(with_json, {{"OPENAI_API_KEY", kModelsKey}});
  ASSERT_EQ(tried.Lines().size(), 1u) << tried;
  EXPECT_EQ(tried.Lines()[0]["answer"]["usage"]["output"], 50);
  EXPECT_NEAR(tried.Lines()[0]["answer"]["cost_usd"].get<double>(), 0.000164, 1e-12);

  const Ended refused = Run(arguments, {{"OPENAI_API_KEY", "sk-wrong-key-987654"}});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("HTTP 401: Bearer [OPENAI_API_KEY]"), Not(HasSubstr("sk-wrong"))));
  const Ended without = Run(arguments);
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("put it into the environment variable OPENAI_API_KEY"));
  const Ended unknown = Run({"models", "--models-file", file, "--try", "yours"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no model \"yours\""), HasSubstr("mine")));
}

TEST_F(ModelsTest, AFileThatNamesNoModelIsNotAMissingOne) {
  const std::string file = Write("empty.toml", "");
  EXPECT_THAT(Run({"models", "--models-file", file}).out, HasSubstr(file + " names no models"));
  EXPECT_THAT(Run({"models"}, {{"KERNELBENCH_MODELS", file}}).out, HasSubstr(file + " names no models"));
  EXPECT_THAT(Run({"models"}).out, HasSubstr("no models.toml"));
}

TEST_F(ModelsTest, AReplayNeedsNoNetworkAndNoLibcurl) {
  const std::string answers = Write("answers.jsonl", R"({"text": "from a file", "usage": {"input": 3, "output": 4}})");
  const Ended ended = Run({"models", "--try", "replay:" + answers}, {{"LD_DEBUG", "libs"}});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("from a file"), HasSubstr("cost: unknown")));
  EXPECT_THAT(ended.err, AllOf(HasSubstr("libsqlite3"), Not(HasSubstr("libcurl"))));
  const std::string for_problems = Write("problems.jsonl", R"({"problem": "1/19", "text": "a candidate"})");
  const Ended unanswered = Run({"models", "--try", "replay:" + for_problems});
  EXPECT_EQ(unanswered.code, 2) << unanswered;
  EXPECT_THAT(unanswered.err, AllOf(HasSubstr(for_problems), HasSubstr("a line without \"problem\"")));
}

}  // namespace
}  // namespace kb::e2e
