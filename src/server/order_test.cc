#include "server/order.h"

#include <gmock/gmock.h>

#include "base/hash.h"
#include "server/service_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OrderTest : public ServiceTest {
 protected:
  // Why it is refused.
  std::string Refused(const json& request, const std::optional<std::string>& source = {}) const {
    const auto order = reader_->Read(request, false, source);
    EXPECT_FALSE(order) << request;
    if (order) return "";
    EXPECT_EQ(order.error().code, ErrorCode::kUsage) << order.error().message;
    return order.error().message;
  }
};

TEST_F(OrderTest, WhatIsLeftOutHasItsDefault) {
  const Order order = MakeOrder("class ModelNew: pass");
  EXPECT_EQ(order.problem.name, "1/19");
  EXPECT_EQ(order.problem_sha256, Sha256(kProblem));
  EXPECT_EQ(order.size, "standard");
  EXPECT_EQ(order.rules, "strict");
  EXPECT_EQ(order.name, "candidate.py");
  EXPECT_EQ(order.source, "class ModelNew: pass");
  EXPECT_EQ(order.priority, 0);
  EXPECT_EQ(order.deadline_s, 0);
  EXPECT_EQ(order.idempotency_key, "");
  EXPECT_EQ(order.run, "");
  EXPECT_EQ(order.sample, -1);
  EXPECT_TRUE(order.keep);
}

TEST_F(OrderTest, AProblemIsAFileOrAText) {
  json request = {{"problem_text", kProblem}, {"source", "x"}, {"size", "small"}, {"idempotency_key", "k"}};
  const auto order = reader_->Read(request, false);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_TRUE(order->problem.from_client);
  EXPECT_EQ(order->problem.text, kProblem);
  EXPECT_EQ(order->problem.name, "client:" + Sha256(kProblem)) << "and not 1/19, whose text it is";
  EXPECT_EQ(order->problem_sha256, Sha256(kProblem));
  // As it is stored, and read again.
  EXPECT_FALSE(order->request.contains("problem_text"));
  const auto again = reader_->Read(order->request, false, "x", kProblem);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->problem.from_client);
  EXPECT_EQ(again->problem.text, kProblem);
  EXPECT_THAT(Refused(order->request, "x"), HasSubstr("there is no problem client:")) << "nor can a client name it";

  request["problem"] = "1/19";
  EXPECT_THAT(Refused(request), HasSubstr("exactly one of problem and problem_text"));
  EXPECT_THAT(Refused({{"source", "x"}}), HasSubstr("exactly one of problem and problem_text"));
  EXPECT_THAT(Refused({{"problem_text", ""}, {"source", "x"}}), HasSubstr("/problem_text: "));
  EXPECT_THAT(Refused({{"problem_text", std::string(kMostProblemBytes + 1, '#')}, {"source", "x"}}),
              HasSubstr("/problem_text: "));
  EXPECT_THAT(Refused({{"problem_text", std::string("a\0b", 3)}, {"source", "x"}}), HasSubstr("NUL"));
  EXPECT_THAT(Refused({{"problem_text", kProblem}, {"source", "x"}, {"size", "large"}}), HasSubstr("has the sizes"));
  // Over the Unix socket a path is a file's, and a text is none the more trusted.
  const auto local = reader_->Read({{"problem_text", kProblem}, {"source", "x"}}, true);
  ASSERT_TRUE(local) << local.error().message;
  EXPECT_TRUE(local->problem.from_client);
}

TEST_F(OrderTest, EveryFieldIsRead) {
  const Order order = MakeOrder("int x;", {{"name", "relu.cpp"},
                                           {"size", "small"},
                                           {"device", "cpu"},
                                           {"protocol", "quick"},
                                           {"keys", {{"warmup_rounds", 3}, {"comparison", "allclose"}}},
                                           {"baseline", "compile-default"},
                                           {"priority", -5},
                                           {"deadline_s", 1.5},
                                           {"idempotency_key", "k"},
                                           {"run", "r"},
                                           {"model", "m"},
                                           {"sample", 4},
                                           {"keep", false}});
  ASSERT_EQ(order.name, "relu.cpp");
  EXPECT_EQ(order.size, "small");
  EXPECT_EQ(order.protocol->warmup_rounds, 3);
  EXPECT_EQ(order.rules, "quick, baseline=compile-default, comparison=allclose, warmup_rounds=3");
  EXPECT_EQ(order.priority, -5);
  EXPECT_EQ(order.deadline_s, 1.5);
  EXPECT_EQ(order.idempotency_key, "k");
  EXPECT_EQ(order.run, "r");
  EXPECT_EQ(order.model, "m");
  EXPECT_EQ(order.sample, 4);
  EXPECT_FALSE(order.keep);
  EXPECT_FALSE(order.request.contains("source")) << "it is stored by itself";
  EXPECT_FALSE(order.request.contains("idempotency_key"));
  const auto again = reader_->Read(order.request, false, order.source);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->rules, order.rules);
  EXPECT_EQ(again->name, "relu.cpp");
}

