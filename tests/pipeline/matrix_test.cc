// A matrix over cards: asked once, judged on every card, wherever that is.

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "fixture.h"

namespace kb::pipeline {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWaits[] = "jobs wait for h100: run the same command there, with this store";

class MatrixTest : public PipelineTest {
 protected:
  void SetUp() override {
    PipelineTest::SetUp();
    Write("models.toml", "[models.m]\nprovider = \"replay\"\npath = \"answers.jsonl\"\n");
    Answers(2);
  }

  // Without a candidate: what is judged then needs no GPU.
  void Answers(int count) const {
    std::string lines;
    for (int sample = 0; sample < count; ++sample) {
      lines += json{{"sample", sample}, {"text", fmt::format("No. ({})", sample)}}.dump() + "\n";
    }
    Write("answers.jsonl", lines);
  }

  std::string Matrix(const std::string& devices, const std::string& more = "samples = 2\n") const {
    return Write("matrix.toml",
                 fmt::format("problems = [\"{}\"]\nmodels = [\"m\"]\nmodels-file = \"{}\"\nrun = "
                             "\"r\"\nprotocol = \"quick\"\nshots = 0\ndevices = {}\n{}",
                             Write("relu.py", kReluProblem), (root() / "models.toml").string(), devices, more));
  }

  // A machine with these GPUs.
  Environment Machine(const std::vector<std::string>& models) const {
    const fs::path directory = root() / fmt::format("machine{}", machines_++);
    fs::create_directories(directory / "devices");
    for (size_t i = 0; i < models.size(); ++i) {
      const fs::path place = directory / "driver" / fmt::format("0000:0{}:00.0", i);
      fs::create_directories(place);
      std::ofstream(place / "information")
          << fmt::format("Model: \t\t {}\nGPU UUID: \t GPU-{}{}\nDevice Minor: \t {}\n", models[i], "0000", i, i);
      std::ofstream(directory / "devices" / fmt::format("nvidia{}", i));
    }
    return {{"KERNELBENCH_NVIDIA", directory.string()}};
  }

  // Of `score --json`: what a model's scores lack, by device.
  std::map<std::string, std::vector<std::string>> Missing(const Arguments& more) const {
    Arguments arguments = {"score", "r", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::map<std::string, std::vector<std::string>> missing;
    const json scores = json::parse(Run(arguments).out);
    for (const json& model : scores.at("models")) {
      auto& of = missing[model.at("device").get<std::string>()];
      for (const json& each : model.value("missing", json::array())) of.push_back(each.at("reason"));
    }
    return missing;
  }

  mutable int machines_ = 0;
};

TEST_F(MatrixTest, IsAskedOnceAndWaitsForCardsThatAreElsewhere) {
  const Environment here = Machine({"NVIDIA H200"}), there = Machine({"NVIDIA H100 80GB HBM3"});
  const std::string file = Matrix(R"(["h100", "H200"])"), elsewhere = (root() / "elsewhere.db").string();
  const Ended first = Run({"matrix", file}, here);
  EXPECT_EQ(first.code, 0) << first;
  EXPECT_THAT(first.out, AllOf(HasSubstr("2 of 2 answers"), HasSubstr("h200: 2 judged"),
                               HasSubstr(std::string("2 ") + kWaits), Not(HasSubstr("cuda:h100 ·"))));
  const auto missing = Missing({});
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_THAT(missing.at("cuda"), testing::IsEmpty()) << "those of the other card are none of this one's";
  EXPECT_THAT(missing.at("cuda:h100"), testing::ElementsAre("it waits for h100", "it waits for h100"));
  EXPECT_EQ(Missing({"--device", "h100"}).at("cuda:h100").size(), 2u);
  EXPECT_FALSE(Missing({"--device", "NVIDIA H200"}).contains("cuda:h100"));

  Answers(0);  // whatever is asked from now on fails
  const Ended again = Run({"matrix", file}, here);
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_THAT(again.out, AllOf(HasSubstr("2 calls"), HasSubstr(kWaits), Not(HasSubstr("judged now"))));

  const std::string archive = (root() / "r.kbrun").string(), back = (root() / "back.kbrun").string();
  ASSERT_EQ(Run({"export", "r", "-o", archive}).code, 0);
  ASSERT_EQ(Run({"import", archive, "--store", elsewhere}).code, 0);
  const Ended moved = Run({"matrix", file, "--store", elsewhere}, there);
  EXPECT_EQ(moved.code, 0) << moved;
  EXPECT_THAT(moved.out, AllOf(HasSubstr("h100: 2 judged"), HasSubstr("h200: 2 judged"), Not(HasSubstr("wait for"))));
  ASSERT_EQ(Run({"export", "r", "-o", back, "--store", elsewhere}).code, 0);
  ASSERT_EQ(Run({"import", back}).code, 0);
  const Ended merged = Run({"matrix", file, "--json"}, here);
  EXPECT_EQ(merged.code, 0) << merged;
  int cards = 0;
  for (const json& line : merged.Lines()) {
    EXPECT_FALSE(line.contains("verdict"));
    if (!line.contains("card")) continue;
    ++cards;
    EXPECT_EQ(line.at("judged"), 2) << line;
    EXPECT_EQ(line.at("open"), 0) << line;
  }
  EXPECT_EQ(cards, 2);
  EXPECT_EQ(Missing({}).size(), 1u);
  EXPECT_EQ(Run({"store", "check"}).code, 0);
}

TEST_F(MatrixTest, WithoutAnyCardItAsksAndQueues) {
  const Ended ended = Run({"matrix", Matrix(R"(["h100", "cuda:gpu9000"])", "samples = 2\nmax-evaluations = 1\n")});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("2 of 2 answers"), HasSubstr(kWaits), HasSubstr("2 jobs wait for gpu9000")));
  EXPECT_THAT(ended.err, HasSubstr("no GPU is known as gpu9000"));
  EXPECT_EQ(StoredEvaluations(), 0);
}

