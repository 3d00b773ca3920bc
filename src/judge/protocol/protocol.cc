#include "judge/protocol/protocol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <variant>

#include "base/file.h"
#include "base/suggest.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Member = std::variant<std::string Protocol::*, bool Protocol::*, int Protocol::*, int64_t Protocol::*,
                            double Protocol::*, std::vector<int> Protocol::*, std::vector<int64_t> Protocol::*,
                            std::vector<std::string> Protocol::*, std::map<std::string, std::string> Protocol::*>;

struct Entry {
  Protocol::Key key;
  Member member;
};

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = {
      {{"precision", "fp32, fp16 or bf16"}, &Protocol::precision},
      {{"baseline", "what the candidate is measured against (docs/reference/evaluation.md)"}, &Protocol::baseline},
      {{"timing",
        "outer; or KernelBench's: host_time, cuda_event, do_bench, do_bench_impl (docs/reference/evaluation.md)"},
       &Protocol::timing},
      {{"static",
        "rule=error, rule=warning or rule=off, separated by commas; off: all rules (docs/reference/static.md)"},
       &Protocol::static_rules},
      {{"backend", "the candidate must be written in it; empty: the one it seems to be written in"},
       &Protocol::backend},
      {{"measure", "measure the speedup (true, false)"}, &Protocol::measure},
      {{"weight_seed", "first seed of the weights, -1: random; others are random"}, &Protocol::weight_seed},
      {{"input_seeds", "a round compared but not scored on the inputs of each seed"}, &Protocol::input_seeds},
      {{"warmup_rounds", "rounds compared but not scored; at least 5 where nothing is measured"},
       &Protocol::warmup_rounds},
      {{"round_checks", "numbers of scored rounds after which the interval is looked at"}, &Protocol::round_checks},
      {{"half_width", "relative half-width of the interval that is enough"}, &Protocol::half_width},
      {{"slow_below", "an interval that is all below this speedup is narrow enough; 0: none is"},
       &Protocol::slow_below},
      {{"statistic", "median or mean"}, &Protocol::statistic},
      {{"stress_every", "on average a round on another input distribution for every n natural ones; 0: never"},
       &Protocol::stress_every},
      {{"comparison", "anchored (error budget from fp64) or allclose"}, &Protocol::comparison},
      {{"atol", "absolute tolerance (allclose)"}, &Protocol::atol},
      {{"rtol", "relative tolerance (allclose), floor of the largest error (anchored)"}, &Protocol::rtol},
      {{"rtol_rms", "floor of the RMS error (anchored)"}, &Protocol::rtol_rms},
      {{"anchor_rounds", "natural inputs on which the reference also runs in fp64"}, &Protocol::anchor_rounds},
      {{"repeat_bitwise", "two calls on equal inputs must agree bit for bit"}, &Protocol::repeat_bitwise},
      {{"compare_all", "tell a wrong candidate's error on every input distribution (true, false)"},
       &Protocol::compare_all},
      {{"speedup_cap", "larger speedups count as this; 0: no cap"}, &Protocol::speedup_cap},
      {{"audits", "audits whose lower speedup counts"}, &Protocol::audits},
      {{"profile_ms", "about what the calls that find out who did the work may take together; 0: there are none"},
       &Protocol::profile_ms},
      {{"accept_authorship", "whose speedup counts: custom, mixed, library"}, &Protocol::accept_authorship},
      {{"build_timeout_s", "limit of all builds of a candidate together"}, &Protocol::build_timeout_s},
      {{"call_timeout_s", "limit of one call of a candidate, half of that of loading and constructing it"},
       &Protocol::call_timeout_s},
      {{"evaluation_timeout_s", "limit of a candidate's loading and calls together"}, &Protocol::evaluation_timeout_s},
      {{"reference_timeout_s", "limit of one call of the reference"}, &Protocol::reference_timeout_s},
      {{"memory_gb", "private memory of a runner"}, &Protocol::memory_gb},
  };
  return entries;
}

const Entry* Find(const std::string& key) {
  const auto& entries = Entries();
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return key == e.key.name; });
  return at == entries.end() ? nullptr : &*at;
}

