#include "schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace kb::e2e {
namespace {

using nlohmann::json;

struct Schema {
  std::map<std::string, std::string> types;             // of the keys in the first column
  std::set<std::string> beside;                         // keys that are documented beside another one, in its meaning
  std::map<std::string, std::set<std::string>> nested;  // keys of `mismatch` and `authorship`
};

std::vector<std::string> Quoted(const std::string& text) {
  static const std::regex kQuoted("`([^`]+)`");
  std::vector<std::string> words;
  for (std::sregex_iterator at(text.begin(), text.end(), kQuoted), end; at != end; ++at) words.push_back((*at)[1]);
  return words;
}

std::vector<std::string> Cells(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
  }
  return cells;
}

Schema ReadSchema() {
  Schema schema;
  std::ifstream file(KB_SOURCE_DIR "/docs/reference/evaluation.md");
  EXPECT_TRUE(file.good()) << "no docs/reference/evaluation.md";
  std::string section;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) section = Quoted(line).front();
    if (!line.starts_with("| `")) continue;
    const auto cells = Cells(line);
    for (const std::string& key : Quoted(cells[0])) {
      if (!section.empty()) {
        schema.nested[section].insert(key);
      } else {
        schema.types[key] = cells[1];
      }
    }
    if (!section.empty()) continue;
    for (const std::string& word : Quoted(cells[2])) schema.beside.insert(word);
  }
  EXPECT_GT(schema.types.size(), 20u);
  EXPECT_GT(schema.nested["mismatch"].size(), 10u);
  EXPECT_GT(schema.nested["authorship"].size(), 5u);
  return schema;
}

// "number or null", "[low, high] or null", "array of strings", ...
bool Fits(const json& value, std::string type) {
  static const std::string kOrNull = " or null";
  if (type.ends_with(kOrNull)) {
    if (value.is_null()) return true;
    type.resize(type.size() - kOrNull.size());
  }
  const auto all = [&](auto is) { return std::all_of(value.begin(), value.end(), is); };
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "array of strings") return value.is_array() && all([](const json& item) { return item.is_string(); });
  if (type == "[low, high]")
    return value.is_array() && value.size() == 2 && all([](const json& item) { return item.is_number(); });
  ADD_FAILURE() << "docs/reference/evaluation.md names a type that no test knows: " << type;
  return false;
}

void ExpectKeys(const Schema& schema, const json& evaluation) {
  for (const auto& [key, type] : schema.types) {
    if (!evaluation.contains(key)) {
      ADD_FAILURE() << "docs/reference/evaluation.md documents `" << key << "`, which is not there";
    } else {
      EXPECT_TRUE(Fits(evaluation[key], type)) << key << " should be " << type << ", it is " << evaluation[key];
    }
  }
  for (const std::string& key : KeysOf(evaluation)) {
    EXPECT_TRUE(schema.types.contains(key) || schema.beside.contains(key)) << "`" << key << "` is not documented";
  }
  // Those two are documented beside protocol_keys and isolation.
  for (const char* key : {"protocol_changed", "isolation_info"}) {
    EXPECT_TRUE(Fits(evaluation.value(key, json()), "array of strings")) << key;
  }
}

void ExpectParts(const Schema& schema, const json& evaluation) {
  static const std::set<std::string> kSample = {"index",
                                                "distribution",
                                                "weights",
                                                "scored",
                                                "void",
                                                "candidate_us",
                                                "baseline_us",
                                                "candidate_event_us",
                                                "baseline_event_us",
                                                "candidate_clock_us",
                                                "baseline_clock_us",
                                                "ratio",
                                                "worst"};
  static const std::set<std::string> kCandidate = {"path", "kind", "sha256", "source", "backend"};
  static const std::set<std::string> kEvidence = {"compiler_output", "output",    "traceback",
                                                  "signal",          "exit_code", "static_findings"};
  static const std::set<std::string> kVerdicts = {"not_run",    "static_rejected", "build_failed",  "load_failed",
                                                  "crashed",    "timed_out",       "out_of_memory", "wrong_form",
                                                  "non_finite", "incorrect",       "tampered",      "correct"};
  EXPECT_EQ(KeysOf(evaluation["candidate"]), kCandidate);
  EXPECT_TRUE(kVerdicts.contains(evaluation["verdict"])) << evaluation["verdict"];
  for (const json& sample : evaluation["samples"]) ASSERT_EQ(KeysOf(sample), kSample);
  for (const std::string& key : KeysOf(evaluation["evidence"])) EXPECT_TRUE(kEvidence.contains(key)) << key;
  if (evaluation["mismatch"].is_object()) {
    EXPECT_EQ(KeysOf(evaluation["mismatch"]), schema.nested.at("mismatch"));
  }
  static const std::regex kNote("[a-z0-9_]+: .+");
  static const std::set<std::string> kCodes = {"uncertain", "headline", "clock",  "authorship",
                                               "module",    "weakened", "static", "problem"};
  for (const json& note : evaluation["notes"]) {
    EXPECT_EQ(KeysOf(note), std::set<std::string>({"code", "values", "text"}));
    EXPECT_TRUE(kCodes.contains(note["code"])) << note;
    EXPECT_TRUE(std::regex_match(note["text"].get<std::string>(), kNote)) << note;
  }
}

