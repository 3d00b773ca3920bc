#ifndef JUDGE_UNDISTURBED_H_
#define JUDGE_UNDISTURBED_H_

#include <string>
#include <vector>

namespace kb {

// What the baseline takes by itself: the latest calls that were made while no candidate was loaded.
//
// A figure takes six of them. Where the evaluation before had the same baseline, the last four it rested on serve again
// if two new ones agree with them as closely as was asked for, and all six are made anew if not. No candidate can have
// slowed a call that was over before it was loaded, whichever evaluation made it; what the new ones tell is that the
// machine is as quick as it was.
class Undisturbed {
 public:
  static constexpr int kSeries = 2;  // new calls that each evaluation makes at least

  // `agreement`: relative.
  explicit Undisturbed(double agreement) : agreement_(agreement) {}

  // The next evaluation begins. `baseline` names which baseline it has and how that is called; calls of any other are
  // forgotten.
  void Begin(const std::string& baseline);
  void Add(double us, double launch_us);
  void Forget();
  bool Enough() const;
  bool Reused() const;  // some were made by evaluations before

  // Of calls that are enough. `spread`: 1.4826 times the median absolute deviation, relative to `us`.
  struct Figure {
    double us = 0, launch_us = 0, spread = 0;
  };
  Figure Median() const;

 private:
  double agreement_;
  std::string baseline_;
  std::vector<double> us_, launch_us_;  // in the order in which they were made
  int fresh_ = 0;                       // how many of them this evaluation made
};

}  // namespace kb

#endif  // JUDGE_UNDISTURBED_H_
