// What a desk knows of one evaluation. For the desk alone.
#ifndef SERVER_DESK_ENTRY_H_
#define SERVER_DESK_ENTRY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/desk.h"
#include "server/evaluation_view.h"

namespace kb::server {

inline bool Final(const std::string& state) { return state == "done" || state == "failed" || state == "cancelled"; }

// An evaluation that has not ended, or did so lately. All of it is under the desk's lock until it has.
struct Desk::Entry {
  using Watcher = std::function<bool(size_t, const Event&)>;
  struct Waiter {
    std::function<void(Result<nlohmann::json>)> told;
    bool whole = false;
    bool until_held = false;  // a lease
    Timers::Id timer;
  };

  Submission submission;
  bool kept = true;
  Order::Kind kind = Order::Kind::kEvaluate;
  std::string source;   // of one that is not kept
  nlohmann::json lent;  // the device, of a lease; null: it was not held yet
  bool left = false;    // by its task: its device judges again
  std::string state = "queued";
  std::optional<nlohmann::json> evaluation;  // of a done one
  std::optional<Error> error;
  std::vector<Event> events;
  std::optional<Timers::Id> deadline, unattended;
  std::map<uint64_t, Watcher> watchers;
  std::map<uint64_t, Waiter> waiters;

  nlohmann::json View(bool whole) const {
    nlohmann::json view = ViewOf(submission, {state, evaluation ? &*evaluation : nullptr, error}, whole);
    if (kind == Order::Kind::kLend) view["lent"] = lent;
    return view;
  }
};

}  // namespace kb::server

#endif  // SERVER_DESK_ENTRY_H_
