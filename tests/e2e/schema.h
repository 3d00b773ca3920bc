// The JSON of an evaluation against docs/reference/evaluation.md, which is read as the
// schema that it is.
#ifndef TESTS_E2E_SCHEMA_H_
#define TESTS_E2E_SCHEMA_H_

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace kb::e2e {

// Fails the test for each key that is missing, undocumented or of another type,
// and for numbers that contradict each other: a speedup outside its interval,
// rounds that were not scored.
void ExpectDocumented(const nlohmann::json& evaluation);

// The texts of its notes.
std::vector<std::string> NotesOf(const nlohmann::json& evaluation);

std::set<std::string> KeysOf(const nlohmann::json& object);

}  // namespace kb::e2e

#endif  // TESTS_E2E_SCHEMA_H_
