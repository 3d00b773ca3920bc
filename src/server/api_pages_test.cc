// Pages over the API: files, documents and what is new, each for who may see it.
#include <gmock/gmock.h>

#include <future>
#include <memory>
#include <vector>

#include "server/api.h"
#include "server/api_test_util.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST_F(ApiTest, PagesShowAClientItsOwn) {
  Serve("127.0.0.1:0");
  const TokenFile file(path("tokens.json"));
  const std::string ann = file.Add({"ann"}).value();
  const std::string mine = Post("/v1/evaluations?wait=600", Request("one"), ann).second["evaluation_id"],
                    other = Post("/v1/evaluations?wait=600", Request("two", {{"run", "main"}})).second["evaluation_id"];
  EXPECT_EQ(Ask("GET", "/v1/pages/catalog.json", "", ann).second["values"]["run"], json({"ann"}));
  EXPECT_EQ(Ask("GET", "/v1/pages/catalog.json").second["entries"]["id"].size(), 2u);
  EXPECT_EQ(Ask("GET", "/v1/pages/entries/" + mine + ".json", "", ann).first, 200);
  EXPECT_EQ(Ask("GET", "/v1/pages/entries/" + other + ".json", "", ann).first, 404);
  EXPECT_EQ(Ask("GET", "/v1/pages/runs/main.json", "", ann).first, 404);
  EXPECT_EQ(Ask("GET", "/v1/pages/catalog.json", "", "kb_wrong").first, 401);
  EXPECT_EQ(Ask("GET", "/v1/pages/nothing").first, 404);
}

TEST_F(ApiTest, FilesOfPagesComeWithTheirPolicy) {
  std::filesystem::create_directories(path("web"));
  ASSERT_TRUE(WriteFileAtomic(path("web") / "index.html",
                              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
                              "'self'\"><meta name=\"kernelbench-source\" content=\"folder\">"));
  ASSERT_TRUE(WriteFileAtomic(path("web") / "app.js", "1;"));
  Serve();
  const auto ask = [&](const std::string& target, const HttpHeaders& headers = {}) {
    auto client = HttpClient::ConnectUnix(path("s"));
    HttpCall call{.method = "GET", .target = target};
    call.headers = headers;
    return client->Send(call).value();
  };
  const auto header = [](const HttpAnswer& answer, const std::string& name) {
    for (const auto& [key, value] : answer.headers) {
      if (key == name) return value;
    }
    return std::string();
  };
  const HttpAnswer index = ask("/");
  EXPECT_EQ(index.status, 200);
  EXPECT_THAT(index.body, HasSubstr("content=\"service\""));
  EXPECT_EQ(header(index, "content-security-policy"), "default-src 'none'; script-src 'self'; frame-ancestors 'none'");
  for (const char* target : {"/", "/app.js"}) {
    EXPECT_EQ(header(ask(target), "x-content-type-options"), "nosniff");
    EXPECT_EQ(header(ask(target), "referrer-policy"), "no-referrer");
    EXPECT_EQ(header(ask(target), "cache-control"), "no-cache");
  }
  EXPECT_EQ(ask("/style.css").status, 500) << "it is not installed";
  const std::string tag = header(ask("/v1/pages/catalog.json"), "etag");
  EXPECT_EQ(ask("/v1/pages/catalog.json", {{"If-None-Match", tag}}).status, 304);
  EXPECT_EQ(Post("/v1/evaluations?wait=600", Request("one")).first, 200);
  EXPECT_EQ(ask("/v1/pages/catalog.json", {{"If-None-Match", tag}}).status, 200);
}

TEST_F(ApiTest, PagesAreToldWhatIsNew) {
  Serve();
  RawClient reader(path("s"));
  ASSERT_TRUE(reader.Write("GET /v1/pages-events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_THAT(reader.ReadTo("\r\n\r\n"), HasSubstr("text/event-stream"));
  EXPECT_THAT(reader.ReadTo("\n\n"), AllOf(HasSubstr("event: entries"), HasSubstr("\"sequence\":0")));
  EXPECT_EQ(Post("/v1/evaluations?wait=600", Request("one", {{"run", "main"}})).first, 200);
  std::string told;
  while (told.find("\"sequence\":1") == std::string::npos) {
    const std::string more = reader.ReadTo("\n\n");
    ASSERT_NE(more, "");
    told += more;
  }
  EXPECT_THAT(told, AllOf(HasSubstr("event: runs"), HasSubstr("\"run\":\"main\"")));
}

TEST_F(ApiTest, AStreamOfPagesEndsWithItsToken) {
  Serve("127.0.0.1:0");
  const TokenFile file(path("tokens.json"));
  HttpCall call{.method = "GET", .target = "/v1/pages-events"};
  call.headers = {{"Authorization", "Bearer " + file.Add({"ann"}).value()}};
  auto client = HttpClient::ConnectTcp(http_->address());
  int told = 0;
  const auto ended = client->Stream(call, [&](const SseEvent&) {
    ++told;
    EXPECT_TRUE(file.Revoke("ann").value());
    return true;
  });
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(told, 1);
}

TEST_F(ApiTest, OneClientsPagesShutOutNoOther) {
  Serve("127.0.0.1:0");
  std::vector<std::unique_ptr<RawClient>> mine;
  for (int i = 0; i < 4; ++i) {
    mine.push_back(std::make_unique<RawClient>(path("s")));
    ASSERT_TRUE(mine.back()->Write("GET /v1/pages-events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_THAT(mine.back()->ReadTo("\r\n\r\n"), HasSubstr("text/event-stream"));
  }
  EXPECT_EQ(Ask("GET", "/v1/pages-events").first, 503);
  HttpCall call{.method = "GET", .target = "/v1/pages-events"};
  call.headers = {{"Authorization", "Bearer " + TokenFile(path("tokens.json")).Add({"ann"}).value()}};
  auto other = HttpClient::ConnectTcp(http_->address());
  const auto answer = other->Stream(call, [](const SseEvent&) { return false; });
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
}

}  // namespace
}  // namespace kb::server
