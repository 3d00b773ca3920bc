// Devices that are lent, over the service's socket.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <optional>

#include "server/api_test_util.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class LeaseApiTest : public ApiTest {
 protected:
  // Of one that is held.
  std::string Hold(const json& wanted = {{"holder", "an agent"}}) const {
    const auto [status, lease] = Post("/v1/leases", wanted);
    EXPECT_EQ(status, 201) << lease;
    EXPECT_EQ(lease.value("state", ""), "held");
    return lease.value("id", "");
  }
  json Lease(const std::string& id, const std::string& query = "") const {
    return Ask("GET", "/v1/leases/" + id + query).second;
  }
  int Judged(const std::string& source) {
    const std::lock_guard lock(judging_.mutex);
    return judging_.judged[source];
  }
  // Of an evaluation that is accepted, and has had the time to be judged.
  std::string Submit(const std::string& source) const {
    const std::string id = Post("/v1/evaluations", Request(source)).second.value("id", "");
    EXPECT_EQ(Ask("GET", "/v1/evaluations/" + id + "?wait=0.5").first, 202) << source << " has ended";
    return id;
  }
  void ExpectJudged(const std::string& id) const {
    EXPECT_EQ(Ask("GET", "/v1/evaluations/" + id + "?wait=600").second["state"], "done");
  }
};

TEST_F(LeaseApiTest, NothingIsJudgedUntilItsHolderGivesItBack) {
  Serve();
  const std::string id = Hold();
  EXPECT_EQ(Lease(id)["device"], "cpu");
  EXPECT_EQ(Lease(id)["cores"], json({2, 3}));
  const json held = Ask("GET", "/v1/service").second["leases"];
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0]["holder"], "an agent");
  const std::string waiting = Submit("one");
  EXPECT_EQ(Judged("one"), 0);
  const auto [status, over] = Ask("DELETE", "/v1/leases/" + id);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(over["state"], "over");
  EXPECT_THAT(over["error"].get<std::string>(), HasSubstr("gave it back"));
  ExpectJudged(waiting);
  EXPECT_EQ(Ask("GET", "/v1/service").second["leases"], json::array());
  EXPECT_EQ(Ask("DELETE", "/v1/leases/" + id).second["state"], "over") << "once more";
}

TEST_F(LeaseApiTest, OneThatIsOverIsToldOfUntilItsMemoryIsFree) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  const auto used = std::make_shared<std::atomic<uint64_t>>(kGib);
  judging_.memory = [used]() -> std::optional<DeviceMemory> { return DeviceMemory{*used, 100 * kGib}; };
  Serve();
  const std::string id = Hold();
  *used = 2 * kGib;
  EXPECT_EQ(Ask("DELETE", "/v1/leases/" + id).second["state"], "over");
  EXPECT_EQ(Ask("DELETE", "/v1/leases/" + id).first, 200) << "once more";
  const std::string waiting = Submit("one");
  EXPECT_EQ(Judged("one"), 0);
  const json service = Ask("GET", "/v1/service").second;
  EXPECT_EQ(service["open"], 1) << "it is not";
  ASSERT_EQ(service["leases"].size(), 1u);
  EXPECT_EQ(service["leases"][0]["id"], id);
  EXPECT_EQ(service["leases"][0]["state"], "over");
  *used = kGib;
  ExpectJudged(waiting);
  EXPECT_EQ(Ask("GET", "/v1/service").second["leases"], json::array());
}

TEST_F(LeaseApiTest, ItEndsWithTheConnectionOfItsHolder) {
  Serve();
  const std::string id = Hold();
  auto holder = std::make_optional<RawClient>(path("s"));
  EXPECT_TRUE(holder->Write("GET /v1/leases/" + id + "?wait=600 HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string waiting = Submit("one");
  EXPECT_EQ(Judged("one"), 0);
  holder.reset();
  ExpectJudged(waiting);
  EXPECT_THAT(Lease(id)["error"].get<std::string>(), HasSubstr("its client went away"));
}

TEST_F(LeaseApiTest, ItEndsWithItsTimeAndWhoWaitsForThatIsTold) {
  Serve();
  const std::string id = Hold({{"seconds", 0.3}});
  const auto [status, over] = Ask("GET", "/v1/leases/" + id + "?wait=600");
  EXPECT_EQ(status, 200);
  EXPECT_EQ(over["state"], "over");
  EXPECT_EQ(over["error"], "its 0.3 s were over");
}

TEST_F(LeaseApiTest, ASecondWaitsForItsTurn) {
  Serve();
  const std::string first = Hold();
  const auto [status, second] = Post("/v1/leases?wait=0.2", json::object());
  EXPECT_EQ(status, 202);
  EXPECT_EQ(second["state"], "queued");
  EXPECT_TRUE(second["device"].is_null());
  (void)Ask("DELETE", "/v1/leases/" + first);
  const std::string id = second["id"];
  EXPECT_EQ(Lease(id, "?wait=600&until=held")["state"], "held");
  EXPECT_EQ(Lease(id, "?wait=600&until=held")["state"], "held") << "it is already";
  const auto third = Post("/v1/leases?wait=0", json::object()).second;
  EXPECT_EQ(Ask("DELETE", "/v1/leases/" + third["id"].get<std::string>()).second["state"], "over");
}

TEST_F(LeaseApiTest, WhatIsNoLeaseOrMayNotBeIsRefused) {
  const std::string ann = TokenFile(path("tokens.json")).Add({.name = "ann"}).value();
  Serve("127.0.0.1:0");
  EXPECT_EQ(Detail(Post("/v1/leases", json::object(), ann)), "403 ann lacks the right admin");
  EXPECT_THAT(Detail(Post("/v1/leases", {{"seconds", 601}})), HasSubstr("400 /seconds"));
  EXPECT_THAT(Detail(Post("/v1/leases", {{"memory_share", 0}})), HasSubstr("400 /memory_share"));
  EXPECT_THAT(Detail(Post("/v1/leases", {{"device", "cuda"}})), HasSubstr("400 /device"));
  const std::string id = Post("/v1/evaluations?wait=600", Request("one")).second["id"];
  EXPECT_THAT(Detail(Ask("GET", "/v1/leases/" + id)), HasSubstr("404 there is no lease " + id));
  EXPECT_THAT(Detail(Ask("GET", "/v1/evaluations/" + Hold())), HasSubstr("404 there is no evaluation"));
}

TEST_F(LeaseApiTest, TheEndOfTheServiceEndsIt) {
  Serve();
  (void)Hold();
  StopServing();
}

}  // namespace
}  // namespace kb::server
