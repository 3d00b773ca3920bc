// What a module says it wants load_inline to build, all at once or one by one. Whatever is accepted must be safe to
// copy, print and hand to the builder.

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "fuzz_target.h"
#include "judge/compile/extension_request.h"

namespace kb::fuzz {
namespace {

using nlohmann::json;

// As describe() in python/kernelbench_torch/extensions.py has it.
json Described(const char* name) {
  return {{"name", name},
          {"key", std::string(64, 'a')},
          {"cpp", {"torch::Tensor f(torch::Tensor x) { return x; }"}},
          {"cuda", json::array()},
          {"functions", {{"f", "f"}, {"g", "what g does"}}},
          {"cflags", {"-O3"}},
          {"cuda_cflags", json::array()},
          {"ldflags", {"-lm"}},
          {"include_paths", json::array()},
          {"error_handling", true},
          {"implicit_headers", true},
          {"files", json::object()}};
}

std::string Captured(const json& extensions) { return json({{"extensions", extensions}, {"error", ""}}).dump(); }

}  // namespace

std::vector<std::string> Seeds() {
  json nested = Described("nested");
  nested["functions"]["f"] = json::array({json::array({json::array()})});
  json of_files = Described("of_files");
  of_files.update({{"cpp", {"a/b.cpp"}},
                   {"functions", json::object()},
                   {"implicit_headers", false},
                   {"files", {{"a/b.cpp", "int f;"}, {"c.h", ""}}}});
  json many = json::array();
  for (int i = 0; i < 20; ++i) many.push_back(Described("same"));
  return {Captured(json::array()), Captured(json::array({Described("one"), Described("two_2")})),
          Captured(json::array({nested, of_files, Described("not an identifier")})), Captured(many),
          Described("asked_for").dump()};
}

}  // namespace kb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto requests = kb::ReadCapture(bytes);
  KB_CHECK(requests.size() <= kb::kMaxExtensions);
  if (auto asked = kb::ReadAsked(bytes)) requests.push_back(std::move(*asked));
  for (const kb::ExtensionRequest& request : requests) {
    const nlohmann::json copy = request.description;
    KB_CHECK(copy.size() == 11 && !copy.dump().empty());
    KB_CHECK(!copy.at("name").get<std::string>().empty());
    for (const auto& [name, text] : copy.at("functions").items()) KB_CHECK(text.is_primitive());
    for (const char* list : {"cpp", "cuda", "cflags", "cuda_cflags", "ldflags", "include_paths"}) {
      for (const nlohmann::json& item : copy.at(list)) KB_CHECK(item.is_string());
    }
    for (const auto& [name, text] : copy.at("files").items()) KB_CHECK(text.is_string() && name.find("..") != 0);
  }
  return 0;
}
