// What no trial can measure of itself: by how much two processes that do the same differ on a kind of device. The
// numbers come of A/A runs (bench/results/aa_cpu.md, aa_cuda.md, host_cost.md).
#ifndef JUDGE_RULE_CALIBRATION_H_
#define JUDGE_RULE_CALIBRATION_H_

#include <nlohmann/json.hpp>

namespace kb {

// Systematic error of a ratio between two processes that do the same, however many rounds there are: so much of the
// candidate's time, and so much of the ratio. Of a device and a kind of candidate (floors.h).
struct Floor {
  double us = 0, relative = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(Floor, us, relative)
};

// What depends on the kind of device alone. Times are microseconds, everything else is relative. The defaults are those
// of a GPU.
struct Calibration {
  // Calls compute on the machine's own cores and return when they are done. Otherwise they launch work, which a device
  // of its own does after other work, also of other processes.
  bool on_host = false;
  // The relative part of the floor where a GPU bounds the reference's calls.
  double device_bound_floor = 0.005;
  // Of the time that the host takes to launch a call. Of a call that launches for 1.3 ms, of which 0.8 hide, that is
  // 18%.
  double hosts_differ = 0.07;
  // At most this part of a span is taken away as its offset: a larger one was disturbed, and what it would leave, or
  // less than nothing, would be a speedup out of noise. On a GPU it is a change of contexts, longer than many kernels.
  double offset_share = 0.98;
  // Spans so much shorter than the offset are of calls that did not wait for the device.
  double no_device_us = 60;
  // Launches that end so soon after go cost no time: the device is held for 0.5 ms and changes its context.
  double launched_at_once_us = 550;
  // What a module's runner does around its calls, where launching takes longer than that hides: it is in the clock and
  // in no event.
  double module_us = 60;
  double agreement = 0.01;  // undisturbed calls that were made before serve again if new ones agree so closely
};

}  // namespace kb

#endif  // JUDGE_RULE_CALIBRATION_H_