bool IsRefusal(const std::string& note) {
  return note.starts_with("authorship: ") && note.ends_with(" is not accepted under this protocol");
}

void ExpectAuthorship(const Schema& schema, const json& evaluation) {
  const json& authorship = evaluation["authorship"];
  const bool asked = evaluation["verdict"] == "correct" && evaluation["protocol_keys"]["profile_ms"] > 0;
  if (!asked) {
    EXPECT_TRUE(authorship.is_null()) << authorship;
  }
  if (authorship.is_null()) return;
  EXPECT_EQ(KeysOf(authorship), schema.nested.at("authorship"));
  double sum = 0;
  for (const char* key : {"custom", "library", "python", "other"}) sum += authorship[key].get<double>();
  EXPECT_NEAR(sum, authorship["samples"] == 0 ? 0 : 1, 1e-9);
  EXPECT_LE(authorship["by_object"].size(), 8u);
  if (authorship["samples"] < 30) {
    EXPECT_TRUE(authorship["class"].is_null());
  }
}

std::vector<std::string> TextsOf(const json& notes) {
  std::vector<std::string> texts;
  for (const json& note : notes) texts.push_back(note.at("text"));
  return texts;
}

void ExpectConsistent(const json& evaluation) {
  const bool correct = evaluation["verdict"] == "correct";
  const std::vector<std::string> notes = TextsOf(evaluation["notes"]);
  const bool refused = std::any_of(notes.begin(), notes.end(), IsRefusal);
  EXPECT_EQ(evaluation["reason"] == "", correct && !refused) << evaluation["reason"];
  EXPECT_EQ(evaluation["isolation_info"].empty(), false);
  const json& why = evaluation["no_speedup"];
  const bool measured = correct && why.is_null();
  if (correct) {
    const bool asked = evaluation["protocol_keys"]["measure"] == true;
    EXPECT_EQ(why == "not_measured", !asked);
    EXPECT_EQ(why == "authorship", asked && refused);
    EXPECT_EQ(why == "machine_busy" || why == "too_short", asked && !refused && !why.is_null());
  } else {
    EXPECT_TRUE(why.is_null());
  }
  for (const char* key :
       {"speedup", "speedup_interval", "confidence", "floor", "headline", "baseline_us", "candidate_us"}) {
    EXPECT_EQ(evaluation[key].is_null(), !measured) << key;
  }
  if (!measured) {
    EXPECT_EQ(evaluation["rounds"], 0);
    return;
  }
  EXPECT_LE(evaluation["speedup_interval"][0], evaluation["speedup"]);
  EXPECT_GE(evaluation["speedup_interval"][1], evaluation["speedup"]);
  EXPECT_GT(evaluation["speedup"], 0);
  const auto counts = [&](const json& sample) {
    const bool headline = evaluation["headline"] == "stressed" ? sample["distribution"] != "natural"
                                                               : sample["distribution"] == evaluation["headline"];
    return sample["scored"] == true && sample["void"].is_null() && headline;
  };
  EXPECT_EQ(evaluation["rounds"], std::count_if(evaluation["samples"].begin(), evaluation["samples"].end(), counts));
}

}  // namespace

std::vector<std::string> NotesOf(const json& evaluation) { return TextsOf(evaluation.at("notes")); }

std::set<std::string> KeysOf(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

void ExpectDocumented(const json& evaluation) {
  static const Schema schema = ReadSchema();
  ASSERT_TRUE(evaluation.is_object());
  ExpectKeys(schema, evaluation);
  if (::testing::Test::HasFatalFailure()) return;
  ExpectParts(schema, evaluation);
  ExpectAuthorship(schema, evaluation);
  ExpectConsistent(evaluation);
}

}  // namespace kb::e2e
