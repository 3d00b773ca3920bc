#include "agents/judge_socket.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fd.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPath = R"({"type":"object","properties":{"path":{"type":"string"}}})";

// What a program in the box does.
class Client {
 public:
  explicit Client(const std::filesystem::path& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX};
    std::strcpy(address.sun_path, path.c_str());
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << strerror(errno);
  }
  void Say(const std::string& text) { (void)::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  void Ask(int id, const std::string& method, const json& params = json::object()) {
    Say(json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump() + "\n");
  }
  void Call(int id, const std::string& tool, const std::string& path = "model_new.py") {
    Ask(id, "tools/call", {{"name", tool}, {"arguments", {{"path", path}}}});
  }
  void EndsSaying() { ::shutdown(fd_.get(), SHUT_WR); }
  // The next message; null at the end.
  json Next() {
    std::string line;
    for (char c = 0; ::read(fd_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return json::parse(line, nullptr, false).is_discarded() ? json() : json::parse(line);
  }
  std::string Rest() {
    std::string text;
    for (char c = 0; ::read(fd_.get(), &c, 1) == 1;) text += c;
    return text;
  }

 private:
  Fd fd_;
};

class JudgeSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::Create("kernelbench-judge");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    path_ = folder_->path() / "judge.sock";
    auto made = JudgeSocket::Listen(path_);
    ASSERT_TRUE(made) << made.error().message;
    socket_ = std::move(*made);
  }
  void Open() {
    socket_->Open({.offered = {{"evaluate", "judges", kPath}, {"best", "the best", R"({"type":"object"})"}},
                   .call = [this](const ToolCall& call) { return Make(call); },
                   .told =
                       [this](const ToolCall& call, const ToolOutcome& outcome) {
                         const std::lock_guard lock(mutex_);
                         told_.push_back(call.name + " " + call.arguments + " " + outcome.text);
                       }});
  }
  Result<ToolOutcome> Make(const ToolCall& call) {
    std::unique_lock lock(mutex_);
    EXPECT_EQ(++under_way_, 1);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_; });
    --under_way_;
    if (fails_) return Fail(ErrorCode::kUnavailable, "the box is gone");
    return ToolOutcome{.text = "judged " + call.arguments, .is_error = call.arguments.find("bad") != std::string::npos};
  }
  void Hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void AwaitBegun(int calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ >= calls; });
  }
  std::vector<std::string> Told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

  std::optional<TempDir> folder_;
  std::filesystem::path path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false, fails_ = false;
  int under_way_ = 0, begun_ = 0;
  std::vector<std::string> told_;
  std::unique_ptr<JudgeSocket> socket_;
};

TEST_F(JudgeSocketTest, SpeaksMcpToWhoeverConnectedBefore) {
  Client client(path_);
  client.Ask(1, "initialize", {{"protocolVersion", "2025-06-18"}});
  client.Say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
             "\n");
  client.Ask(2, "tools/list");
  client.Call(3, "evaluate");
  Open();
  EXPECT_EQ(client.Next()["result"]["serverInfo"]["name"], "kernelbench");
  const json tools = client.Next()["result"]["tools"];
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0]["name"], "evaluate");
  EXPECT_EQ(tools[0]["inputSchema"]["properties"]["path"]["type"], "string");
  const json judged = client.Next();
  EXPECT_EQ(judged["id"], 3);
  EXPECT_EQ(judged["result"]["isError"], false);
  EXPECT_EQ(judged["result"]["content"][0]["text"], R"(judged {"path":"model_new.py"})");
  EXPECT_THAT(Told(), ElementsAre(R"(evaluate {"path":"model_new.py"} judged {"path":"model_new.py"})"));
}

TEST_F(JudgeSocketTest, SaysWhatIsWrongAndGoesOn) {
  Open();
  Client client(path_);
  client.Say("{\"jsonrpc\":\n");
  EXPECT_EQ(client.Next()["error"]["code"], -32700);
  client.Ask(1, "tools/call", {{"name", "bash"}});
  EXPECT_THAT(client.Next()["error"]["message"].get<std::string>(), HasSubstr("no tool bash"));
  client.Call(2, "evaluate", "bad.py");
  EXPECT_EQ(client.Next()["result"]["isError"], true);
  client.Ask(3, "ping");
  EXPECT_EQ(client.Next()["id"], 3);
}

TEST_F(JudgeSocketTest, TakesWordsFromAShell) {
  Open();
  const auto say = [&](const std::string& line) {
    Client client(path_);
    client.Say(line);
    return client.Rest();
  };
  EXPECT_EQ(say("evaluate  /task/my file.py \n"), "ok\njudged {\"path\":\"/task/my file.py\"}\n");
  EXPECT_EQ(say("evaluate bad.py\n"), "error\njudged {\"path\":\"bad.py\"}\n");
  EXPECT_EQ(say("best\n"), "ok\njudged {}\n");
  EXPECT_EQ(say("best of all\n"), "ok\njudged {}\n");
  EXPECT_EQ(say("\n"), "ok\njudged {}\n") << "what is no tool is the tools' matter";
}