// Sets a key from JSON; false if the type is wrong.
bool Assign(Protocol* protocol, const Entry& entry, const json& value) {
  try {
    std::visit(
        [&](auto member) {
          auto& target = protocol->*member;
          using T = std::remove_reference_t<decltype(target)>;
          if constexpr (std::is_same_v<T, int> || std::is_same_v<T, int64_t>) {
            if (!value.is_number_integer()) throw std::invalid_argument("not a whole number");
          } else if constexpr (std::is_same_v<T, double>) {
            if (!value.is_number()) throw std::invalid_argument("not a number");
          }
          if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
            for (const auto& [rule, severity] : value.get<T>()) target[rule] = severity;
          } else {
            target = value.get<T>();
          }
        },
        entry.member);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

// Static analysis that finds nothing.
std::map<std::string, std::string> NoRules() {
  std::map<std::string, std::string> rules = DefaultSeverities();
  for (auto& [rule, severity] : rules) severity = "off";
  return rules;
}

// Text of a flag as JSON of the member's type.
json FromText(const Member& member, const std::string& text) {
  if (std::holds_alternative<std::string Protocol::*>(member)) return text;
  if (std::holds_alternative<std::vector<int> Protocol::*>(member) ||
      std::holds_alternative<std::vector<int64_t> Protocol::*>(member)) {
    return json::parse("[" + text + "]", nullptr, false);
  }
  if (std::holds_alternative<std::vector<std::string> Protocol::*>(member)) {
    json words = json::array();
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
    return words;
  }
  if (std::holds_alternative<std::map<std::string, std::string> Protocol::*>(member) && text[0] != '{') {
    json table = json::object();
    if (text == "off") return NoRules();
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
      const size_t equals = std::min(part.find('='), part.size());
      table[part.substr(0, equals)] = part.substr(std::min(equals + 1, part.size()));
    }
    return table;
  }
  return json::parse(text, nullptr, false);
}

Result<json> ReadToml(const fs::path& path) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1 << 20));
  try {
    const toml::table table = toml::parse(text);
    std::ostringstream stream;
    stream << toml::json_formatter{table};
    return json::parse(stream.str());
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}:{}: {}", path.string(), error.source().begin.line, error.description()));
  }
}

}  // namespace

const std::vector<Protocol::Key>& Protocol::Keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all;
    for (const Entry& entry : Entries()) all.push_back(entry.key);
    return all;
  }();
  return keys;
}

std::vector<std::string> Protocol::List(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(directory, ignored)) {
    if (file.path().extension() == ".toml") names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Protocol> Protocol::Load(const fs::path& directory, const std::string& name) {
  const std::vector<std::string> names = List(directory);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Fail(ErrorCode::kUsage, fmt::format("no protocol \"{}\"; there are: {}{}", name, fmt::join(names, ", "),
                                               DidYouMean(name, names)));
  }
  const fs::path path = directory / (name + ".toml");
  KB_ASSIGN_OR_RETURN(const json table, ReadToml(path));
  Protocol protocol;
  protocol.name = name;
  for (const auto& [key, value] : table.items()) {
    if (key == "description" && value.is_string()) {
      protocol.description = value;
    } else if (key == "tolerance" && value.is_object()) {
      protocol.by_precision = value;
    } else if (const Entry* entry = Find(key); entry == nullptr || !Assign(&protocol, *entry, value)) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: {} {}", path.string(), key,
                                                 entry ? "has the wrong type" : "is no key of a protocol"));
    }
  }
  return protocol;
}

void Protocol::ApplyPrecision() {
  if (!by_precision.contains(precision)) return;
  for (const auto& [key, value] : by_precision[precision].items()) {
    const bool set_by_hand = std::find(changed.begin(), changed.end(), key) != changed.end();
    const Entry* entry = Find(key);
    if (entry != nullptr && !set_by_hand) Assign(this, *entry, value);
  }
}

Status Protocol::Set(const std::string& key, const std::string& text) {
  const Entry* entry = Find(key);
  if (entry == nullptr) return Fail(ErrorCode::kUsage, fmt::format("no protocol has a key \"{}\"", key));
  if (!Assign(this, *entry, FromText(entry->member, text))) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: \"{}\" is not a value for it; it is: {}", key, text, entry->key.help));
  }
  changed.push_back(key);
  return {};
}

