// The implementations, for device_kind.cc alone.
#ifndef JUDGE_DEVICES_KINDS_H_
#define JUDGE_DEVICES_KINDS_H_

#include "judge/devices/device_kind.h"

namespace kb {

const DeviceKind& Cpu();
const DeviceKind& Cuda();

}  // namespace kb

#endif  // JUDGE_DEVICES_KINDS_H_
