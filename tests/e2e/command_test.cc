// The commands beside eval, and what the command line accepts.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "harness.h"

namespace kb::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using CommandTest = EngineTest;

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(CommandTest, SaysThatItsOutputCannotBeWritten) {
  const Fd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  for (const Arguments& arguments : {Arguments{"protocols"}, {"problems", "show", "level1"}}) {
    const Ended ended = StartInto(full.get(), arguments).Wait();
    EXPECT_EQ(ended.code, 3) << ended;
    EXPECT_THAT(ended.err, HasSubstr("cannot write to standard output: No space left on device"));
  }
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd write_end(ends[1]);
  close(ends[0]);
  const Ended unread = StartInto(write_end.get(), {"problems", "show", "level1"}).Wait();
  EXPECT_EQ(unread.code, 141) << unread;
  EXPECT_THAT(unread.err, IsEmpty());
}

TEST_F(CommandTest, HelpVersionAndUnknownWords) {
  const Arguments helps[] = {{"--help"},
                             {"eval", "--help"},
                             {"show", "--help"},
                             {"list", "--help"},
                             {"report", "--help"},
                             {"score", "--help"},
                             {"compare", "--help"},
                             {"problems", "--help"},
                             {"protocols", "--help"},
                             {"problems", "validate", "--help"}};
  for (const Arguments& arguments : helps) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 0) << arguments[0] << ended;
    EXPECT_THAT(ended.out, HasSubstr("Usage"));
    EXPECT_THAT(ended.err, IsEmpty());
  }
  EXPECT_THAT(Run({"--version"}).out, HasSubstr("kernelbench "));
  const std::string problem = Write("relu.py", kReluProblem), candidate = Write("right.cpp", kReluNative);
  const Arguments wrong[] = {{},
                             {"judge"},
                             {"eval"},
                             {"eval", problem},
                             {"eval", problem, candidate, "--no-such-flag"},
                             {"eval", problem, candidate, "--isolation", "none"},
                             {"eval", problem, candidate, "--threads", "-1"},
                             {"eval", problem, candidate, "--jobs", "many"},
                             {"list", "--limit", "-3"},
                             {"show"},
                             {"problems"},
                             {"problems", "show", "9/999"},
                             {"protocols", "no_such_protocol"},
                             {"eval", problem, candidate, "--protocol", "no_such_protocol"}};
  for (const Arguments& arguments : wrong) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 2) << ::testing::PrintToString(arguments) << ended;
    EXPECT_THAT(ended.err, Not(IsEmpty())) << ::testing::PrintToString(arguments);
    EXPECT_THAT(ended.out, IsEmpty());
  }
  EXPECT_THAT(Run({"protocols", "no_such_protocol"}).err, HasSubstr("quick"));
  EXPECT_THAT(Run({"judge", "--json"}).err,
              HasSubstr("no command \"judge\" (did you mean \"rejudge\"?); see kernelbench --help"));
  EXPECT_THAT(Run({"eval", "--devise", "cpu"}).err, HasSubstr("no flag --devise (did you mean \"--device\""));
  const Ended none = Run({"help", "evla"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no command \"evla\" (did you mean \"eval\"?)"));
  EXPECT_THAT(Run({"help", "store", "check"}).out, HasSubstr("kernelbench store check"));
  EXPECT_THAT(Run({"store", "mend"}).err, HasSubstr("no command \"mend\"; see kernelbench store --help"));
  EXPECT_EQ(Run({"eval", problem, candidate, "--device", "abacus"}).code, 2);
}

// This machine has no GPU.
TEST_F(CommandTest, AGpuThatIsNotThereIsSaidAndNothingIsStored) {
  const std::string problem = Write("relu.py", kReluProblem);
  const std::string module = Write("module.py", std::string(kReluProblem) + "\nclass ModelNew(Model):\n    pass\n");
  const std::string native = Write("native.cpp", kReluNative), kernel = Write("kernel.cu", kReluNative);
  const Ended sanitized = Run({"eval", problem, module, "--sanitize"});
  EXPECT_EQ(sanitized.code, 2) << sanitized;
  EXPECT_THAT(sanitized.err, HasSubstr("NVIDIA GPU"));
  for (const Arguments& arguments :
       std::vector<Arguments>{{"eval", problem, module, "--device", "cuda"},
                              {"eval", problem, native, "--device", "cuda"},
                              {"eval", problem, kernel},
                              {"profile", problem, module},
                              {"run", root().string(), "--devices", "cuda"},
                              {"baseline", problem, "--device", "cuda"},
                              {"problems", "audit", problem, "--device", "cuda"},
                              {"generate", problem, "--model", "replay:none", "--run", "r", "--devices", "cuda"},
                              {"serve", "--devices", "cuda"}}) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 3) << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("no NVIDIA GPU on this machine"), Not(HasSubstr("Traceback")))) << ended;
    EXPECT_THAT(ended.out, IsEmpty());
  }
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(CommandTest, AStoreThatIsNotThere) {
  const Ended list = Run({"list"});
  EXPECT_EQ(list.code, 0) << list;
  EXPECT_THAT(list.out, HasSubstr("no evaluations"));
  EXPECT_THAT(Run({"list", "--json"}).out, IsEmpty());
  const Ended mistyped = Run({"list", "--store", (root() / "stor.sqlite").string()});
  EXPECT_EQ(mistyped.code, 2) << mistyped;
  EXPECT_THAT(mistyped.err, HasSubstr("stor.sqlite does not exist"));
  const Ended show = Run({"show", "2026"});
  EXPECT_EQ(show.code, 2) << show;
  EXPECT_THAT(show.err, AllOf(HasSubstr(store().string()), HasSubstr("kernelbench eval")));
  const fs::path page = root() / "empty.html";
  const Ended report = Run({"report", "-o", page.string()});
  EXPECT_EQ(report.code, 0) << report;
  EXPECT_THAT(report.out, HasSubstr("0 evaluations"));
  EXPECT_THAT(Contents(page), HasSubstr("</html>"));
  EXPECT_FALSE(fs::exists(store())) << "reading made a store";
}

