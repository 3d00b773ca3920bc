#include "judge/speed_of_light.h"

#include <algorithm>

namespace kb {

using nlohmann::json;

json SpeedOfLight(const json& figures, const json& device_info, const std::string& precision, double candidate_us) {
  const json rates = device_info.value("rates", json::object());
  const double copy = device_info.value("copy_gb_s", 0.0);
  if (!figures.contains("input_bytes") || copy <= 0 || candidate_us <= 0) return nullptr;
  const double narrow = precision == "fp32" ? 1 : 0.5;
  const double bytes = narrow * (figures.at("input_bytes").get<double>() + figures.at("parameter_bytes").get<double>() +
                                 figures.at("output_bytes").get<double>());
  const double products = figures.value("matrix_flops", 0.0), others = figures.value("flops", 0.0) - products;
  const double vector_rate = rates.value("fp32", 0.0), rate = rates.value(precision, vector_rate);
  json told = {{"memory_us", bytes / copy / 1e3}, {"compute_us", nullptr}, {"rate", precision}};
  double least = told["memory_us"];
  told["bound"] = "memory";
  if (rate > 0 && vector_rate > 0) {
    const double compute_us = (products / rate + std::max(0.0, others) / vector_rate) / 1e6;
    told["compute_us"] = compute_us;
    if (compute_us > least) told["bound"] = "compute";
    least = std::max(least, compute_us);
  }
  told["us"] = least;
  told["fraction"] = least / candidate_us;
  return told;
}

}  // namespace kb
