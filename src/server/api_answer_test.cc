// What a model answered, in place of a candidate.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

#include "base/fd.h"
#include "server/api_test_util.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST_F(ApiTest, AnAnswerWithoutACandidateHasAVerdict) {
  judging_.judge = [](const kb::Request& request) -> Result<Evaluation> {
    Evaluation evaluation;
    evaluation.verdict = request.candidate.rejection.empty() ? Verdict::kIncorrect : Verdict::kStaticRejected;
    evaluation.reason = request.candidate.rejection;
    return evaluation;
  };
  const std::string token = TokenFile(path("tokens.json")).Add({.name = "trainer"}).value();
  Serve("127.0.0.1:0");
  const auto of = [](const std::string& answer) {
    return json{{"problem", "1/19"}, {"answer", answer}, {"idempotency_key", answer.substr(0, 9)}};
  };
  const std::string whole = "Like this:\n```python\nimport torch\nclass ModelNew(torch.nn.Module): a = 1\n```\n";
  const json asked = {{"reward", "staged"}, {"evaluations", {of("It depends."), of(whole), of("Well.")}}};
  const auto [status, told] = Post("/v1/rewards", asked, token);
  ASSERT_EQ(status, 200) << told;
  const json& none = told["rewards"][0];
  EXPECT_EQ(none["reward"], 0);
  EXPECT_EQ(none["evaluation"]["verdict"], "static_rejected");
  EXPECT_EQ(none["evaluation"]["reason"], none["evaluation"]["extraction"]["reason"]);
  EXPECT_EQ(told["rewards"][1]["evaluation"]["verdict"], "incorrect");
  EXPECT_EQ(told["rewards"][1]["evaluation"]["extraction"]["outcome"], "found");
  EXPECT_TRUE(told["rewards"][1]["evaluation"]["extraction"]["reason"] == "");
  // Two that hold nothing are not the same.
  json other = of("Well, well.");
  other["idempotency_key"] = "Well.";
  EXPECT_THAT(Detail(Post("/v1/evaluations", other, token)), HasSubstr("409 "));
  EXPECT_EQ(Post("/v1/evaluations", of("Well."), token).second["id"], told["rewards"][2]["evaluation"]["id"]);
}

// Looking for a candidate in a long answer takes seconds.
TEST_F(ApiTest, FewLongAnswersAreReadAtOnce) {
  const std::vector<std::string> names = {"level1/20_A.py", "level1/21_B.py"};
  for (const std::string& name : names) WriteProblem(name, kProblem);
  reader_ = std::make_shared<const OrderReader>(path("problems"), std::string(KB_SOURCE_DIR) + "/protocols", "cpu");
  Serve();
  const std::string answer(300'000, 'x');
  const auto post = [&](const std::string& problem, const std::string& text) {
    return Post("/v1/evaluations", {{"problem", problem}, {"size", "small"}, {"answer", text}});
  };
  // Each waits for the text of its problem.
  std::vector<std::future<std::pair<int, json>>> read;
  std::vector<Fd> writers;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string pipe = path("problems") / names[i];
    std::filesystem::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    read.push_back(std::async(std::launch::async, post, "1/2" + std::to_string(i), answer));
    EXPECT_TRUE(Soon([&] {
      Fd writer(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      const bool reads = writer.valid();
      if (reads) writers.push_back(std::move(writer));
      return reads;
    }));
  }
  EXPECT_EQ(Detail(post("1/19", answer)), "503 other long answers are being read: try again");
  EXPECT_THAT(post("1/19", "short").first, AnyOf(200, 202));
  for (Fd& writer : writers) {
    EXPECT_EQ(::write(writer.get(), kProblem, sizeof kProblem - 1), static_cast<ssize_t>(sizeof kProblem - 1));
    writer = Fd();
  }
  for (auto& each : read) EXPECT_THAT(each.get().first, AnyOf(200, 202));
  EXPECT_THAT(post("1/19", answer).first, AnyOf(200, 202));
}

TEST_F(ApiTest, AQuotaIsLookedAtBeforeTheRequest) {
  const std::string token = TokenFile(path("tokens.json")).Add({.name = "ann", .queued = 1}).value();
  std::promise<void> go;
  judging_.judge = [going = go.get_future().share()](const kb::Request&) -> Result<Evaluation> {
    going.wait();
    return Evaluation();
  };
  Serve("127.0.0.1:0");
  EXPECT_EQ(Post("/v1/evaluations", Request("one"), token).first, 202);
  const json unread = {{"problem", "1/19"}, {"size", "small"}, {"answer", "x"}, {"backend", "none"}};
  EXPECT_EQ(Post("/v1/evaluations", unread, token).first, 429);
  go.set_value();
  EXPECT_TRUE(Soon([&] { return desk_->OpenOf("ann") == 0; }));
  EXPECT_THAT(Detail(Post("/v1/evaluations", unread, token)), HasSubstr("400 /backend: "));
}

}  // namespace
}  // namespace kb::server
