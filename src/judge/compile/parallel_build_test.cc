// Several threads build at once, some of them the same candidate, through one builder and one cache.

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "judge/compile/builder.h"

namespace kb {
namespace {

Candidate Native(int number) {
  Candidate candidate;
  candidate.path = "candidate.cpp";
  candidate.kind = CandidateKind::kNative;
  candidate.source = "extern \"C\" int f() { return " + std::to_string(number) + "; }\n";
  if (number == 0) candidate.source = "no C++\n";
  return candidate;
}

TEST(ParallelBuilds, OfEqualAndOfDifferentCandidates) {
  const TempDir directory = *TempDir::Create("parallel-builds");
  ASSERT_EQ(setenv("KERNELBENCH_CACHE", directory.path().c_str(), 1), 0);
  const auto sandbox = Sandbox::Create(Installation{.libexec = KB_PROGRAMS}, Isolation::kProcess, {"user"});
  ASSERT_TRUE(sandbox);
  const auto builder = Builder::Create(*FindInstallation(), &*sandbox);
  ASSERT_TRUE(builder) << builder.error().message;
  std::vector<Candidate> candidates;
  for (int i = 0; i < 8; ++i) candidates.push_back(Native(i % 3));
  std::vector<Result<BuildResult>> results(candidates.size(), BuildResult{});
  std::vector<std::thread> threads;
  for (size_t i = 0; i < candidates.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = builder->BuildNative(candidates[i], {}, {}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(results[i]->ok, i % 3 != 0) << results[i]->log;
    EXPECT_TRUE(builder->BuildNative(candidates[i], {}, {})->cached);
    EXPECT_EQ(results[i]->artifact, results[i % 3]->artifact);
  }
}

}  // namespace
}  // namespace kb
