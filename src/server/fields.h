// What clients send and are sent, as tables: what checks a request, the OpenAPI document and the reference of the API
// come from them.
#ifndef SERVER_FIELDS_H_
#define SERVER_FIELDS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb::server {

struct Table;

struct Field {
  enum class Type { kText, kInteger, kNumber, kFlag, kAny, kMap, kList, kObject };

  const char* name;
  Type type;
  const char* help;
  bool required = false;  // of what is sent to us; of what we send: it is always there
  bool nullable = false;
  // Bounds of a number; of a text its characters (code points); of a list or map how many it holds.
  std::optional<double> least = {}, most = {};
  std::vector<const char*> choices = {};
  const Table* table = nullptr;  // of an object, or of each in a list
  Type items = Type::kText;      // of a list or map without a table
  bool line = false;             // of a text: one line, which does nothing to the terminal that shows it
};

// Of what we send: always there; null where there is none.
inline Field Always(const char* name, Field::Type type, const char* help) {
  return {.name = name, .type = type, .help = help, .required = true};
}
inline Field AlwaysOrNull(const char* name, Field::Type type, const char* help) {
  return {.name = name, .type = type, .help = help, .required = true, .nullable = true};
}

struct Table {
  const char* name;  // "EvaluationRequest", as the OpenAPI document calls it
  const char* help;
  std::vector<Field> fields;
  bool open = false;  // other keys are passed over: of a protocol that is not ours
};

// Whether `value` is what the table says, with no other key unless the table is open. kUsage names the field as a JSON
// pointer:
// "/evaluations/3/priority: must be at most 100".
Status Check(const Table& table, const nlohmann::json& value, const std::string& at = "");
Status Check(const Field& field, const nlohmann::json& value, const std::string& at);

// The value of a query, whose text it is: a number or a flag becomes one.
Result<nlohmann::json> ReadQuery(const Field& field, const std::string& text);

// JSON Schema, of OpenAPI 3.1. Tables are referred to by name.
nlohmann::json SchemaOf(const Field& field);
nlohmann::json SchemaOf(const Table& table);

}  // namespace kb::server

#endif  // SERVER_FIELDS_H_
