// What a worker prints.
#ifndef JUDGE_PROCESS_OUTPUT_DRAIN_H_
#define JUDGE_PROCESS_OUTPUT_DRAIN_H_

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace kb {

// A pipe whose ends this process holds and no child inherits: reading, writing.
Result<std::pair<Fd, Fd>> MakePipe();

// Drains a pipe in a thread of its own and keeps the first 16 KiB and the last 48.
class OutputDrain {
 public:
  static Result<std::unique_ptr<OutputDrain>> Start();
  OutputDrain(const OutputDrain&) = delete;  // the thread holds its address
  OutputDrain& operator=(const OutputDrain&) = delete;
  ~OutputDrain();

  int write_fd() const { return writing_.get(); }
  void CloseWriteEnd() { writing_.Reset(); }
  std::string Finish();  // after the writer has ended: waits for the rest

 private:
  OutputDrain(Fd reading, Fd writing, Fd wake);
  void Loop();
  Fd reading_, writing_, wake_;
  std::string head_, tail_;
  bool cut_ = false;
  std::thread thread_;
};

}  // namespace kb

#endif  // JUDGE_PROCESS_OUTPUT_DRAIN_H_
