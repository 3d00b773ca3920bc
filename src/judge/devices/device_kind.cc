#include "judge/devices/device_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "judge/devices/kinds.h"

namespace kb {

const std::vector<const DeviceKind*>& DeviceKinds() {
  static const std::vector<const DeviceKind*> kKinds = {&Cpu(), &Cuda()};
  return kKinds;
}

const DeviceKind* KindOfDevice(const std::string& device) {
  const std::string name = device.substr(0, device.find(':'));
  for (const DeviceKind* kind : DeviceKinds()) {
    if (kind->name == name) return kind;
  }
  return nullptr;
}

const DeviceKind* KindOfSource(const std::filesystem::path& file) {
  for (const DeviceKind* kind : DeviceKinds()) {
    const auto& all = kind->extensions;
    if (std::find(all.begin(), all.end(), file.extension()) != all.end()) return kind;
  }
  return nullptr;
}

Result<FoundDevice> FindDevice(const std::string& device) {
  const DeviceKind* kind = KindOfDevice(device);
  int number = 0;
  bool means = kind != nullptr;
  if (means && device != kind->name) {
    const char* const end = device.data() + device.size();
    const auto read = std::from_chars(device.data() + kind->name.size() + 1, end, number);
    means = !kind->on_host() && read.ec == std::errc() && read.ptr == end && number >= 0;
  }
  if (means) return kind->find(number);
  std::vector<std::string> names;
  for (const DeviceKind* each : DeviceKinds()) names.push_back(each->name);
  return Fail(ErrorCode::kUsage, fmt::format("no device \"{}\"; there are: {}, and cuda:1 for the second GPU", device,
                                             fmt::join(names, ", ")));
}

FoundDevice Host() { return *Cpu().find(0); }

Status CheckDevice(const std::string& device) {
  KB_ASSIGN_OR_RETURN(const FoundDevice found, FindDevice(device));
  return found.absent.empty() ? Status() : Fail(ErrorCode::kUnavailable, found.absent);
}

}  // namespace kb
