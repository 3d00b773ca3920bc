#include "judge/speed_of_light.h"

#include <algorithm>

namespace kb {

using nlohmann::json;

namespace {

// A rate is known to some percent: on an H100 products in fp32 seem up to 1.04 times as fast, the least of those in
// TF32 1.14 times. A candidate that is faster than this multiplies in another format.
constexpr double kSurelyFaster = 1.1;

}  // namespace

json SpeedOfLight(const json& figures, const json& device_info, const std::string& precision, double candidate_us) {
  const json rates = device_info.value("rates", json::object());
  const double copy = device_info.value("copy_gb_s", 0.0);
  if (!figures.contains("input_bytes") || copy <= 0 || candidate_us <= 0) return nullptr;
  const double narrow = precision == "fp32" ? 1 : 0.5;
  const double bytes = narrow * (figures.at("input_bytes").get<double>() + figures.at("parameter_bytes").get<double>() +
                                 figures.at("output_bytes").get<double>());
  const double products = figures.value("matrix_flops", 0.0), others = figures.value("flops", 0.0) - products;
  const double vector_rate = rates.value("fp32", 0.0), tf32_rate = rates.value("tf32", 0.0);
  const double memory_us = bytes / copy / 1e3;
  const auto compute_us = [&](double rate) { return (products / rate + std::max(0.0, others) / vector_rate) / 1e6; };
  json told = {{"memory_us", memory_us}, {"compute_us", nullptr}, {"rate", precision}};
  double least = memory_us;
  if (const double rate = rates.value(precision, vector_rate); rate > 0 && vector_rate > 0) {
    double products_us = compute_us(rate);
    if (precision == "fp32" && tf32_rate > rate && products_us > kSurelyFaster * candidate_us) {
      products_us = compute_us(tf32_rate);
      told["rate"] = "tf32";
    }
    told["compute_us"] = products_us;
    least = std::max(memory_us, products_us);
  }
  told["bound"] = least > memory_us ? "compute" : "memory";
  told["us"] = least;
  told["fraction"] = least / candidate_us;
  return told;
}

}  // namespace kb
