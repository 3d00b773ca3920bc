// The problems of this project: are they all there, and do they say what every problem must say?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "judge/problem/selection.h"

namespace kb {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// Problems that may differ from KernelBench's of the same name; docs/reference/problems.md says why.
const std::set<std::string> kMayDiffer = {"1/90", "1/93", "1/94", "1/95", "1/96", "1/98", "1/99", "1/100", "2/23",
                                          "2/36", "2/42", "2/44", "2/65", "2/80", "2/83", "2/93", "3/33",  "3/35"};

std::vector<SelectedProblem> All(const Selection& selection = {}) {
  auto selected = Select(KB_PROBLEMS, selection);
  EXPECT_TRUE(selected) << selected.error().message;
  return selected ? *selected : std::vector<SelectedProblem>();
}

TEST(Decks, AreComplete) {
  std::map<std::string, int> count;
  for (const SelectedProblem& problem : All()) {
    ++count[problem.file.deck + (problem.file.level > 0 ? " " + std::to_string(problem.file.level) : "")];
  }
  EXPECT_THAT(count, UnorderedElementsAre(Pair("kernelbench 1", 100), Pair("kernelbench 2", 100),
                                          Pair("kernelbench 3", 50), Pair("kernelbench 4", 20), Pair("v3 1", 15),
                                          Pair("v3 2", 15), Pair("v3 3", 3), Pair("v3 4", 8), Pair("modern", 14)));
}

TEST(Decks, EveryProblemSaysWhatItIs) {
  const std::set<std::string> families = {"matmul",
                                          "convolution",
                                          "transposed convolution",
                                          "pointwise",
                                          "normalisation",
                                          "pooling",
                                          "reduction",
                                          "scan",
                                          "loss",
                                          "attention",
                                          "recurrent",
                                          "mlp",
                                          "convolutional network",
                                          "transformer",
                                          "state space",
                                          "mixture of experts",
                                          "quantised matmul"};
  for (const SelectedProblem& problem : All()) {
    const ProblemMetadata& metadata = problem.metadata;
    EXPECT_TRUE(families.contains(metadata.family)) << problem.file.name << ": " << metadata.family;
    EXPECT_THAT(metadata.sizes, Contains("small")) << problem.file.name;
    EXPECT_THAT(metadata.precisions, Contains("fp32")) << problem.file.name;
    for (const std::string& name : metadata.distributions) {
      EXPECT_THAT(name, AnyOf("centred", "outliers", "scaled", "sparse", "structured")) << problem.file.name;
    }
    EXPECT_NE(problem.file.title, problem.file.path.stem()) << "has no docstring";
  }
}

TEST(Decks, OnlyDeclaredProblemsDiffer) {
  for (const SelectedProblem& problem : All({.terms = {"kernelbench"}})) {
    for (const auto& [part, why] : problem.metadata.facts_differ.items()) {
      EXPECT_TRUE(kMayDiffer.contains(problem.file.name)) << problem.file.name;
      EXPECT_THAT(part, AnyOf("init", "inputs", "state", "outputs", "numbers"));
      EXPECT_TRUE(why.is_string() && !why.get<std::string>().empty()) << problem.file.name;
    }
  }
}

TEST(Decks, WhatIsNotScored) {
  std::vector<std::string> unscored;
  for (const SelectedProblem& problem : All()) {
    if (!problem.metadata.unscored.empty()) unscored.push_back(problem.file.name);
  }
  EXPECT_THAT(unscored, ElementsAre("2/83", "3/18", "3/24", "3/28", "3/36", "3/37", "3/40", "3/45"));
}

TEST(Decks, ListsNameProblemsThatAreThere) {
  EXPECT_EQ(All({.terms = {"metr-removed"}}).size(), 41u);
  const auto subset = All({.terms = {"subset"}});
  std::set<std::string> families;
  for (const SelectedProblem& problem : subset) {
    families.insert(problem.metadata.family);
    EXPECT_THAT(problem.metadata.unscored, IsEmpty()) << problem.file.name;
  }
  EXPECT_EQ(subset.size(), 40u);
  EXPECT_GE(families.size(), 12u);
}

}  // namespace
}  // namespace kb
