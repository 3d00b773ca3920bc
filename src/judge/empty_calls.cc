#include "judge/empty_calls.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "judge/stats/stats.h"

namespace kb {
namespace {

constexpr size_t kAgreeing = 3;

}  // namespace

void PauseAfter(int disturbed_series) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5) * (1 << std::clamp(disturbed_series - 1, 0, 6)));
}

double ScatterUs(const std::vector<double>& us) { return 1.4826 * MedianAbsoluteDeviation(us); }

Result<std::optional<std::vector<double>>> EmptyCalls(OffsetCalls calls, double agree_us,
                                                      const std::function<Result<double>(bool)>& call) {
  for (int i = 0; i < calls.settling; ++i) KB_RETURN_IF_ERROR(call(false));
  std::vector<double> us, medians;
  for (int series = 0; series < kMostDisturbedSeries; ++series) {
    if (medians.size() >= kAgreeing) PauseAfter(static_cast<int>(medians.size() - kAgreeing) + 1);
    std::vector<double> latest;
    for (int i = 0; i < calls.in_series; ++i) {
      KB_ASSIGN_OR_RETURN(const double took, call(true));
      latest.push_back(took);
    }
    us.insert(us.end(), latest.begin(), latest.end());
    medians.push_back(Median(latest));
    if (medians.size() < kAgreeing) continue;
    const auto last = medians.end() - kAgreeing;
    const auto [least, most] = std::minmax_element(last, medians.end());
    if (*most - *least > agree_us) continue;
    us.erase(us.begin(), us.end() - static_cast<std::ptrdiff_t>(kAgreeing) * calls.in_series);
    std::sort(us.begin(), us.end());
    return us;
  }
  return std::nullopt;
}

}  // namespace kb
