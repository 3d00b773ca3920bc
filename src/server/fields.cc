#include "server/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kb::server {

using Type = Field::Type;

namespace {

using nlohmann::json;

tl::unexpected<Error> Wrong(const std::string& at, const std::string& why) {
  return Fail(ErrorCode::kUsage, fmt::format("{}: {}", at.empty() ? "/" : at, why));
}

const char* NameOf(Type type) {
  switch (type) {
    case Type::kText:
      return "string";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kFlag:
      return "boolean";
    case Type::kList:
      return "array";
    case Type::kMap:
    case Type::kObject:
      return "object";
    case Type::kAny:
      break;
  }
  return "value";
}

std::string Article(Type type) {
  const std::string name = NameOf(type);
  return (name.find_first_of("aio") == 0 ? "an " : "a ") + name;
}

bool Is(Type type, const json& value) {
  switch (type) {
    case Type::kText:
      return value.is_string();
    case Type::kInteger:
      return value.is_number_integer() || (value.is_number_float() && std::trunc(value.get<double>()) == value);
    case Type::kNumber:
      return value.is_number();
    case Type::kFlag:
      return value.is_boolean();
    case Type::kList:
      return value.is_array();
    case Type::kMap:
    case Type::kObject:
      return value.is_object();
    case Type::kAny:
      return true;
  }
  return false;
}

// Of UTF-8, as JSON Schema counts them.
int64_t Characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// How much it is, in what bounds are in.
double Amount(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return static_cast<double>(Characters(value.get_ref<const std::string&>()));
  return value.is_array() || value.is_object() ? static_cast<double>(value.size()) : 0;
}

const char* UnitOf(Type type) {
  if (type == Type::kText) return " characters";
  return type == Type::kList || type == Type::kMap ? " entries" : "";
}

Status CheckBounds(const Field& field, const json& value, const std::string& at) {
  const double amount = Amount(value);
  if (field.least && amount < *field.least) {
    return Wrong(at, fmt::format("must be at least {}{}", *field.least, UnitOf(field.type)));
  }
  if (field.most && amount > *field.most) {
    return Wrong(at, fmt::format("must be at most {}{}", *field.most, UnitOf(field.type)));
  }
  if (!field.choices.empty() &&
      std::none_of(field.choices.begin(), field.choices.end(), [&](const char* choice) { return value == choice; })) {
    return Wrong(at, fmt::format("must be one of {}", fmt::join(field.choices, ", ")));
  }
  return {};
}

// Characters that act: C0, DEL and, in UTF-8, C1.
bool HasControls(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

// A key as a part of a JSON pointer (RFC 6901).
std::string Escaped(const std::string& key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

Status CheckItem(const Field& field, const json& item, const std::string& at) {
  if (field.table != nullptr) return Check(*field.table, item, at);
  return Is(field.items, item) ? Status() : Wrong(at, fmt::format("must be {}", Article(field.items)));
}

json TypeSchema(Type type) { return type == Type::kAny ? json::object() : json{{"type", NameOf(type)}}; }

json ItemSchema(const Field& field) {
  if (field.table != nullptr) return {{"$ref", fmt::format("#/components/schemas/{}", field.table->name)}};
  return TypeSchema(field.items);
}

}  // namespace

Status Check(const Field& field, const json& value, const std::string& at) {
  if (value.is_null() && field.nullable) return {};
  if (!Is(field.type, value)) return Wrong(at, fmt::format("must be {}", Article(field.type)));
  KB_RETURN_IF_ERROR(CheckBounds(field, value, at));
  if (field.line && HasControls(value.get_ref<const std::string&>())) {
    return Wrong(at, "must be one line without control characters");
  }
  if (field.type == Type::kObject) return Check(*field.table, value, at);
  if (field.type == Type::kList) {
    for (size_t i = 0; i < value.size(); ++i)
      KB_RETURN_IF_ERROR(CheckItem(field, value[i], fmt::format("{}/{}", at, i)));
  }
  if (field.type == Type::kMap) {
    for (const auto& [key, item] : value.items()) KB_RETURN_IF_ERROR(CheckItem(field, item, at + "/" + Escaped(key)));
  }
  return {};
}

Status Check(const Table& table, const json& value, const std::string& at) {
  if (!value.is_object()) return Wrong(at, "must be an object");
  for (const auto& [key, item] : value.items()) {
    const auto field = std::find_if(table.fields.begin(), table.fields.end(),
                                    [&wanted = key](const Field& f) { return f.name == wanted; });
    if (field == table.fields.end()) {
      if (table.open) continue;
      return Wrong(at + "/" + Escaped(key), "there is no such field");
    }
    KB_RETURN_IF_ERROR(Check(*field, item, at + "/" + key));
  }
  for (const Field& field : table.fields) {
    if (field.required && !value.contains(field.name)) return Wrong(at + "/" + field.name, "is missing");
  }
  return {};
}

Result<json> ReadQuery(const Field& field, const std::string& text) {
  json value = text;
  const char* const end = text.data() + text.size();
  if (field.type == Type::kInteger) {
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return Wrong(field.name, "must be an integer");
    value = number;
  } else if (field.type == Type::kNumber) {
    double number = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || !std::isfinite(number)) return Wrong(field.name, "must be a number");
    value = number;
  } else if (field.type == Type::kFlag) {
    if (text != "true" && text != "false") return Wrong(field.name, "must be true or false");
    value = text == "true";
  }
  KB_RETURN_IF_ERROR(Check(field, value, field.name));
  return value;
}

json SchemaOf(const Field& field) {
  json schema = TypeSchema(field.type);
  if (field.type == Type::kObject) schema = ItemSchema(field);
  if (field.type == Type::kList) schema["items"] = ItemSchema(field);
  if (field.type == Type::kMap) schema["additionalProperties"] = ItemSchema(field);
  const bool text = field.type == Type::kText, list = field.type == Type::kList, map = field.type == Type::kMap;
  const char* const least = text ? "minLength" : list ? "minItems" : map ? "minProperties" : "minimum";
  const char* const most = text ? "maxLength" : list ? "maxItems" : map ? "maxProperties" : "maximum";
  const bool whole = field.type != Type::kNumber;
  const auto bound = [&](double value) { return whole ? json(static_cast<int64_t>(value)) : json(value); };
  if (field.least) schema[least] = bound(*field.least);
  if (field.most) schema[most] = bound(*field.most);
  if (field.line) schema["pattern"] = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";
  for (const char* choice : field.choices) schema["enum"].push_back(choice);
  if (field.nullable && field.type != Type::kAny) schema = {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  schema["description"] = field.help;
  return schema;
}

json SchemaOf(const Table& table) {
  json schema = {{"type", "object"}, {"description", table.help}, {"additionalProperties", table.open}};
  schema["properties"] = json::object();
  for (const Field& field : table.fields) {
    schema["properties"][field.name] = SchemaOf(field);
    if (field.required) schema["required"].push_back(field.name);
  }
  return schema;
}

}  // namespace kb::server