TEST_F(JudgeSocketTest, CallsTakeTurnsAndAnswersKeepTheirIds) {
  Open();
  Client one(path_), other(path_);
  Hold(true);
  one.Call(1, "evaluate", "a");
  AwaitBegun(1);
  one.Ask(2, "ping");
  EXPECT_EQ(one.Next()["id"], 2) << "while a call goes on";
  other.Call(7, "evaluate", "b");
  one.Call(3, "evaluate", "c");
  Hold(false);
  EXPECT_EQ(other.Next()["id"], 7);
  EXPECT_EQ(one.Next()["id"], 1);
  EXPECT_EQ(one.Next()["id"], 3);
}

TEST_F(JudgeSocketTest, WhatNobodyWaitsForIsNotMade) {
  Open();
  Client one(path_);
  Hold(true);
  one.Call(1, "evaluate", "a");
  AwaitBegun(1);
  one.Call(2, "evaluate", "cancelled");
  one.Say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})"
          "\n");
  one.Ask(3, "ping");
  EXPECT_EQ(one.Next()["id"], 3);
  Hold(false);
  EXPECT_EQ(one.Next()["id"], 1);
  one.Call(4, "evaluate", "d");
  EXPECT_EQ(one.Next()["id"], 4);
  EXPECT_EQ(begun_, 2);
}

TEST_F(JudgeSocketTest, AFloodIsRefused) {
  Open();
  Client client(path_);
  Hold(true);
  client.Call(0, "evaluate");
  AwaitBegun(1);
  for (int id = 1; id <= 17; ++id) client.Call(id, "evaluate");
  const json refused = client.Next();
  EXPECT_EQ(refused["id"], 17);
  EXPECT_EQ(refused["result"]["isError"], true);
  EXPECT_THAT(refused["result"]["content"][0]["text"].get<std::string>(), HasSubstr("too many calls wait"));
  Hold(false);
  for (int id = 0; id <= 16; ++id) EXPECT_EQ(client.Next()["id"], id);
}

TEST_F(JudgeSocketTest, ACallInWordsWhoseClientHasGoneIsNotMade) {
  Open();
  Client one(path_), patient(path_);
  std::optional<Client> goes(std::in_place, path_);
  Hold(true);
  one.Call(0, "evaluate", "held");
  AwaitBegun(1);
  for (int id = 1; id <= 14; ++id) one.Call(id, "evaluate");
  int id = 100;
  const auto is_full = [&] {  // asks for a call, and takes it back
    one.Call(++id, "evaluate", "taken back");
    one.Say(json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}}.dump() +
            "\n");
    one.Ask(1000, "ping");
    const bool refused = one.Next()["id"] == id;
    if (refused) (void)one.Next();
    return refused;
  };
  patient.Say("evaluate patient.py\n");
  patient.EndsSaying();
  goes->Say("evaluate nobody.py\n");
  const auto becomes = [&](bool full) {
    int tries = 3000;
    while (is_full() != full && --tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return tries > 0;
  };
  EXPECT_TRUE(becomes(true));
  goes.reset();
  EXPECT_TRUE(becomes(false)) << "a call that nobody waits for keeps its place";
  Hold(false);
  EXPECT_EQ(patient.Rest(), "ok\njudged {\"path\":\"patient.py\"}\n") << "who only says no more has not gone";
  for (int answered = 0; answered <= 14; ++answered) EXPECT_EQ(one.Next()["id"], answered);
  for (const std::string& told : Told()) EXPECT_THAT(told, Not(HasSubstr("nobody")));
}

TEST_F(JudgeSocketTest, OneConnectionTooManyIsTold) {
  Open();
  std::list<Client> clients;
  for (int i = 0; i < 32; ++i) clients.emplace_back(path_).Ask(1, "ping");
  for (Client& each : clients) EXPECT_EQ(each.Next()["id"], 1);
  Client refused(path_);
  refused.Say("best\n");
  EXPECT_THAT(refused.Rest(), StartsWith("error\ntoo many connections"));
}

TEST_F(JudgeSocketTest, ALineWithoutEndEndsItsConnection) {
  Open();
  Client client(path_);
  std::thread writes([&] { client.Say("{" + std::string(2 << 20, 'x')); });
  EXPECT_THAT(client.Rest(), IsEmpty());
  writes.join();
  Client next(path_);
  next.Call(1, "evaluate");
  EXPECT_EQ(next.Next()["id"], 1);
}

TEST_F(JudgeSocketTest, AnErrorOfAToolIsKept) {
  fails_ = true;
  Open();
  Client client(path_);
  client.Call(1, "evaluate");
  EXPECT_EQ(client.Next()["result"]["isError"], true);
  ASSERT_TRUE(socket_->error());
  EXPECT_EQ(socket_->error()->message, "the box is gone");
  client.Call(2, "evaluate");
  EXPECT_THAT(client.Next()["result"]["content"][0]["text"].get<std::string>(), HasSubstr("over"));
  EXPECT_EQ(begun_, 1);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(JudgeSocketTest, TheEndWaitsForTheCallThatGoesOn) {
  Open();
  Client client(path_);
  Hold(true);
  client.Call(1, "evaluate");
  AwaitBegun(1);
  std::thread closes([&] { socket_->Close(); });
  Hold(false);
  closes.join();
  EXPECT_EQ(Told().size(), 1u);
  EXPECT_EQ(under_way_, 0);
}

TEST_F(JudgeSocketTest, ALongPathIsRefused) {
  const auto listens = JudgeSocket::Listen(folder_->path() / std::string(200, 'x'));
  ASSERT_FALSE(listens);
  EXPECT_THAT(listens.error().message, HasSubstr("TMPDIR"));
}

}  // namespace
}  // namespace kb
