// A relay between a program of the test's own and a provider of the test's own.
#ifndef AGENTS_RELAY_RELAYED_TEST_UTIL_H_
#define AGENTS_RELAY_RELAYED_TEST_UTIL_H_

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "agents/relay/dialect.h"
#include "agents/relay/relay_test_util.h"
#include "base/json.h"
#include "server/http_client.h"
#include "server/http_test_util.h"

namespace kb {

class RelayedTest : public RelayTest {
 protected:
  using RawClient = server::RawClient;

  static WireJson Hello(Wire wire, bool stream) {
    WireJson request = {{"model", "gpt-any"}, {"stream", stream}};
    request[DialectOf(wire).messages] = WireJson::parse(R"([{"role":"user","content":"hello"}])");
    return request;
  }

  static std::string PathOf(Wire wire) { return std::string("/v1") + DialectOf(wire).path; }

  static std::string RawPost(Wire wire, const WireJson& request, const char* version = "HTTP/1.1") {
    const std::string body = Dump(request);
    return fmt::format("POST {} {}\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", PathOf(wire), version, body.size(),
                       body);
  }

  static std::string Json(const std::string& status, const std::string& body) {
    return PlainAnswer(status, "Content-Type: application/json\r\n", body);
  }

  static std::string HeaderOf(const ServedRequest& request, const char* name) {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? "" : found->second;
  }

  static void NobodyAsks(const ServedRequest&, int, ServedConnection*) { FAIL() << "the provider was asked"; }

  server::HttpAnswer Post(const std::string& target, const std::string& body, server::HttpHeaders headers = {}) {
    auto client = server::HttpClient::ConnectUnix(socket());
    EXPECT_TRUE(client) << client.error().message;
    auto answer = client->Send({.method = "POST", .target = target, .body = body, .headers = std::move(headers)});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : server::HttpAnswer();
  }
  server::HttpAnswer Post(Wire wire, const WireJson& request) { return Post(PathOf(wire), Dump(request)); }
  // The bytes of an answer, which HTTP/1.0 ends with the connection.
  std::string PostRaw(Wire wire, const WireJson& request) {
    RawClient client(socket());
    client.Write(RawPost(wire, request, "HTTP/1.0"));
    client.ReadTo("\r\n\r\n");
    return client.ReadTo("");
  }
  RelayCall Only() {
    EXPECT_TRUE(server::Soon([&] { return !owner_->told().empty(); }));
    EXPECT_THAT(owner_->told(), ::testing::SizeIs(1));
    return owner_->told().empty() ? RelayCall() : owner_->told().front();
  }
};

}  // namespace kb

#endif  // AGENTS_RELAY_RELAYED_TEST_UTIL_H_
