#ifndef SERVER_API_TEST_UTIL_H_
#define SERVER_API_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pages/pages.h"
#include "server/api.h"
#include "server/http_client.h"
#include "server/http_server.h"
#include "server/service_test_util.h"

namespace kb::server {

// The routes over HTTP, with the fake judge behind them.
class ApiTest : public ServiceTest {
 protected:
  // `listen`: over TCP, too.
  void Serve(const std::string& listen = "", bool no_auth = false) {
    desk_ = Open();
    ApiOptions options{.version = "1", .devices = {"cpu"}};
    options.access = {.tokens = path("tokens.json"), .no_auth = no_auth};
    options.scores = scores_;
    options.installation.web = path("web");
    options.pages = std::make_shared<Pages>(&store_, PagesOptions{.problems = path("problems")});
    options.rewards = ReadRewards(std::string(KB_SOURCE_DIR) + "/rewards").value();
    api_ = std::make_unique<Api>(std::move(options), reader_, desk_.get(), &store_);
    auto http = HttpServer::Start({path("s"), listen}, {}, api_.get());
    ASSERT_TRUE(http) << http.error().message;
    http_ = std::move(*http);
  }
  ~ApiTest() override { StopServing(); }
  void StopServing() {
    if (!http_) return;
    http_->StopAccepting();
    desk_->Stop();
    api_->Stop();
    http_->Stop();
    http_.reset();
    api_.reset();
    desk_.reset();
  }
  // The status, and the body; over TCP with that token, else over the socket.
  std::pair<int, nlohmann::json> Ask(const std::string& method, const std::string& target, const std::string& body = "",
                                     const std::string& token = "") const {
    auto client = token.empty() ? HttpClient::ConnectUnix(path("s")) : HttpClient::ConnectTcp(http_->address());
    EXPECT_TRUE(client);
    HttpCall call{.method = method, .target = target, .body = body};
    if (!token.empty()) call.headers.emplace_back("Authorization", "Bearer " + token);
    const auto answer = client->Send(call);
    EXPECT_TRUE(answer) << answer.error().message;
    if (!answer) return {0, nlohmann::json()};
    return {answer->status, nlohmann::json::parse(answer->body, nullptr, false)};
  }
  std::pair<int, nlohmann::json> Post(const std::string& target, const nlohmann::json& body,
                                      const std::string& token = "") const {
    return Ask("POST", target, body.dump(), token);
  }
  static std::string Detail(const std::pair<int, nlohmann::json>& answer) {
    return std::to_string(answer.first) + " " + answer.second.value("detail", "");
  }

  std::function<Result<std::string>(const std::string&)> scores_;
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace kb::server

#endif  // SERVER_API_TEST_UTIL_H_
