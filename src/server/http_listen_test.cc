#include "server/http_listen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "server/http_test_util.h"

namespace kb::server {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

mode_t ModeOf(const fs::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class ListenTest : public testing::Test {
 protected:
  static std::string ErrorOf(const Result<ListeningSocket>& result) {
    return result ? "it listens" : result.error().message;
  }
  TempDir dir_ = *TempDir::Create("kb-listen");
  const fs::path path_ = dir_.path() / "folder" / "s";
};

TEST_F(ListenTest, OnlyTheUserMayConnect) {
  const mode_t before = umask(0);
  const auto listening = ListeningSocket::Unix(path_);
  umask(before);
  ASSERT_TRUE(listening) << listening.error().message;
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_EQ(ModeOf(path_.parent_path()), 0700u);
  EXPECT_EQ(ModeOf(path_.string() + ".lock"), 0600u);
}

TEST_F(ListenTest, ALivingSocketStays) {
  const auto first = ListeningSocket::Unix(path_);
  ASSERT_TRUE(first);
  EXPECT_THAT(ErrorOf(ListeningSocket::Unix(path_)),
              AllOf(HasSubstr("another server listens on"), HasSubstr("choose")));
  EXPECT_TRUE(ConnectRaw(path_).valid());
}

TEST_F(ListenTest, ASocketThatTookNoLockStaysToo) {
  const fs::path path = dir_.path() / "s";
  const Fd other(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(other.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(other.get(), 8), 0);
  EXPECT_THAT(ErrorOf(ListeningSocket::Unix(path)), HasSubstr("another program listens on"));
  EXPECT_TRUE(ConnectRaw(path).valid());
}

TEST_F(ListenTest, ADeadProcessIsSucceeded) {
  const pid_t child = fork();
  if (child == 0) {
    const auto listening = ListeningSocket::Unix(path_);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(fs::exists(path_));
  ASSERT_FALSE(ConnectRaw(path_).valid());
  const auto listening = ListeningSocket::Unix(path_);
  ASSERT_TRUE(listening) << listening.error().message;
  EXPECT_TRUE(ConnectRaw(path_).valid());
  EXPECT_EQ(ModeOf(path_), 0600u);
}

TEST_F(ListenTest, AtTheEndTheFileGoesUnlessItIsAnothers) {
  { ASSERT_TRUE(ListeningSocket::Unix(path_)); }
  EXPECT_FALSE(fs::exists(path_));
  {
    const auto listening = ListeningSocket::Unix(path_);
    ASSERT_TRUE(listening);
    fs::remove(path_);
    std::ofstream(path_) << "another's";
  }
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_THAT(ErrorOf(ListeningSocket::Unix(path_)), HasSubstr("is no socket"));
  EXPECT_EQ(fs::file_size(path_), 9u);
}

TEST_F(ListenTest, WhatCannotBeIsSaid) {
  const std::string room(107 - dir_.path().native().size() - 1, 'x');
  EXPECT_TRUE(ListeningSocket::Unix(dir_.path() / room));
  EXPECT_THAT(ErrorOf(ListeningSocket::Unix(dir_.path() / (room + "x"))),
              AllOf(HasSubstr("107"), HasSubstr("has 108")));
  EXPECT_THAT(ErrorOf(ListeningSocket::Unix(dir_.path() / "no" / "folder" / "s")), HasSubstr("does not exist"));
  std::ofstream(dir_.path() / "file") << "x";
  EXPECT_THAT(ErrorOf(ListeningSocket::Unix(dir_.path() / "file" / "s")), HasSubstr("Not a directory"));
}

TEST_F(ListenTest, AFolderWithoutRightsIsSaid) {
  fs::create_directory(dir_.path() / "shut");
  fs::permissions(dir_.path() / "shut", fs::perms::owner_read);
  const uid_t user = geteuid();
  if (user == 0) {  // who may write anywhere
    ASSERT_EQ(seteuid(65534), 0);
  }
  const auto listening = ListeningSocket::Unix(dir_.path() / "shut" / "s");
  ASSERT_EQ(seteuid(user), 0);
  EXPECT_THAT(ErrorOf(listening), HasSubstr("Permission denied"));
}

TEST_F(ListenTest, ATcpPortHasOneServer) {
  const auto first = ListeningSocket::Tcp("127.0.0.1:0");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(first->address(), testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
  EXPECT_THAT(ErrorOf(ListeningSocket::Tcp(first->address())),
              AllOf(HasSubstr(first->address()), HasSubstr("another port")));
}

TEST_F(ListenTest, AddressesOfBothKinds) {
  if (const auto six = ListeningSocket::Tcp("[::1]:0")) {
    EXPECT_THAT(six->address(), testing::MatchesRegex("\\[::1\\]:[1-9][0-9]*"));
  }
  EXPECT_TRUE(ListeningSocket::Tcp("localhost:0"));
  for (const char* bad : {"", "8080", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", "::1:80",
                          "127.0.0.1:-1", "[]:80"}) {
    EXPECT_THAT(ErrorOf(ListeningSocket::Tcp(bad)), HasSubstr("HOST:PORT")) << bad;
  }
  EXPECT_THAT(ErrorOf(ListeningSocket::Tcp("192.0.2.1:0")), HasSubstr("no such address"));
}

}  // namespace
}  // namespace kb::server
