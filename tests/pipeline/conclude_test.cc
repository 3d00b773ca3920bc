// kernelbench conclude: today's rule over what is stored.

#include <sqlite3.h>

#include "fixture.h"

namespace kb::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConcludeTest : public PipelineTest {
 protected:
  Ended Conclude(const std::string& what, const Arguments& more = {}) {
    Arguments arguments = {"conclude", what};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  void ChangeStore(const char* sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(store().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
};

TEST_F(ConcludeTest, EveryEndOfATrialIsToldAgain) {
  const std::string wrong = Write("wrong.cpp",
                                  "#include <kernelbench/kernel.h>\nint kb_forward(const kb_call* call) {\n"
                                  "  static_cast<float*>(call->outputs[0].data)[0] = 1;\n  return 0;\n}\n");
  const std::string dies = Write("dies.cpp",
                                 "#include <kernelbench/kernel.h>\n#include <cstdlib>\n"
                                 "int kb_forward(const kb_call*) { std::abort(); }\n");
  const std::string unbuilt = Write("unbuilt.cpp", "this is no C++\n");
  const Ended judged = Run(Measure({Right(), wrong, dies, unbuilt}));
  ASSERT_EQ(StoredEvaluations(), 4);
  for (const auto& [name, outcome] :
       {std::pair("right.cpp", "same"), {"wrong.cpp", "same"}, {"dies.cpp", "same"}, {"unbuilt.cpp", "no_trial"}}) {
    const Ended ended = Conclude(judged.Of(name).at("id"), {"--json"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(json::parse(ended.out).at("outcome"), outcome) << ended.out;
  }
}

TEST_F(ConcludeTest, WhatIsFromBeforeHoldsTooLittle) {
  const json judged = Judged();
  ChangeStore("DELETE FROM measurements");
  const Ended ended = Conclude(judged.at("id"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("1 hold too little: it was judged before measurements were stored"));
}

TEST_F(ConcludeTest, AnotherProtocolIsTheSameMeasurements) {
  const json judged = Judged({"--protocol", "strict"});
  EXPECT_THAT(Conclude(judged.at("id"), {"--protocol", "kernelbench"}).out,
              HasSubstr("it was judged with another comparison"));
  EXPECT_THAT(Conclude(judged.at("id"), {"--protocol", "nix"}).err, StartsWith("kernelbench: no protocol \"nix\""));
}

TEST_F(ConcludeTest, WhatIsNotThereIsSaid) {
  EXPECT_EQ(Conclude("none").code, 2) << "there is no store";
  Judged();
  const Ended ended = Conclude("none");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no run none"));
}

}  // namespace
}  // namespace kb::pipeline
