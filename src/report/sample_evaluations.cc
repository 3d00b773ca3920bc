#include "report/sample_evaluations.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/evaluation_schema.h"
#include "base/note.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr char kSource[] = R"py(import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  #pragma omp parallel for simd
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = in[i] > 0 ? in[i] : 0;
  return y;
}
"""

extension = load_inline("relu", cpp_sources=SOURCE, functions=["relu"], extra_cflags=["-O3", "-fopenmp"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
)py";

json Base(const std::string& id, const std::string& problem) {
  return {
      {"schema", kEvaluationSchema},
      {"id", id},
      {"created", "2024-05-01T10:00:00Z"},
      {"problem", problem},
      {"problem_sha256", "5f3c"},
      {"size", "standard"},
      {"device", "cpu"},
      {"device_info",
       {{"name", "EPYC 9654"},
        {"cores", 16},
        {"last_level_cache", 402653184},
        {"copy_gb_s", 41.7},
        {"torch", "2.9.0"},
        {"python", "3.11.2"},
        {"compiler", "g++ 12.2.0"}}},
      {"protocol", "strict"},
      {"protocol_keys", {{"round_checks", {10, 20, 40, 100}}, {"half_width", 0.01}, {"statistic", "median"}}},
      {"protocol_changed", json::array()},
      {"candidate",
       {{"path", "candidates/" + id + ".py"},
        {"kind", "module"},
        {"sha256", "c0ffee"},
        {"source", kSource},
        {"backend", "cpp"}}},
      {"verdict", "correct"},
      {"reason", ""},
      {"notes", json::array()},
      {"speedup", nullptr},
      {"speedup_interval", nullptr},
      {"confidence", nullptr},
      {"floor", nullptr},
      {"headline", nullptr},
      {"baseline", "eager"},
      {"baseline_us", nullptr},
      {"candidate_us", nullptr},
      {"undisturbed_baseline_us", nullptr},
      {"offset_us", nullptr},
      {"prepare_us", nullptr},
      {"rounds", 0},
      {"samples", json::array()},
      {"mismatch", nullptr},
      {"isolation", "namespaces"},
      {"isolation_info", {"user namespace", "mount namespace", "network namespace", "seccomp", "landlock"}},
      {"evidence", json::object()},
      {"engine_us", {{"static", 2100.0}, {"build", 9.4e6}, {"load", 3.1e6}, {"rounds", 1.2e6}, {"compare", 3.4e5}}}};
}

}  // namespace

json SampleCorrect(const std::string& id, const std::string& problem, double speedup, double relative) {
  json evaluation = Base(id, problem);
  const double baseline = 1840;
  evaluation["speedup"] = speedup;
  evaluation["speedup_interval"] = {speedup * (1 - relative), speedup * (1 + relative)};
  evaluation["confidence"] = 0.9586;
  evaluation["floor"] = 0.005;
  evaluation["headline"] = "natural";
  evaluation["baseline_us"] = baseline;
  evaluation["candidate_us"] = baseline / speedup;
  evaluation["undisturbed_baseline_us"] = baseline * 0.998;
  evaluation["offset_us"] = 3.2;
  evaluation["prepare_us"] = 5210.0;
  evaluation["rounds"] = 20;
  for (int i = 0; i < 24; ++i) {
    const double wobble = 1 + relative * std::sin(i * 2.399) + (i < 4 ? 0.12 * (4 - i) : 0);
    const bool disturbed = i == 13;
    json sample = {{"index", i},
                   {"distribution", i % 5 == 4 ? "centred" : "natural"},
                   {"weights", i / 12},
                   {"scored", i >= 4 && !disturbed},
                   {"void", nullptr},
                   {"candidate_us", baseline / speedup * wobble * (disturbed ? 1.4 : 1)},
                   {"baseline_us", baseline * (1 + relative * std::cos(i * 1.7))},
                   {"ratio", speedup / wobble},
                   {"worst", 0.21}};
    if (disturbed) sample["void"] = "something else ran on this core";
    evaluation["samples"].push_back(sample);
  }
  return evaluation;
}

json SampleFailure(const std::string& id, const std::string& problem, const std::string& verdict) {
  json evaluation = Base(id, problem);
  evaluation["verdict"] = verdict;
  if (verdict == "build_failed") {
    evaluation["reason"] = "g++ says: no member named 'numels' in 'at::Tensor'.";
    evaluation["evidence"]["compiler_output"] =
        "relu.cpp: In function 'at::Tensor relu(at::Tensor)':\nrelu.cpp:8:27: error: 'class at::Tensor' has no member "
        "named 'numels'; did you mean 'numel'?\n    8 |   for (int64_t i = 0; i < x.numels(); ++i)\n      |            "
        "  "
        "             ^~~~~~\n      |                           numel\n";
  } else if (verdict == "crashed") {
    evaluation["reason"] = "The candidate died of SIGSEGV in round 3.";
    evaluation["evidence"] = {{"signal", "SIGSEGV"}, {"exit_code", nullptr}, {"output", "starting\nblock 0\n"}};
  } else if (verdict == "tampered") {
    evaluation["reason"] = "The output changed after the candidate said that it was done.";
  } else if (verdict == "load_failed") {
    evaluation["reason"] = "NameError: name 'nn' is not defined";
    evaluation["evidence"]["traceback"] =
        "Traceback (most recent call last):\n  File \"candidate.py\", line 21, in <module>\n    class "
        "ModelNew(nn.Module):\n                   ^^\nNameError: name 'nn' is not defined\n";
  } else {
    evaluation["reason"] = "The candidate ended with the verdict " + verdict + ".";
  }
  return evaluation;
}

json SampleIncorrect(const std::string& id, const std::string& problem) {
  json evaluation = Base(id, problem);
  evaluation["verdict"] = "incorrect";
  evaluation["reason"] = "4,096 of 1,048,576 elements of output 0 are wrong: the last 4 rows of dimension 0.";
  evaluation["errors"] = {{"natural", 9132.5}, {"centred", 0.25}, {"sparse", "inf"}};
  evaluation["mismatch"] = {
      {"output", 0},
      {"shape", {1024, 1024}},
      {"dtype", "float32"},
      {"distribution", "natural"},
      {"round", 0},
      {"worst_index", {1021, 17}},
      {"expected", 0.8125},
      {"got", "nan"},
      {"wrong", 4096},
      {"total", 1048576},
      {"unwritten", 4096},
      {"non_finite", 4096},
      {"max_abs_error", 0.99871},
      {"rms_error", 0.0361},
      {"worst", 9132.5},
      {"blocks_wrong", 4},
      {"blocks", 1024},
      {"where", "the last 4 rows of dimension 0"},
      {"histogram", {{0.1, 1040000}, {1, 4480}, {10, 12}, {100, 84}, {1000, 900}, {"inf", 3100}}}};
  return evaluation;
}

json SampleHostile(const std::string& id) {
  const std::string attack =
      "</script></style></pre><script>alert('" + id + "')</script>\x1b[31m\xff\xfe \"onload=x\" &amp;";
  json evaluation = SampleIncorrect(id, "2/40");
  evaluation["verdict"] = "crashed";
  evaluation["reason"] = attack;
  evaluation["notes"] = json::array({MakeNote("output: " + attack)});
  evaluation["candidate"]["path"] = "x/<img src=x onerror=alert(1)>.py";
  evaluation["candidate"]["source"] = attack + "\n\xe2\x80\xae" + "reversed # \n";
  evaluation["evidence"] = {{"compiler_output", attack}, {"output", attack}, {"traceback", attack}, {"signal", attack}};
  evaluation["mismatch"]["where"] = attack;
  evaluation["mismatch"]["got"] = attack;
  evaluation["protocol_keys"][attack] = attack;
  return evaluation;
}

std::vector<json> SampleReport() {
  std::vector<json> all = {SampleCorrect("relu_simd", "1/19", 1.82, 0.01),
                           SampleCorrect("relu_threads", "1/19", 2.94, 0.03),
                           SampleIncorrect("relu_tail", "1/19"),
                           SampleCorrect("matmul_tiled", "1/1", 0.41, 0.02),
                           SampleCorrect("matmul_blocked", "1/2", 1.004, 0.02),
                           SampleFailure("softmax", "1/23", "build_failed"),
                           SampleCorrect("softmax_online", "1/23", 3.37, 0.05),
                           SampleFailure("layernorm", "1/40", "crashed"),
                           SampleCorrect("layernorm_fused", "1/40", 6.18, 0.04),
                           SampleFailure("gelu_cached", "1/26", "tampered"),
                           SampleCorrect("gelu_poly", "1/26", 1.23, 0.012),
                           SampleFailure("conv", "1/50", "timed_out"),
                           SampleCorrect("conv_bias_relu", "2/1", 1.12, 0.03),
                           SampleFailure("gemm_gn", "2/62", "load_failed"),
                           SampleCorrect("gemm_scale", "2/40", 0.93, 0.015),
                           SampleCorrect("gemm_swish", "2/59", 12.6, 0.08),
                           SampleHostile("hostile")};
  all[1]["notes"] = json::array({MakeNote("too_short_to_resolve: 12 us with an offset of 20 us")});
  all[1]["protocol_changed"] = json::array({"half_width"});
  for (const char* problem : {"1/19", "1/23", "1/40"}) {
    json quick = SampleCorrect("quick_" + std::string(problem).substr(2), problem, 1.9, 0.1);
    quick["protocol"] = "quick";
    all.push_back(quick);
  }
  all.back()["isolation"] = "process";
  all.back()["speedup"] = 0.72;
  all.back()["speedup_interval"] = {0.65, 0.8};
  return all;
}

}  // namespace kb