Status Protocol::Validate() const {
  for (const auto& [rule, severity] : static_rules) {
    if (!IsStaticRule(rule) || !SeverityFromName(severity)) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("protocol {}: static: \"{}={}\" is no rule with error, warning or off; "
                              "docs/reference/static.md lists the rules",
                              name, rule, severity));
    }
  }
  const auto one_of = [](const std::string& value, std::initializer_list<const char*> allowed) {
    return std::any_of(allowed.begin(), allowed.end(), [&](const char* each) { return value == each; });
  };
  const struct {
    bool ok;
    const char* message;
  } rules[] = {
      {one_of(precision, {"fp32", "fp16", "bf16"}), "precision is fp32, fp16 or bf16"},
      {one_of(backend, {"", "cuda", "triton", "tilelang", "cute", "thunderkittens", "hip", "cpp"}),
       "backend is cuda, triton, tilelang, cute, thunderkittens, hip or cpp"},
      {one_of(baseline,
              {"eager", "eager-fp32", "compile-default", "compile-reduce-overhead", "compile-max-autotune", "library"}),
       "baseline is eager, eager-fp32, compile-default, compile-reduce-overhead, compile-max-autotune or library"},
      {timing == "outer" || timing == "host_time" || TimedByEvents(),
       "timing is outer, host_time, cuda_event, do_bench or do_bench_impl"},
      {one_of(comparison, {"anchored", "allclose"}), "comparison is anchored or allclose"},
      {one_of(statistic, {"median", "mean"}), "statistic is median or mean"},
      {!round_checks.empty() && std::is_sorted(round_checks.begin(), round_checks.end()) && round_checks.front() >= 1 &&
           round_checks.back() <= 100'000,
       "round_checks is a rising list of numbers from 1 to 100000"},
      {warmup_rounds >= 0 && warmup_rounds <= 1000, "warmup_rounds is from 0 to 1000"},
      {!accept_authorship.empty() && std::all_of(accept_authorship.begin(), accept_authorship.end(),
                                                 [&](const std::string& each) {
                                                   return one_of(each, {"custom", "mixed", "library"});
                                                 }),
       "accept_authorship lists some of custom, mixed, library"},
      {Profiles() || AcceptsEveryAuthorship(),
       "accept_authorship asks who did the work, which needs a profile_ms above 0"},
  };
  for (const auto& rule : rules) {
    if (!rule.ok) return Fail(ErrorCode::kUsage, fmt::format("protocol {}: {}", name, rule.message));
  }
  constexpr double kSmallest = 1e-9, kLongest = 1e6, kMany = 100'000, kAny = 1e300;
  const struct {
    const char* key;
    double value, least, most;
  } ranges[] = {
      {"half_width", half_width, kSmallest, kAny},
      {"slow_below", slow_below, 0, kAny},
      {"atol", atol, 0, kAny},
      {"rtol", rtol, 0, kAny},
      {"rtol_rms", rtol_rms, 0, kAny},
      {"anchor_rounds", static_cast<double>(anchor_rounds), 0, kMany},
      {"stress_every", static_cast<double>(stress_every), 0, kMany},
      {"speedup_cap", speedup_cap, 0, kAny},
      {"audits", static_cast<double>(audits), 0, kMany},
      {"profile_ms", profile_ms, 0, kLongest},
      {"build_timeout_s", build_timeout_s, kSmallest, kLongest},
      {"call_timeout_s", call_timeout_s, kSmallest, kLongest},
      {"evaluation_timeout_s", evaluation_timeout_s, kSmallest, kLongest},
      {"reference_timeout_s", reference_timeout_s, kSmallest, kLongest},
      {"memory_gb", memory_gb, kSmallest, kLongest},
  };
  for (const auto& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return Fail(ErrorCode::kUsage, fmt::format("protocol {}: {} is from {} to {}, not {}", name, range.key, range.least,
                                               range.most, range.value));
  }
  return {};
}

bool Protocol::AcceptsEveryAuthorship() const {
  return std::set<std::string>(accept_authorship.begin(), accept_authorship.end()).size() == 3;
}

json Protocol::ToJson() const {
  json out = json::object();
  for (const Entry& entry : Entries()) {
    std::visit([&](auto member) { out[entry.key.name] = this->*member; }, entry.member);
  }
  return out;
}

Protocol Protocol::FromJson(const std::string& name, const json& keys) {
  Protocol protocol;
  protocol.name = name;
  for (const Entry& entry : Entries()) {
    if (keys.contains(entry.key.name)) Assign(&protocol, entry, keys.at(entry.key.name));
  }
  return protocol;
}

bool Protocol::ChecksText() const {
  return std::any_of(static_rules.begin(), static_rules.end(), [](const auto& rule) { return rule.second != "off"; });
}

void Protocol::CheckNoText() { static_rules = NoRules(); }

json Protocol::ToleranceJson() const {
  return {{"mode", comparison},
          {"atol", atol},
          {"rtol", rtol},
          {"rtol_rms", rtol_rms},
          {"rms_factor", kRmsFactor},
          {"max_factor", kMaxFactor},
          {"cap", kMostOfDeviation}};
}

}  // namespace kb
