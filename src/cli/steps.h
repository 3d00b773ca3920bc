// Commands that work through problems one after the other, and resume because each result is stored at once.
#ifndef CLI_STEPS_H_
#define CLI_STEPS_H_

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cli/commands.h"
#include "cli/progress.h"

namespace kb::cli {

// What goes wrong with one step is reported, and the next one goes on. An interrupt and an error of the store end all.
class Steps {
 public:
  // `kept`: what to say after an interrupt.
  Steps(bool quiet, size_t total, std::string kept) : progress_(quiet, total), kept_(std::move(kept)) {}

  // The value of `work()`, a Result; nothing if there is none. `doing`: "", or "checking ".
  template <typename Work>
  auto Take(const std::string& doing, const std::string& name, const Work& work)
      -> std::optional<typename std::invoke_result_t<Work>::value_type> {
    progress_.Say(doing + name);
    auto result = work();
    progress_.Done();
    progress_.Clear();
    if (result) return std::move(*result);
    const Error& error = result.error();
    ended_ = error.code == ErrorCode::kInterrupted || error.code == ErrorCode::kStore;
    if (!ended_) ++broken_;
    exit_code_ =
        std::max(exit_code_, PrintError(ended_ ? error : Error{error.code, name + ": " + error.message}, kept_));
    return std::nullopt;
  }

  void Say(const std::string& what) { progress_.Say(what); }
  bool ended() const { return ended_; }
  size_t broken() const { return broken_; }  // steps without a value
  int exit_code() const { return exit_code_; }

 private:
  Progress progress_;
  std::string kept_;
  size_t broken_ = 0;
  int exit_code_ = kAllCorrect;
  bool ended_ = false;
};

}  // namespace kb::cli

#endif  // CLI_STEPS_H_
