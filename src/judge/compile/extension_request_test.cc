// What may come back from the process that imported a module: tests/fuzz/capture_fuzz.cc has the rest.
#include "judge/compile/extension_request.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;

const std::string kKey(64, 'a');

json Request() {
  return {{"name", "one"},
          {"key", kKey},
          {"cpp", {"int f();"}},
          {"cuda", json::array()},
          {"functions", {{"f", "f"}}},
          {"cflags", {"-O3"}},
          {"cuda_cflags", json::array()},
          {"ldflags", json::array()},
          {"include_paths", json::array()},
          {"error_handling", true},
          {"implicit_headers", true},
          {"files", json::object()}};
}

size_t Accepted(const json& request) { return ReadCapture(json{{"extensions", {request}}}.dump()).size(); }

TEST(ReadCapture, TakesWhatTheBuilderReadsAndNothingElse) {
  json request = Request();
  request["more"] = "anything";
  const auto read = ReadCapture(json{{"extensions", {request, 5, request}}}.dump());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].key, kKey);
  EXPECT_EQ(read[0].description.at("functions"), json({{"f", "f"}}));
  EXPECT_FALSE(read[0].description.contains("more"));
}

TEST(ReadCapture, RefusesFieldsOfAnotherForm) {
  ASSERT_EQ(Accepted(Request()), 1u);
  const std::pair<const char*, json> wrong[] = {{"key", 5},
                                                {"key", nullptr},
                                                {"name", ""},
                                                {"name", "a;b"},
                                                {"name", 5},
                                                {"functions", {"f"}},
                                                {"cpp", "int f();"},
                                                {"functions", {{"f", {{"g", 1}}}}},
                                                {"cflags", {1}},
                                                {"include_paths", {}},
                                                {"ldflags", {{}}},
                                                {"error_handling", "yes"},
                                                {"cuda", json(1.5)},
                                                {"cflags", {std::string(kMaxFlagBytes, 'x')}},
                                                {"name", std::string(kMaxFlagBytes + 1, 'x')},
                                                {"key", "a"},
                                                {"key", "../" + kKey.substr(3)},
                                                {"key", kKey + "a"},
                                                {"key", std::string(64, 'A')},
                                                {"cpp", {std::string("a\0b", 3)}},
                                                {"cflags", {std::string("-g\0x", 4)}}};
  for (const auto& [field, value] : wrong) {
    json request = Request();
    request[field] = value;
    EXPECT_EQ(Accepted(request), 0u) << field << " " << value;
    request.erase(field);
    EXPECT_EQ(Accepted(request), 0u) << "without " << field;
  }
}

// Copying and printing JSON are recursive.
TEST(ReadCapture, NestingDoesNotExhaustTheStack) {
  // A frame of a recursion takes far more than the 40 bytes that this leaves each of a stack of 8 MB.
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* field : {"functions", "more", "cpp", "key", "name"}) {
    json request = Request();
    request[field] = field == std::string("functions") ? json{{"f", "DEEP"}} : json("DEEP");
    std::string text = json{{"extensions", {request}}}.dump();
    text.replace(text.find("\"DEEP\""), 6, deep);
    EXPECT_EQ(ReadCapture(text).size(), field == std::string("more") ? 1u : 0u) << field;
  }
  EXPECT_TRUE(ReadCapture(deep).empty());
}

TEST(ReadCapture, TakesFilesWhoseNamesStayBelowTheirFolder) {
  json request = Request();
  request.update({{"functions", json::object()},
                  {"implicit_headers", false},
                  {"cpp", {"a/source0.cpp"}},
                  {"files", {{"a/source0.cpp", "#include \"b.h\""}, {"a/b.h", "int f();"}}}});
  EXPECT_EQ(Accepted(request), 1u);
  for (const char* name :
       {"", "/a", "../a", "a/../b", "a/./b", "a//b", "-a", "a/-b", ".a", "a/", "a b", "a\nb", "a;b", "a/b.h/c"}) {
    json other = request;
    other["files"][name] = "int g();";
    EXPECT_EQ(Accepted(other), 0u) << name;
  }
  const std::pair<const char*, json> wrong[] = {{"cpp", {"a/b.cpp"}},
                                                {"cuda", {"k.cu"}},
                                                {"functions", {{"f", "f"}}},
                                                {"implicit_headers", true},
                                                {"files", {{"a.cpp", 5}}},
                                                {"files", {"a/source0.cpp"}},
                                                {"files", {{"a/source0.cpp", std::string(kMaxFileBytes + 1, ' ')}}}};
  for (const auto& [field, value] : wrong) {
    json other = request;
    other[field] = value;
    EXPECT_EQ(Accepted(other), 0u) << field;
  }
  for (size_t i = 0; i < kMaxFiles; ++i) request["files"]["h" + std::to_string(i)] = "";
  EXPECT_EQ(Accepted(request), 0u);
}

TEST(ReadAsked, TakesOneAsReadCaptureTakesEach) {
  const auto asked = ReadAsked(Request().dump());
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->key, kKey);
  EXPECT_EQ(asked->description, ReadCapture(json{{"extensions", {Request()}}}.dump()).front().description);
  json nameless = Request();
  nameless["name"] = "a;b";
  const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
  for (const std::string& text : {nameless.dump(), std::string(), std::string("{}"), std::string("null"), deep,
                                  json{{"extensions", {Request()}}}.dump(), Request().dump() + "x"}) {
    EXPECT_FALSE(ReadAsked(text)) << text.substr(0, 80);
  }
}

TEST(ReadCapture, IsBounded) {
  json many = json::array();
  for (int i = 0; i < 100; ++i) many.push_back(Request());
  EXPECT_EQ(ReadCapture(json{{"extensions", many}}.dump()).size(), kMaxExtensions);
  EXPECT_TRUE(ReadCapture(std::string(kMaxCaptureBytes + 1, ' ')).empty());
  EXPECT_TRUE(ReadCapture("").empty());
}

}  // namespace
}  // namespace kb
