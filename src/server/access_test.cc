#include "server/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/temp_dir.h"

namespace kb::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AccessTest : public ::testing::Test {
 protected:
  HttpHead Head(const std::string& token, const std::string& host = "127.0.0.1:80") const {
    HttpHead head;
    head.headers = {{"host", host}};
    if (!token.empty()) head.headers["authorization"] = "Bearer " + token;
    return head;
  }
  // Its name, or the refusal's status.
  static std::string Who(Access* access, const HttpHead& head) {
    const auto client = access->ClientOf(head);
    return client ? client->name : std::to_string(client.error().status);
  }

  TempDir dir_ = *TempDir::Create("kb-access");
  const std::filesystem::path path_ = dir_.path() / "new" / "tokens.json";
  const TokenFile file_{path_};
};

TEST_F(AccessTest, ATokenIsAddedListedAndTakenAway) {
  EXPECT_TRUE(file_.Read()->empty()) << "there is no file yet";
  const std::string token = file_.Add({"ann", {"judge", "admin"}, 7}).value();
  EXPECT_EQ(token.size(), 67u);
  EXPECT_TRUE(token.starts_with("kb_"));
  ASSERT_TRUE(file_.Add({"bob"}));
  const auto again = file_.Add({"ann"});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUsage);
  EXPECT_THAT(again.error().message, HasSubstr("revoke it first"));
  const std::vector<Token> tokens = file_.Read().value();
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].client.name, "ann");
  EXPECT_THAT(tokens[0].client.rights, ElementsAre("admin", "judge"));
  EXPECT_EQ(tokens[0].client.queued, 7);
  EXPECT_TRUE(file_.Revoke("ann").value());
  EXPECT_FALSE(file_.Revoke("ann").value());
  EXPECT_EQ(file_.Read()->at(0).client.name, "bob");
}

TEST_F(AccessTest, TheFileIsTheOwnersAndHoldsNoToken) {
  const std::string token = file_.Add({"ann"}).value();
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ReadFile(path_)->find(token), std::string::npos);
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  const auto open = file_.Read();
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::kUsage);
  EXPECT_THAT(open.error().message, HasSubstr("chmod 600"));
  EXPECT_FALSE(file_.Add({"bob"}));
  Access access({.tokens = path_});
  EXPECT_EQ(Who(&access, Head(token)), "500") << "the service does not trust it either";
}

TEST_F(AccessTest, ADamagedFileIsNotOverwritten) {
  ASSERT_TRUE(file_.Add({"ann"}));
  for (const char* damage : {"", "{", "[]", "{}", R"({"tokens": [{"name": "ann"}]})", R"({"tokens": [1]})",
                             R"({"tokens": [{"name": 1, "rights": [], "queued": 1, "sha256": "", "created": ""}]})"}) {
    ASSERT_TRUE(WriteFileAtomic(path_, damage, 0600));
    const auto read = file_.Read();
    ASSERT_FALSE(read) << damage;
    EXPECT_THAT(read.error().message, HasSubstr("is no file of tokens"));
    EXPECT_FALSE(file_.Add({"bob"}));
    EXPECT_EQ(ReadFile(path_).value(), damage);
  }
}