TEST_F(MatrixTest, AsksByTheVerdictsOfTheFirstCardAlone) {
  const Environment here = Machine({"NVIDIA H200"}), there = Machine({"NVIDIA H100 80GB HBM3"});
  const std::string refine = "strategy = \"refine\"\nsamples = 1\nturns = 2\n";
  const std::string file = Matrix(R"(["h100", "h200"])", refine);
  Write("answers.jsonl", json{{"text", "No."}}.dump() + "\n");
  const Ended early = Run({"matrix", file}, here);
  EXPECT_EQ(early.code, 0) << early;
  EXPECT_THAT(early.err, HasSubstr("refine asks by the verdicts of h100, the first card, which is not here"));
  const Ended none = Run({"matrix", file});
  EXPECT_EQ(none.code, 3) << none;
  EXPECT_THAT(none.err, HasSubstr("run the same command on a machine with it"));

  const Ended led = Run({"matrix", file}, there);
  EXPECT_EQ(led.code, 0) << led;
  EXPECT_THAT(led.out,
              AllOf(HasSubstr("2 of 2 answers"), HasSubstr("h100: 2 judged"), HasSubstr("2 jobs wait for h200")));
  Write("answers.jsonl", json{{"problem", "none"}, {"text", "No."}}.dump() + "\n");
  const Ended followed = Run({"matrix", file}, here);
  EXPECT_EQ(followed.code, 0) << followed;
  EXPECT_THAT(followed.out, HasSubstr("h200: 2 judged")) << "both turns";
  const Ended other = Run({"matrix", Matrix(R"(["h200", "h100"])", refine)}, here);
  EXPECT_EQ(other.code, 2) << other;
  EXPECT_THAT(other.err, HasSubstr("lead was \"cuda:h100\", now \"cuda:h200\""));
}

TEST_F(MatrixTest, OfDevicesThatCannotBeIsRefusedBeforeAnythingIsAsked) {
  const Environment two = Machine({"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"});
  const auto said = [&](const std::string& devices, const std::string& more = "") {
    const Ended ended = Run({"matrix", Matrix(devices, more)}, two);
    EXPECT_EQ(ended.code, 2) << ended;
    return ended.err;
  };
  EXPECT_THAT(said("[]"), HasSubstr("an empty list"));
  EXPECT_THAT(said(R"(["h100", "H100"])"), HasSubstr("h100 is there twice"));
  EXPECT_THAT(said(R"(["h100", "gpu9000"])"), HasSubstr("if there is such a card, write cuda:gpu9000"));
  EXPECT_THAT(said(R"(["cpu", "cuda:0"])"), HasSubstr("cpu,cuda:0"));
  EXPECT_THAT(said(R"(["cpu", "h100"])"), HasSubstr("does not run on the other"));
  EXPECT_THAT(said(R"(["h100", "cuda:0"])"), HasSubstr("all GPUs by their cards"));
  EXPECT_THAT(said(R"(["h100", "a100"])"), HasSubstr("such as a100-40gb"));
  EXPECT_THAT(said(R"(["a100-40gb", "nvidia-a100-40gb"])"), HasSubstr("are the same GPU"));
  EXPECT_THAT(said(R"(["h100", 7])"), HasSubstr("devices"));
  EXPECT_THAT(said(R"([" "])"), HasSubstr("names no card"));
  EXPECT_THAT(said(R"(["h100"])", "hardware = \"auto\"\n"), HasSubstr("name the GPU that prompts describe"));
  EXPECT_THAT(said(R"("gpu9000")"), HasSubstr("write cuda:gpu9000")) << "one alone needs no list";
  EXPECT_THAT(said(R"(["h100"])", "backend = \"cpp\"\n"), HasSubstr("cpp"));
  EXPECT_FALSE(fs::exists(store()));
}

}  // namespace
}  // namespace kb::pipeline
