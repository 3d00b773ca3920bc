#include "jobs/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "judge/devices/device_kind.h"

namespace kb {
namespace {

Result<int> NumberOf(const std::string& text, const std::string& whole) {
  if (!text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos) {
    return std::stoi(text);
  }
  return Fail(ErrorCode::kUsage, fmt::format("--devices {}: give cpu, cuda, cuda:0,cuda:1 or cuda:0-3", whole));
}

}  // namespace

Result<std::vector<std::string>> FindDevices(const std::string& text) {
  std::vector<std::string> devices;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    const size_t colon = part.find(':'), dash = part.find('-');
    if (colon == std::string::npos) {
      devices.push_back(part);
      continue;
    }
    KB_ASSIGN_OR_RETURN(const int first, NumberOf(part.substr(colon + 1, dash - colon - 1), text));
    KB_ASSIGN_OR_RETURN(const int last, dash == std::string::npos ? first : NumberOf(part.substr(dash + 1), text));
    for (int i = first; i <= last; ++i) devices.push_back(fmt::format("{}:{}", part.substr(0, colon), i));
  }
  std::vector<std::string> sorted = devices;
  std::sort(sorted.begin(), sorted.end());
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  const auto differs = [&](const std::string& device) {
    const DeviceKind* kind = KindOfDevice(device);
    return kind == nullptr || kind->on_host() || device == kind->name || kind != KindOfDevice(devices.front());
  };
  const bool mixed = devices.size() > 1 && std::any_of(devices.begin(), devices.end(), differs);
  if (devices.empty() || twice || mixed) {
    return Fail(ErrorCode::kUsage, fmt::format("--devices {}: give cpu, cuda, or several GPUs such as cuda:0,cuda:1, "
                                               "each once",
                                               text));
  }
  for (const std::string& device : devices) KB_RETURN_IF_ERROR(CheckDevice(device));
  return devices;
}

Result<std::vector<std::string>> DevicesOfCard(const std::string& card) {
  std::vector<std::string> devices;
  for (const DeviceKind* kind : DeviceKinds()) {
    if (kind->names == nullptr) continue;
    KB_ASSIGN_OR_RETURN(const std::vector<int> numbers, FindCard(card, kind->names()));
    for (const int number : numbers) devices.push_back(fmt::format("{}:{}", kind->name, number));
  }
  for (const std::string& device : devices) KB_RETURN_IF_ERROR(CheckDevice(device));
  return devices;
}

bool OnHost(const std::vector<std::string>& devices) {
  const DeviceKind* kind = KindOfDevice(devices.front());
  return kind != nullptr && kind->on_host();
}

}  // namespace kb
