#include "agents/kept_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <fstream>
#include <functional>

#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kOwner[] = "me";

class KeptFolderTest : public testing::Test {
 protected:
  KeptFolderTest() {
    GenerationRequest request;
    request.model = "m";
    request.problem = "1/19";
    Begin(request);
  }
  void Begin(const GenerationRequest& request) {
    request_ = store_.ClaimRequest("r", request, kOwner).value().value().id;
    EXPECT_TRUE(store_.BeginEpisode(kOwner, {.request = request_, .opening = "{}"}));
    turn_ = 0;
  }
  Folder MakeFolder() {
    const fs::path path = around_.path() / "task";
    fs::create_directory(path);
    return {Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY)), 0, limits_};
  }
  void Put(const std::string& path, const std::string& contents) {
    std::ofstream(around_.path() / "task" / path, std::ios::binary) << contents;
  }
  // Of a turn that changed the folder, what is kept of it.
  std::vector<std::string> KeptOf(KeptFolder* kept, const Folder& folder) {
    const std::vector<TurnFile> changes = kept->Changes(folder).value();
    const int64_t turn = store_.AskTurn(request_, kOwner, {.number = ++turn_, .kind = "work", .context = "{}"}).value();
    EXPECT_TRUE(store_.AnswerTurn(turn, kOwner, {.answer = "{}"}));
    const Status done = store_.FinishTurn(turn, kOwner, {.results = "{}"}, changes, {});
    EXPECT_TRUE(done) << done.error().message;
    std::vector<std::string> paths;
    for (const TurnFile& file : changes) paths.push_back((file.sha256.empty() ? "-" : "") + file.path);
    return paths;
  }
  std::string Stored(const std::string& path) {
    const std::vector<TurnFile> files = store_.FolderAfter(request_, turn_).value();
    for (const TurnFile& file : files) {
      if (file.path == path) return file.contents;
    }
    return "(none)";
  }

  const TempDir around_{TempDir::Create("kb-kept-test").value()};
  Store store_{Store::Open(around_.path() / "store.sqlite").value()};
  FolderLimits limits_;
  int64_t request_ = 0;
  int turn_ = 0;
};

TEST_F(KeptFolderTest, WhatIsTooLargeIsToldOnceAndStaysAsItWas) {
  const Folder folder = MakeFolder();
  KeptFolder kept(100'000);
  Put("log", "old");
  EXPECT_THAT(KeptOf(&kept, folder), ElementsAre("log"));
  EXPECT_EQ(kept.TakeNotice(), "");
  Put("log", std::string(30'000, 'x'));
  Put("model_new.py", "first");
  EXPECT_THAT(KeptOf(&kept, folder), ElementsAre("model_new.py"));
  EXPECT_THAT(kept.TakeNotice(), AllOf(HasSubstr("of 100000 bytes left"), HasSubstr(": log (30000 bytes)."),
                                       Not(HasSubstr("model_new.py"))));
  EXPECT_EQ(Stored("log"), "old");
  Put("log", std::string(30'001, 'x'));
  EXPECT_THAT(KeptOf(&kept, folder), IsEmpty());
  EXPECT_EQ(kept.TakeNotice(), "");
  Put("log", "small");
  EXPECT_THAT(KeptOf(&kept, folder), ElementsAre("log"));
  EXPECT_EQ(Stored("log"), "small");
  Put("log", std::string(30'000, 'x'));
  EXPECT_THAT(KeptOf(&kept, folder), IsEmpty());
  EXPECT_THAT(kept.TakeNotice(), HasSubstr("log")) << "it was kept meanwhile";
  fs::remove(around_.path() / "task" / "log");
  EXPECT_THAT(KeptOf(&kept, folder), ElementsAre("-log"));
}

TEST_F(KeptFolderTest, TheBytesAreThoseOfAllTurns) {
  const Folder folder = MakeFolder();
  KeptFolder kept(100'000);
  int large = 0;
  for (int i = 0; i < 40; ++i) {
    Put("large", std::to_string(i) + std::string(5000, 'x'));
    Put("small", std::to_string(i));
    const std::vector<std::string> paths = KeptOf(&kept, folder);
    EXPECT_EQ(paths.at(0), "small");
    large += paths.size() == 2 ? 1 : 0;
  }
  EXPECT_GE(large, 10);
  EXPECT_LT(large, 20);
  Put("large", "0" + std::string(5000, 'x'));
  EXPECT_THAT(KeptOf(&kept, folder), ElementsAre("large")) << "its contents are stored already";
}

// Also where another process goes on after each turn.
TEST_F(KeptFolderTest, AProcessThatGoesOnKeepsTheSame) {
  const auto play = [this](const std::function<void(KeptFolder*, Folder*)>& between) {
    Folder folder = MakeFolder();
    auto kept = std::make_unique<KeptFolder>(60'000);
    std::vector<std::vector<std::string>> all;
    for (int i = 0; i < 30; ++i) {
      Put("a", std::to_string(i) + std::string(4000, 'x'));
      Put("b" + std::to_string(i % 7), std::to_string(i) + std::string(300, 'x'));
      all.push_back(KeptOf(kept.get(), folder));
      if (!between) continue;
      kept = std::make_unique<KeptFolder>(60'000);
      between(kept.get(), &folder);
    }
    return all;
  };
  const auto whole = play(nullptr);
  GenerationRequest again;
  again.model = "m";
  again.problem = "1/19";
  again.sample = again.candidate = 1;
  Begin(again);
  fs::remove_all(around_.path() / "task");
  const auto in_parts = play([this](KeptFolder* kept, Folder* folder) {
    const Status restored = kept->Restore(store_, request_, turn_, folder);
    EXPECT_TRUE(restored) << restored.error().message;
  });
  EXPECT_EQ(in_parts, whole);
  EXPECT_THAT(whole.back(), ElementsAre("b1")) << "or nothing was too large";
}

TEST_F(KeptFolderTest, WhatDoesNotFitIntoASnapshotStaysAsItWas) {
  limits_.snapshot_bytes = 1000;
  const Folder folder = MakeFolder();
  KeptFolder kept;
  Put("a", "small at first");
  EXPECT_THAT(KeptOf(&kept, folder), ElementsAre("a"));
  Put("a", std::string(1001, 'x'));
  Put("z", "last");
  EXPECT_THAT(KeptOf(&kept, folder), ElementsAre("z"));
  EXPECT_THAT(kept.TakeNotice(), HasSubstr("a (1001 bytes)"));
  EXPECT_EQ(Stored("a"), "small at first");
}

}  // namespace
}  // namespace kb
