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
  const json profile = keys->value("profile", json());
  if (profile == false) (*keys)["profile_ms"] = 0.0;
  if (profile == true && keys->value("profile_ms", json()) == 0) (*keys)["profile_ms"] = 1.0;  // one call, as then
  if (keys->value("static_check", json()) == false && keys->contains("static") && keys->at("static").is_object()) {
    for (json& severity : keys->at("static")) severity = "off";
  }
  keys->erase("profile");
  keys->erase("static_check");
}

void ConvertChanged(json* changed) {
  if (!changed->is_array()) return;
  for (json& key : *changed) {
    if (key == "profile") key = "profile_ms";
    if (key == "static_check") key = "static";
  }
}

}  // namespace

json CurrentEvaluation(json evaluation) {
  if (!evaluation.is_object() || evaluation.value("schema", json()) != 1) return evaluation;
  evaluation["schema"] = kEvaluationSchema;
  if (evaluation.contains("notes")) ConvertNotes(&evaluation["notes"]);
  if (evaluation.contains("protocol_keys")) ConvertKeys(&evaluation["protocol_keys"]);
  if (evaluation.contains("protocol_changed")) ConvertChanged(&evaluation["protocol_changed"]);
  return evaluation;
}

}  // namespace kb
