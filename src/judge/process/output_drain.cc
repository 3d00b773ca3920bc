#include "judge/process/output_drain.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kb {
namespace {

constexpr size_t kHead = 16 << 10, kTail = 48 << 10;

}  // namespace

Result<std::pair<Fd, Fd>> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(ErrorCode::kUnavailable, "cannot make a pipe: too many open files");
  return std::pair{Fd(ends[0]), Fd(ends[1])};
}

OutputDrain::OutputDrain(Fd reading, Fd writing, Fd wake)
    : reading_(std::move(reading)), writing_(std::move(writing)), wake_(std::move(wake)) {
  thread_ = std::thread([this] { Loop(); });
}

Result<std::unique_ptr<OutputDrain>> OutputDrain::Start() {
  KB_ASSIGN_OR_RETURN(auto ends, MakePipe());
  Fd wake(eventfd(0, EFD_CLOEXEC));
  if (!wake.valid()) return Fail(ErrorCode::kUnavailable, "cannot make an eventfd: too many open files");
  return std::unique_ptr<OutputDrain>(new OutputDrain(std::move(ends.first), std::move(ends.second), std::move(wake)));
}

OutputDrain::~OutputDrain() { Finish(); }

void OutputDrain::Loop() {
  char buffer[1 << 14];
  for (bool finishing = false;;) {
    pollfd waiting[2] = {{reading_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    // Once told to finish, take what is there and do not wait for a writer that may never close.
    if (poll(waiting, 2, finishing ? 0 : -1) < 0 && errno == EINTR) continue;
    finishing = finishing || waiting[1].revents != 0;
    if (waiting[0].revents == 0) {
      if (finishing) return;
      continue;
    }
    const ssize_t got = read(reading_.get(), buffer, sizeof buffer);
    if (got <= 0) return;
    const std::string_view more(buffer, static_cast<size_t>(got));
    const size_t room = kHead - std::min(kHead, head_.size());
    head_.append(more.substr(0, room));
    if (more.size() > room) tail_.append(more.substr(room));
    if (tail_.size() > 2 * kTail) {
      tail_.erase(0, tail_.size() - kTail);
      cut_ = true;
    }
  }
}

std::string OutputDrain::Finish() {
  if (!thread_.joinable()) return "";
  writing_.Reset();
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = write(wake_.get(), &one, sizeof one);
  thread_.join();
  if (tail_.size() > kTail) {
    tail_.erase(0, tail_.size() - kTail);
    cut_ = true;
  }
  if (cut_) {
    head_ += "\n[... output cut ...]\n";
  }
  return head_ + tail_;
}

}  // namespace kb
