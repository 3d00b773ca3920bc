// kb-bridge where it is for: between programs in a box and sockets that the box shows.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <thread>

#include "agents/box.h"
#include "agents/relay/relay_test_util.h"
#include "base/fd.h"
#include "open_paths.h"

namespace kb {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Posts a request and prints what comes.
constexpr char kProgram[] = R"(import json, sys, urllib.request
body = {"model": "any", "stream": True, "messages": [{"role": "user", "content": sys.argv[1]}]}
request = urllib.request.Request("http://127.0.0.1:8080/v1/chat/completions", json.dumps(body).encode(),
                                 {"Authorization": "Bearer none", "Content-Type": "application/json"})
print(urllib.request.urlopen(request).read().decode())
)";

class BridgeTest : public RelayTest {
 protected:
  static void SetUpTestSuite() { OpenPaths({KB_PROGRAMS}); }

  void MakeBox(const std::filesystem::path& at) {
    Installation installation;
    installation.libexec = KB_PROGRAMS;
    BoxOptions options;
    options.sockets = {{at, "/kb/model.sock"}};
    options.read_only = {{installation.libexec / "kb-bridge", "/kb/kb-bridge"}};
    auto made = Box::Create(installation, options);
    ASSERT_TRUE(made) << made.error().message;
    box_.emplace(std::move(*made));
  }
  CommandResult Run(const std::string& command) {
    auto result = box_->Run(command, {.timeout = seconds(60)});
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : CommandResult();
  }

  std::optional<Box> box_;
};

TEST_F(BridgeTest, AProgramAsksTheModel) {
  const auto running = Start(Wire::kChat, [](const ServedRequest&, int, ServedConnection* connection) {
    Stream(connection, Joined(StreamOf(Wire::kChat, {"spoken"})));
  });
  MakeBox(socket());
  ASSERT_TRUE(box_->folder().Write("ask.py", kProgram));
  const CommandResult one = Run("/kb/kb-bridge 8080 /kb/model.sock -- python3 ask.py hello");
  EXPECT_EQ(one.status.code, 0) << one.output;
  EXPECT_THAT(one.output, AllOf(HasSubstr("spoken"), HasSubstr("[DONE]")));
  const CommandResult many =
      Run("/kb/kb-bridge 8080 /kb/model.sock -- sh -c 'for i in 1 2 3 4 5; do python3 ask.py $i >$i & done; wait; "
          "cat 1 2 3 4 5 | grep -c DONE; exit 3'");
  EXPECT_EQ(many.status.code, 3);
  EXPECT_EQ(many.output, "5\n");
  EXPECT_THAT(owner_->admitted(), SizeIs(6));
}

TEST_F(BridgeTest, LargeRequestsPass) {
  const auto running = Start(Wire::kChat, [](const ServedRequest&, int, ServedConnection* connection) {
    Stream(connection, Joined(StreamOf(Wire::kChat, {std::string(3 << 20, 'y')})));
  });
  MakeBox(socket());
  std::string program = kProgram;
  program.replace(program.find("sys.argv[1]"), 11, "'x' * 5000000");
  ASSERT_TRUE(box_->folder().Write("ask.py", program));
  EXPECT_EQ(Run("/kb/kb-bridge 8080 /kb/model.sock -- python3 ask.py | tr -dc y | wc -c").output, "3145728\n");
  EXPECT_GT(owner_->told().at(0).prompt_bytes, 5'000'000U);
}

TEST_F(BridgeTest, StandardStreams) {
  const std::filesystem::path path = folder_->path() / "echo.sock";
  const Fd listening(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = ""};
  path.string().copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(bind(listening.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(listening.get(), 4), 0);
  MakeBox(path);
  std::thread echo([&] {  // until the other side ends
    const Fd connection(accept(listening.get(), nullptr, nullptr));
    char bytes[4096];
    for (ssize_t got; (got = read(connection.get(), bytes, sizeof bytes)) > 0;) {
      EXPECT_EQ(send(connection.get(), bytes, static_cast<size_t>(got), MSG_NOSIGNAL), got);
    }
  });
  EXPECT_EQ(Run("seq 1 100000 | /kb/kb-bridge - /kb/model.sock | tail -1").output, "100000\n");
  echo.join();
}

TEST_F(BridgeTest, WhatGoesWrongIsSaid) {
  const auto running = Start(Wire::kChat, [](const ServedRequest&, int, ServedConnection*) {});
  MakeBox(socket());
  const std::pair<const char*, const char*> cases[] = {
      {"/kb/kb-bridge", "usage: kb-bridge PORT SOCKET"},
      {"/kb/kb-bridge 0 /kb/model.sock", "0 is no port"},
      {"/kb/kb-bridge 8080x /kb/model.sock", "8080x is no port"},
      {"/kb/kb-bridge 8080 /kb/model.sock -- /no/such/program", "cannot start /no/such/program: No such file"},
      {"/kb/kb-bridge 8080 /kb/model.sock -- /kb/kb-bridge 8080 /kb/model.sock", "cannot listen on 127.0.0.1:8080"},
      {"/kb/kb-bridge - /kb/other.sock", "cannot connect to /kb/other.sock: No such file"},
  };
  for (const auto& [command, said] : cases) {
    const CommandResult result = Run(command);
    EXPECT_EQ(result.status.code, 127) << command;
    EXPECT_THAT(result.output, HasSubstr(said));
  }
  EXPECT_EQ(Run("/kb/kb-bridge 8080 /kb/model.sock -- sh -c 'kill -TERM $$'; echo $?").output, "143\n");
}

}  // namespace
}  // namespace kb
