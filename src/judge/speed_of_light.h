// The least time that this device could take for a problem: what must be moved over the rate at which it copies, or
// what must be multiplied over the rate at which it multiplies, whichever is longer (the roofline of Williams, Waterman
// and Patterson, 2009).
#ifndef JUDGE_SPEED_OF_LIGHT_H_
#define JUDGE_SPEED_OF_LIGHT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace kb {

// {"us", "bound": "memory" or "compute", "memory_us", "compute_us", "rate": what the products may be computed in,
// "fraction": of that speed which `candidate_us` reaches}. Null without figures or rates. `device_info` has copy_gb_s
// (bytes read plus bytes written) and "rates": {"fp32", "tf32", "fp16", "bf16"} in TFLOP/s as far as the device has
// them. The bytes are those of fp32; an fp32 problem's products count at the rate of fp32, for that is what its error
// budget asks of a product of matrices. Where a candidate surely is faster than that (convolutions may be in TF32, as
// their baseline is), it is the rate of TF32.
nlohmann::json SpeedOfLight(const nlohmann::json& figures, const nlohmann::json& device_info,
                            const std::string& precision, double candidate_us);

}  // namespace kb

#endif  // JUDGE_SPEED_OF_LIGHT_H_
