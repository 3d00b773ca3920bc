#include "server/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace kb::server {

bool ClientLimit::Take(const std::string& client) {
  const std::lock_guard lock(mutex_);
  if (taken_ >= most_) return false;
  int& of_this = of_[client];
  if (of_this >= most_each_) return false;
  ++of_this;
  ++taken_;
  return true;
}

void ClientLimit::Give(const std::string& client) {
  const std::lock_guard lock(mutex_);
  --taken_;
  if (--of_.at(client) == 0) of_.erase(client);
}

bool Turns::Do(const std::string& client, std::function<void()> work) {
  Waiting now{client, std::move(work)};
  {
    const std::lock_guard lock(mutex_);
    if (!limit_.Take(client)) {
      const auto of_this = [&](const Waiting& other) { return other.client == client; };
      if (std::count_if(waiting_.begin(), waiting_.end(), of_this) >= static_cast<std::ptrdiff_t>(most_waiting_))
        return false;
      waiting_.push_back(std::move(now));
      return true;
    }
  }
  while (now.work) {
    try {
      now.work();
    } catch (const std::exception& error) {
      fmt::print(stderr, "kernelbench: work of the service failed: {}\n", error.what());
    }
    now = Next(now.client);
  }
  return true;
}

Turns::Waiting Turns::Next(const std::string& client) {
  const std::lock_guard lock(mutex_);
  limit_.Give(client);
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    if (!limit_.Take(each->client)) continue;
    Waiting next = std::move(*each);
    waiting_.erase(each);
    return next;
  }
  return {};
}

}  // namespace kb::server
