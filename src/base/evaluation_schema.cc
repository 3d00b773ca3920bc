#include "base/evaluation_schema.h"

#include <string>
#include <utility>

#include "base/note.h"

namespace kb {
namespace {

using nlohmann::json;

void ConvertNotes(json* notes) {
  if (!notes->is_array()) return;
  for (json& note : *notes) {
    if (note.is_string()) note = MakeNote(note.get<std::string>());
  }
}

// Two switches became values of what they switched off.
void ConvertKeys(json* keys) {
  if (!keys->is_object()) return;
  if (keys->value("profile", json()) == false) (*keys)["profile_ms"] = 0.0;
  if (keys->value("static_check", json()) == false && keys->contains("static") && keys->at("static").is_object()) {
    for (json& severity : keys->at("static")) severity = "off";
  }
  keys->erase("profile");
  keys->erase("static_check");
}

}  // namespace

json CurrentEvaluation(json evaluation) {
  if (!evaluation.is_object() || evaluation.value("schema", json()) != 1) return evaluation;
  evaluation["schema"] = kEvaluationSchema;
  if (evaluation.contains("notes")) ConvertNotes(&evaluation["notes"]);
  if (evaluation.contains("protocol_keys")) ConvertKeys(&evaluation["protocol_keys"]);
  return evaluation;
}

}  // namespace kb