TEST_F(OrderTest, AFolderIsOneText) {
  const json files = {{"model_new.py", "class ModelNew: pass"}, {"kernels/relu.cpp", "int x;"}};
  const auto order = reader_->Read({{"problem", "1/19"}, {"files", files}}, false);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_TRUE(IsPacked(order->source));
  EXPECT_EQ(order->name, "candidate");
  EXPECT_EQ(Unpack(order->source).value(), files.get<FolderFiles>());
  for (const char* path : {"../model_new.py", "/etc/passwd", "a/../../b.py", "", ".", "a//b.py", ".git/config"}) {
    json odd = files;
    odd[path] = "x";
    EXPECT_THAT(Refused({{"problem", "1/19"}, {"files", odd}}), HasSubstr("/files: ")) << path;
  }
  EXPECT_THAT(Refused({{"problem", "1/19"}, {"files", {{"a.py", "x"}}}}), HasSubstr("model_new.py"));
  EXPECT_THAT(Refused({{"problem", "1/19"}, {"files", {{"model_new.py", 1}}}}), HasSubstr("/files/model_new.py"));
  EXPECT_THAT(Refused(Request(order->source)), HasSubstr("/source: a folder's files go into files"));
}

TEST_F(OrderTest, ATextMayBeNamedByItsDigest) {
  const json request = {{"problem", "1/19"}, {"sha256", Sha256("known")}};
  EXPECT_EQ(reader_->Read(request, false, "known")->source, "known");
  EXPECT_THAT(Refused(request), HasSubstr("/sha256: the store has no such text"));
  EXPECT_THAT(Refused({{"problem", "1/19"}, {"sha256", "abc"}}), HasSubstr("/sha256: must be at least 64"));
}

TEST_F(OrderTest, ACandidateIsTakenFromAnAnswer) {
  const std::string module = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n";
  const std::string native = "#include <kernelbench/kernel.h>\nint kb_forward(const kb_call* c) { return f(c); }\n";
  const std::string both = "A draft:\n```python\nx = 1\n```\n```python\n" + module + "```\n```cpp\n" + native + "```\n";
  const auto read = [&](const json& more) {
    json request = {{"problem", "1/19"}};
    request.update(more);
    auto order = reader_->Read(request, false);
    EXPECT_TRUE(order) << order.error().message;
    return order ? *order : Order();
  };
  const Order python = read({{"answer", both}});
  EXPECT_EQ(python.source, module);
  EXPECT_EQ(python.name, "candidate.py");
  EXPECT_EQ(python.rejection, "");
  EXPECT_EQ(python.extraction["outcome"], "found");
  EXPECT_EQ(python.extraction["answer_sha256"], Sha256(both));
  EXPECT_EQ(read({{"answer", both}, {"backend", "cpp"}}).source, module);
  for (const json& more : {json{{"backend", "native"}}, json{{"name", "relu.cpp"}}}) {
    json request = more;
    request["answer"] = both;
    const Order order = read(request);
    EXPECT_EQ(order.source, native);
    EXPECT_EQ(order.name, more.value("name", "candidate.cpp"));
  }

  // What a model wrote is never a reason to refuse.
  const std::pair<std::string, std::string> nothing[] = {
      {"", "no_code"},
      {"It depends.", "no_code"},
      {"```cpp\n" + native + "```\n", "no_entry_point"},
      {"```python\n" + module, "truncated"},
      {"```python\n" + module + "# " + std::string(kMaxCandidateBytes, 'x') + "\n```\n", "no_code"},
      {"```python\nkernelbench folder\n" + module + "```\n", "no_code"},
      {std::string("\0\0", 2), "no_code"}};
  for (const auto& [answer, outcome] : nothing) {
    const Order order = read({{"answer", answer}});
    EXPECT_EQ(order.extraction["outcome"], outcome) << answer.substr(0, 100);
    EXPECT_EQ(order.source, "");
    EXPECT_NE(order.rejection, "");
  }
  EXPECT_EQ(read({{"answer", "Code:\n\n" + module}}).rejection, "");
  EXPECT_NE(read({{"answer", "Code:\n\n" + module}, {"cut_off", true}}).rejection, "");

  // As it is stored, and read again.
  const Order none = read({{"answer", "It depends."}, {"backend", "native"}, {"cut_off", true}});
  EXPECT_FALSE(none.request.contains("answer"));
  const auto again = reader_->Read(none.request, false, "");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->rejection, none.rejection);
  EXPECT_EQ(again->name, "candidate.cpp");
  EXPECT_EQ(again->request, none.request);
  json named = none.request;
  named["sha256"] = Sha256("");
  EXPECT_THAT(Refused(named, ""), HasSubstr("/extraction: there is no such field")) << "no client says so";

  EXPECT_THAT(Refused({{"problem", "1/19"}, {"answer", "x"}, {"source", "x"}}), HasSubstr("/source: give exactly one"));
  EXPECT_THAT(Refused({{"problem", "1/19"}, {"answer", "x"}, {"backend", "cuda"}}), HasSubstr("/backend: "));
  EXPECT_THAT(Refused({{"problem", "1/19"}, {"answer", "x"}, {"backend", "rust"}}), HasSubstr("/backend: "));
  EXPECT_THAT(Refused({{"problem", "1/19"}, {"answer", "x"}, {"name", "x.rs"}}), HasSubstr("/name: "));
  EXPECT_THAT(Refused({{"problem", "1/19"}, {"answer", "x"}, {"backend", "cpp"}, {"name", "x.cpp"}}),
              HasSubstr("/name: a candidate of backend cpp is a .py file"));
  EXPECT_THAT(Refused(Request("x", {{"backend", "cpp"}})), HasSubstr("/backend: is for an answer"));
  EXPECT_THAT(Refused(Request("x", {{"cut_off", true}})), HasSubstr("/cut_off: is for an answer"));
}

