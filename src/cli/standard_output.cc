#include "cli/standard_output.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "report/fold.h"
#include "report/text.h"

namespace kb::cli {
namespace {

std::atomic<int> failed_with = 0;  // errno of the first write to standard output that failed

void OnFailure(int fd, int error) {
  int none = 0;
  if (fd == STDOUT_FILENO && failed_with.compare_exchange_strong(none, error)) Interrupt();
}

int DescriptorOf(void* cookie) { return static_cast<int>(reinterpret_cast<intptr_t>(cookie)); }

std::atomic<bool> keeps_lines = false;

void WriteAll(int fd, std::string_view text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EAGAIN) {  // whoever shares the terminal made it so
      pollfd ready{fd, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return OnFailure(fd, errno);
    }
  }
}

// As fopencookie() asks for it, but that it says that all was written.
ssize_t WriteOrDrop(void* cookie, const char* data, size_t size) {
  WriteAll(DescriptorOf(cookie), {data, size});
  return static_cast<ssize_t>(size);
}

// The same for a terminal. What ends without a newline goes on in the next call, and is folded as it came.
ssize_t FoldOrDrop(void* cookie, const char* data, size_t size) {
  const int fd = DescriptorOf(cookie);
  const size_t columns = keeps_lines ? kNoLimit : ColumnsOf(fd);
  static bool begins = true, is_json = false;  // a line; guarded by the lock of the stream
  for (std::string_view text(data, size); !text.empty();) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    if (begins) is_json = line.starts_with('{');
    begins = line.ends_with('\n');
    WriteAll(fd, is_json ? std::string(line) : Fold(line, columns));
    text.remove_prefix(end);
  }
  return static_cast<ssize_t>(size);
}

// `buffer`: what it holds goes out at once, so that whoever has read enough of a short text does not fail the command.
void Guard(int fd, int buffering, std::span<char> buffer, FILE** stream) {
  cookie_io_functions_t functions = {};
  functions.write = fd == STDOUT_FILENO && isatty(fd) != 0 ? FoldOrDrop : WriteOrDrop;
  FILE* guarded = fopencookie(reinterpret_cast<void*>(static_cast<intptr_t>(fd)), "w", functions);
  if (guarded == nullptr) return;  // then it throws, as ever
  setvbuf(guarded, buffer.data(), buffering, buffer.size());
  *stream = guarded;
}

}  // namespace

void GuardOutput() {
  static char buffer[64 << 10];  // what a pipe holds
  Guard(STDOUT_FILENO, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, buffer, &stdout);
  Guard(STDERR_FILENO, _IONBF, {}, &stderr);
}

void KeepLines() { keeps_lines = true; }

int FinishOutput(int exit_code) {
  std::fflush(stdout);
  const int error = failed_with;
  if (error == 0) return exit_code;
  if (error == EPIPE) return kReaderGone;
  fmt::print(stderr, "kernelbench: cannot write to standard output: {}\n", std::strerror(error));
  return kEngineFailure;
}

}  // namespace kb::cli
