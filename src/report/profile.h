// A profile (judge/devices/cuda/kernel_profile.h) for people.
#ifndef REPORT_PROFILE_H_
#define REPORT_PROFILE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace kb {

std::string DescribeProfile(const nlohmann::json& profile);

}  // namespace kb

#endif  // REPORT_PROFILE_H_