TEST_F(AccessTest, ProcessesThatAddAtOnceLoseNothing) {
  ASSERT_TRUE(file_.Add({"first"}));
  constexpr int kProcesses = 4, kEach = 10;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool all = true;
      for (int i = 0; i < kEach; ++i) {
        all = all && file_.Add({"p" + std::to_string(process) + "." + std::to_string(i)});
      }
      _exit(all ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(file_.Read()->size(), size_t{kProcesses * kEach + 1});
}

TEST_F(AccessTest, ARunningServiceSeesEachChange) {
  Access access({.tokens = path_});
  EXPECT_EQ(Who(&access, Head("kb_0")), "401");
  const std::string ann = file_.Add({"ann"}).value();
  EXPECT_EQ(Who(&access, Head(ann)), "ann");
  for (int i = 0; i < 50; ++i) {  // also several in one tick of the file system's clock
    const std::string bob = file_.Add({"bob"}).value();
    EXPECT_EQ(Who(&access, Head(bob)), "bob");
    ASSERT_TRUE(file_.Revoke("bob").value());
    EXPECT_EQ(Who(&access, Head(bob)), "401");
  }
  const std::filesystem::path aside = dir_.path() / "aside";
  std::filesystem::rename(path_, aside);
  EXPECT_EQ(Who(&access, Head(ann)), "401");
  std::filesystem::rename(aside, path_);
  EXPECT_EQ(Who(&access, Head(ann)), "ann");
}

TEST_F(AccessTest, OnlyAWholeTokenIsOne) {
  Access access({.tokens = path_});
  const std::string ann = file_.Add({"ann"}).value();
  for (const std::string& wrong : {ann + "0", ann.substr(0, 66), std::string("x"), " " + ann}) {
    EXPECT_EQ(Who(&access, Head(wrong)), "401") << wrong;
  }
  const auto none = access.ClientOf(Head(""));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().detail, HasSubstr("kernelbench token add"));
  HttpHead basic = Head("");
  basic.headers["authorization"] = "Basic " + ann;
  EXPECT_EQ(Who(&access, basic), "401");
}

TEST_F(AccessTest, AUrlMayCarryTheToken) {
  Access access({.tokens = path_});
  (void)file_.Add({"ann"});
  // Of a token whose letters are known.
  std::string tokens = ReadFile(path_).value();
  const size_t at = tokens.find("\"sha256\":\"") + 10;
  tokens.replace(at, 64, Sha256("kb_1"));
  ASSERT_TRUE(WriteFileAtomic(path_, tokens, 0600));
  HttpHead head = Head("");
  for (const auto& [given, who] : {std::pair("Basic eDprYl8x", "ann"),
                                   {"Basic OmtiXzE=", "ann"},      // x:kb_1 and :kb_1
                                   {"Basic eDprYl8xMA==", "401"},  // x:kb_10
                                   {"Basic a2JfMQ==", "401"},      // kb_1
                                   {"Basic eDo=", "401"},
                                   {"Basic ", "401"},
                                   {"Basic ?", "401"},
                                   {"basic", "401"}}) {
    head.headers["authorization"] = given;
    EXPECT_EQ(Who(&access, head), who) << given;
  }
}

TEST_F(AccessTest, OverTheUnixSocketItIsTheUser) {
  Access access({.tokens = path_});
  HttpHead head;
  head.local = true;
  const auto client = access.ClientOf(head);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->name, "local");
  for (const std::string& right : kRights) EXPECT_TRUE(client->rights.contains(right)) << right;
}

TEST_F(AccessTest, WithoutTokensWhoeverComesMayJudge) {
  Access closed({.tokens = path_, .no_auth = true}), open({.tokens = path_, .no_auth = true, .allow_problems = true});
  EXPECT_THAT(closed.ClientOf(Head(""))->rights, ElementsAre("judge"));
  EXPECT_THAT(open.ClientOf(Head(""))->rights, ElementsAre("judge", "problems"));
}

TEST_F(AccessTest, PagesOfOtherSitesDoNotReachIt) {
  Access access({.tokens = path_, .no_auth = true, .hosts = {"judge.example.org"}});
  for (const char* host : {"127.0.0.1:80", "127.0.0.1", "localhost:8080", "localhost", "[::1]:80", "[::1]", "10.1.2.3",
                           "judge.example.org", "Judge.Example.org:443", "LOCALHOST"}) {
    EXPECT_EQ(Who(&access, Head("", host)), "anyone") << host;
  }
  for (const char* host :
       {"evil.example.org", "127.0.0.1.evil.example.org", "judge.example.org.evil", "", "localhost.evil"}) {
    EXPECT_EQ(Who(&access, Head("", host)), "403") << host;
  }
  HttpHead head = Head("", "localhost:80");
  for (const char* origin :
       {"http://evil.example.org", "null", "http://localhost:81", "localhost", "http://localhost"}) {
    head.headers["origin"] = origin;
    EXPECT_EQ(Who(&access, head), "403") << origin;
  }
  head.headers["origin"] = "http://localhost:80";
  EXPECT_EQ(Who(&access, head), "anyone");
}

}  // namespace
}  // namespace kb::server