TEST_F(OrderTest, TheUserMayNameFilesOfHis) {
  WriteProblem("own.py", kProblem);
  const json request = {{"problem", path("problems/own.py")},
                        {"problem_name", "own"},
                        {"source", "x"},
                        {"name", "/tmp/a.py"},
                        {"rejection", "it is odd"}};
  const auto order = reader_->Read(request, true);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->problem.name, "own");
  EXPECT_EQ(order->name, "/tmp/a.py");
  EXPECT_EQ(order->rejection, "it is odd");
}

TEST_F(OrderTest, WhatIsWrongIsSaid) {
  const std::vector<std::pair<json, std::string>> cases = {
      {{{"problem", "1/20"}}, "/problem: there is no problem 1/20"},
      {{{"problem", path("problems/level1/19_ReLU.py")}}, "/problem: there is no problem"},
      {{{"problem", "../problems/level1/19_ReLU.py"}}, "/problem: there is no problem"},
      {{{"problem", "/etc/passwd"}}, "/problem: there is no problem"},
      {{{"problem", std::string("1/19\0", 5)}}, "/problem: there is no problem"},
      {{{"problem", std::string(10'000, 'x')}}, "/problem: must be at most"},
      {{{"size", "huge"}}, "/size: 1/19 has the sizes standard, small"},
      {{{"device", "cuda"}}, "/device: this service judges on cpu"},
      {{{"device", "tpu"}}, "/device: must be one of cpu, cuda"},
      {{{"protocol", "none"}}, "/protocol: "},
      {{{"protocol", "../quick"}}, "/protocol: it is a name, not a file"},
      {{{"protocol", "/etc/passwd"}}, "/protocol: it is a name, not a file"},
      {{{"keys", {{"no_such_key", 1}}}}, "/keys: "},
      {{{"keys", {{"warmup_rounds", "many"}}}}, "/keys: "},
      {{{"keys", {{"warmup_rounds", {{"a", {1, 2}}}}}}}, "/keys: "},
      {{{"baseline", "none"}}, "/keys: "},
      {{{"name", "candidate.rs"}}, "/name: "},
      {{{"name", "../candidate.py"}}, "/name: it is a file's name"},
      {{{"name", "/etc/candidate.py"}}, "/name: it is a file's name"},
      {{{"name", ".candidate.py"}}, "/name: it is a file's name"},
      {{{"name", "a\x1b[2J.py"}}, "/name: must be one line"},
      {{{"name", std::string(300, 'x') + ".py"}}, "/name: must be at most 200 characters"},
      {{{"rejection", "it is odd"}}, "/rejection: is for the Unix socket alone"},
      {{{"problem_name", "1/20"}}, "/problem_name: is for the Unix socket alone"},
      {{{"run", "r\n"}}, "/run: must be one line"},
      {{{"model", "m\x07"}}, "/model: must be one line"},
      {{{"idempotency_key", ""}}, "/idempotency_key: must be at least 1"},
      {{{"priority", 101}}, "/priority: must be at most 100"},
      {{{"deadline_s", 0}}, "/deadline_s: must be at least"},
      {{{"sample", -1}}, "/sample: must be at least 0"},
      {{{"sha256", std::string(64, 'a')}}, "/source: give exactly one"},
      {{{"files", {{"model_new.py", "x"}}}}, "/source: give exactly one"},
      {{{"source", 1}}, "/source: must be a string"},
      {{{"unknown", 1}}, "/unknown: there is no such field"},
  };
  for (const auto& [more, expected] : cases) EXPECT_THAT(Refused(Request("x", more)), HasSubstr(expected)) << more;
  EXPECT_THAT(Refused({{"problem", "1/19"}}), HasSubstr("/source: give exactly one"));
  EXPECT_THAT(Refused({{"source", "x"}}), HasSubstr("/problem: give exactly one"));
}

}  // namespace
}  // namespace kb::server
