#include <fmt/format.h>

#include <functional>
#include <set>

#include "server/api.h"
#include "server/tables.h"

namespace kb::server {
namespace {

using nlohmann::json;

void AddSchema(const Table& table, json* schemas) {
  if (schemas->contains(table.name)) return;
  (*schemas)[table.name] = SchemaOf(table);
  for (const Field& field : table.fields) {
    if (field.table != nullptr) AddSchema(*field.table, schemas);
  }
}

json Content(const char* type, const Table& table) {
  return {{type, {{"schema", {{"$ref", fmt::format("#/components/schemas/{}", table.name)}}}}}};
}

// "{name...}" is OpenAPI's {name}, whose slashes are sent as %2F.
std::string PathOf(std::string path) {
  if (const size_t dots = path.find("..."); dots != std::string::npos) path.erase(dots, 3);
  return path;
}

json ParametersOf(const Route& route) {
  json parameters = json::array();
  const std::string path = PathOf(route.path);
  if (const size_t open = path.find('{'); open != std::string::npos) {
    parameters.push_back({{"name", path.substr(open + 1, path.find('}') - open - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}, {"minLength", 1}}}});
  }
  for (const Field& field : route.query) {
    parameters.push_back(
        {{"name", field.name}, {"in", "query"}, {"schema", SchemaOf(field)}, {"description", field.help}});
    if (field.required) parameters.back()["required"] = true;
  }
  return parameters;
}

const char* MeaningOf(int status) {
  switch (status) {
    case 101:
      return "the WebSocket begins";
    case 200:
      return "as asked";
    case 201:
      return "as asked, from now on";
    case 202:
      return "accepted, and not ended yet";
    case 304:
      return "as If-None-Match has it";
    case 400:
      return "the request is wrong; detail names the field";
    case 401:
      return "there is no token, or it is not known";
    case 403:
      return "the token lacks the right, or this is not the name of the service";
    case 404:
      return "there is none, or it is another client's";
    case 408:
      return "the request came too slowly";
    case 409:
      return "the idempotency key or the sample is another's, or what is to be cancelled has ended";
    case 413:
      return "the body is too large";
    case 426:
      return "this is no request for a WebSocket";
    case 429:
      return "a quota of the client is used up; detail names it, Retry-After says for how long";
    case 431:
      return "the headers are too large";
    case 500:
      return "the service has failed";
    case 503:
      return "the service is stopping or overloaded";
    default:
      return "";
  }
}

json ResponsesOf(const Route& route) {
  json responses = json::object();
  json good = {{"description", MeaningOf(200)}};
  const std::string path = route.path;
  if (route.answer != nullptr) {
    good["content"] = Content("application/json", *route.answer);
  } else {
    const char* const type = path == "/metrics"         ? "text/plain"
                             : path.ends_with("events") ? "text/event-stream"
                                                        : "application/json";
    good["content"] = {{type, {{"schema", {{"type", path == "/openapi.json" ? "object" : "string"}}}}}};
  }
  // Of a protocol with words of its own for what is wrong, and none for what is accepted.
  if (route.raw) good["content"]["text/event-stream"] = {{"schema", {{"type", "string"}}}};
  responses["200"] = good;
  std::set<int> statuses(route.statuses.begin(), route.statuses.end());
  statuses.insert({400, 408, 413, 431, 500, 503});
  if (route.right != nullptr) statuses.insert({401, 403});
  if (route.body != nullptr && route.right != nullptr && !route.raw) statuses.insert(429);
  if (statuses.erase(101) > 0) responses = {{"101", {{"description", MeaningOf(101)}}}};
  for (const int status : statuses) {
    if (status == 202 && route.raw) {
      responses["202"] = {{"description", "a notification"}};
      continue;
    }
    if (status < 300) {
      responses[std::to_string(status)] = {{"description", MeaningOf(status)}, {"content", good["content"]}};
      continue;
    }
    responses[std::to_string(status)] = {{"description", MeaningOf(status)},
                                         {"content", Content("application/problem+json", kProblemDetails)}};
    if (route.raw && (status == 400 || status == 404)) {
      responses[std::to_string(status)]["content"].update(Content("application/json", *route.answer));
    }
  }
  return responses;
}

}  // namespace

json OpenApi(const std::vector<Route>& routes, const std::string& version) {
  json schemas = json::object(), paths = json::object();
  AddSchema(kProblemDetails, &schemas);
  for (const Route& route : routes) {
    json operation = {{"operationId", route.operation}, {"summary", route.summary}, {"responses", ResponsesOf(route)}};
    operation["parameters"] = ParametersOf(route);
    if (route.right == nullptr) {
      operation["security"] = json::array();
    } else {
      operation["x-right"] = route.right;
    }
    if (route.answer != nullptr) AddSchema(*route.answer, &schemas);
    if (route.body != nullptr) {
      AddSchema(*route.body, &schemas);
      operation["requestBody"] = {{"required", true}, {"content", Content("application/json", *route.body)}};
    }
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    paths[PathOf(route.path)][method] = std::move(operation);
  }
  return {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "KernelBench"},
        {"version", version},
        {"description", "Judges kernels that stand for PyTorch modules: are they correct, and how fast?"}}},
      {"paths", std::move(paths)},
      {"security", {{{"token", json::array()}}}},
      {"components",
       {{"schemas", std::move(schemas)}, {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace kb::server