TEST_F(CommandTest, NumbersOutOfRangeAreRefusedInFewWords) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"rejudge", "r", "--count", "0"}, "--count: \"0\" is no whole number of at least 1; see kernelbench "},
      {{"rejudge", "r", "--count", "abc"}, "--count: \"abc\" is no whole number of at least 1; see kernelbench "},
      {{"problems", "list", "--sample", "1.5"}, "--sample: \"1.5\" is no whole number of at least 1; see kernelbench "},
      {{"list", "--limit", "-3"}, "--limit: \"-3\" is no whole number of at least 0; see kernelbench "},
      {{"score", "--cap", "0"}, "--cap: \"0\" is no number above 0; see kernelbench "},
      {{"generate", "--max-usd", "nan"}, "--max-usd: \"nan\" is no number above 0; see kernelbench "},
      {{"generate", "--max-tokens", "0"}, "--max-tokens: \"0\" is no whole number of at least 1; see kernelbench "},
  };
  for (const auto& [arguments, said] : cases) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr(said));
  }
}

TEST_F(CommandTest, ProblemsAndProtocols) {
  const Ended list = Run({"problems", "list"});
  EXPECT_EQ(list.code, 0) << list;
  EXPECT_THAT(list.out, AllOf(HasSubstr("1/19"), HasSubstr("3/43")));
  const Ended as_json = Run({"problems", "list", "--json"});
  for (const json& line : as_json.Lines()) EXPECT_TRUE(fs::exists(line.value("file", ""))) << line;
  EXPECT_GT(as_json.Lines().size(), 3u);
  for (const char* name : {"1/19", "level1/19", "19_ReLU.py", "1:19"}) {
    const Ended show = Run({"problems", "show", name});
    EXPECT_EQ(show.code, 0) << show;
    EXPECT_THAT(show.out, HasSubstr("class Model")) << name;
  }
  const Ended validate = Run({"problems", "validate", "1/19", "2/40", "--size", "odd", "--json"});
  EXPECT_EQ(validate.code, 0) << validate;
  ASSERT_EQ(validate.Lines().size(), 2u);
  EXPECT_EQ(validate.Lines()[0].value("name", ""), "1/19");
  for (const char* key : {"size", "inputs", "outputs", "parameters", "notes"}) {
    EXPECT_TRUE(validate.Lines()[1].contains(key)) << key;
  }
  const Ended protocols = Run({"protocols"});
  EXPECT_EQ(protocols.code, 0) << protocols;
  for (const char* name : {"strict", "quick", "kernelbench", "v3", "level3"}) {
    EXPECT_THAT(protocols.out, HasSubstr(name));
    const Ended one = Run({"protocols", name});
    EXPECT_EQ(one.code, 0) << one;
    EXPECT_THAT(one.out, AllOf(HasSubstr("half_width"), HasSubstr("memory_gb")));
  }
}

TEST_F(CommandTest, BadValuesOfKeysAreRefusedByName) {
  const std::string problem = Write("relu.py", kReluProblem), candidate = Write("right.cpp", kReluNative);
  const std::pair<const char*, const char*> cases[] = {
      {"precision", "fp8"},
      {"baseline", "compiled"},
      {"timing", "sundial"},
      {"static", "perhaps"},
      {"measure", "2"},
      {"weight_seed", "x"},
      {"input_seeds", "1,x"},
      {"warmup_rounds", "-1"},
      {"round_checks", ""},
      {"round_checks", "5,3"},
      {"round_checks", "0"},
      {"half_width", "0"},
      {"half_width", "1e999"},
      {"half_width", "nan"},
      {"slow_below", "-1"},
      {"statistic", "mode"},
      {"stress_every", "-1"},
      {"comparison", "eyesight"},
      {"atol", "-1"},
      {"rtol", "-1"},
      {"rtol_rms", "-1"},
      {"anchor_rounds", "-1"},
      {"repeat_bitwise", "1"},
      {"speedup_cap", "-1"},
      {"audits", "-1"},
      {"build_timeout_s", "0"},
      {"call_timeout_s", "soon"},
      {"reference_timeout_s", "0"},
      {"memory_gb", "0"},
      {"memory_gb", "1e30"},
      {"call_timeout_s", "1e30"},
  };
  for (const auto& [key, value] : cases) {
    std::string flag = std::string("--") + key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    // The store cannot be opened, so that nothing runs where a value is
    // accepted.
    const Ended ended = Run({"eval", problem, candidate, flag, value, "--store", "/dev/null/store.sqlite"});
    EXPECT_EQ(ended.code, 2) << flag << " " << value << ": " << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(key)) << flag << " " << value;
  }
}

}  // namespace
}  // namespace kb::e2e
