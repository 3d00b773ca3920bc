// Every malformed, early, late, doubled or oversized message of a runner is a verdict: never a hang, never a crash.
// From the real page, through the device library's C ABI, to the judge's finding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <limits>

#include "base/fd.h"
#include "device/c_api.h"
#include "judge/round/round.h"
#include "judge/rule/finding.h"
#include "runner/mailbox.h"

namespace kb {
namespace {

using nlohmann::json;
using runner::Mailbox;
using testing::HasSubstr;

constexpr int64_t kPatience = 10'000'000'000;  // of calls that end by themselves
constexpr uint64_t kWrongNumber = 12345;
constexpr int64_t kTimeout = 200'000'000;      // of calls that never do
constexpr size_t kTextSizeAt = 6, kText = 10;  // in an encoded report

using Serve = std::function<void(Doorbell*, Mailbox*)>;

// A session with one output, and a process that serves its doorbell.
class HostileRunner {
 public:
  // `rings_first`: it rings with kWrongNumber before it is attached, which stops it.
  explicit HostileRunner(const Serve& serve, bool rings_first = false) {
    static void* const device = kbd_open("cpu", 1);
    const ops::Layout layout{.outputs = {{.dtype = {KB_FLOAT, 32, 1}, .shape = {1024}, .bytes = 4096}},
                             .outputs_bytes = 4096};
    session_ = kbd_session_new(device, json(layout).dump().c_str());
    KB_CHECK(session_ != nullptr);
    int fds[4];
    KB_CHECK(kbd_session_share(session_, nullptr, nullptr, 0, fds) == 1);
    void* page = mmap(nullptr, kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    KB_CHECK(page != MAP_FAILED);
    bell_ = static_cast<Doorbell*>(page);
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);  // what it starts is ended with it
      Mailbox mailbox(bell_, false);
      serve(bell_, &mailbox);
      _exit(0);
    }
    setpgid(pid_, pid_);
    while (rings_first && bell_->done.load() != kWrongNumber) usleep(100);
    kbd_session_attach(session_, pid_, static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~HostileRunner() {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    kbd_session_free(session_);
    munmap(bell_, kDoorbellBytes);
  }
  HostileRunner(const HostileRunner&) = delete;  // owns a process

  json Answer(int64_t timeout_ns = kPatience) {
    return json::parse(kbd_call(session_, static_cast<int>(CallKind::kForward), 1, timeout_ns, 1));
  }
  std::optional<Finding> Call(int64_t timeout_ns = kPatience) {
    const auto ending = EndingOf(Answer(timeout_ns).get<ops::Called>(), CallKind::kForward, "1 s");
    return ending ? std::optional(FindingOf(*ending, 8)) : std::nullopt;
  }

 private:
  void* session_;
  Doorbell* bell_;
  pid_t pid_ = -1;
};

std::string Good() { return EncodeReport(Report{}); }

std::string Said(ReportStatus status, std::string text) {
  Report report;
  report.status = status;
  report.text = std::move(text);
  return EncodeReport(report);
}

template <typename T>
std::string With(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

std::string WithExtent(int64_t extent) {
  Report report;
  report.outputs = {{{KB_FLOAT, 32, 1}, {extent}}};
  return EncodeReport(report);
}

std::string WithKernel(uint8_t name_size) {
  Report report;
  report.kernels = {{std::string(kMaxKernelName, 'k'), 1, 1}};
  return With(EncodeReport(report), kText + 4, name_size);
}

void WriteRaw(Doorbell* bell, const std::string& bytes, uint32_t size) {
  std::memcpy(bell->report, bytes.data(), std::min<size_t>(bytes.size(), kReportCapacity));
  bell->report_size.store(size);
}

// ---- Messages ------------------------------------------------------------------------------------------------------

struct Message {
  const char* name;
  std::string bytes;
  uint32_t size;  // as the runner says it
  Verdict verdict;
  const char* reason;
  static Message Of(const char* name, const std::string& bytes, Verdict verdict, const char* reason) {
    return {name, bytes, static_cast<uint32_t>(bytes.size()), verdict, reason};
  }
};

std::vector<Message> Messages() {
  const auto forged = [](const char* name, const std::string& bytes, const char* reason) {
    return Message::Of(name, bytes, Verdict::kTampered, reason);
  };
  return {
      {"size of four gigabytes", Good(), 0xffffffff, Verdict::kTampered, "size"},
      {"size one beyond the page", Good(), kReportCapacity + 1, Verdict::kTampered, "size"},
      {"size of the whole page", Good(), kReportCapacity, Verdict::kTampered, "length"},
      {"no message at all", "", 0, Verdict::kTampered, "magic"},
      forged("another version", With(Good(), 0, '2'), "magic"),
      forged("a status that there is not", With(Good(), 4, uint8_t{200}), "status"),
      forged("a truth value of 2", With(Good(), 5, uint8_t{2}), "state_differs"),
      forged("a text of four gigabytes", With(Good(), kTextSizeAt, ~uint32_t{0}), "text"),
      forged("a text beyond the message", With(Good(), kTextSizeAt, uint32_t{13}), "text"),
      forged("more outputs than allowed", With(Good(), kText, uint16_t{kMaxOutputs + 1}), "number of outputs"),
      forged("outputs that do not follow", With(Good(), kText, uint16_t{1}), "output"),
      forged("a negative extent", WithExtent(-1), "output"),
      forged("the most negative extent", WithExtent(std::numeric_limits<int64_t>::min()), "output"),
      forged("more kernels than allowed", With(Good(), kText + 2, uint16_t{kMaxKernels + 1}), "number of kernels"),
      forged("kernels that do not follow", With(Good(), kText + 2, uint16_t{1}), "kernel"),
      forged("a kernel's name longer than any", WithKernel(255), "kernel"),
      forged("more after the end", Good() + "x", "length"),
      Message::Of("text that is not UTF-8", Said(ReportStatus::kRaised, "\xff\xfe\xc3(\nError"), Verdict::kCrashed,
                  "\xef\xbf\xbd"),
      Message::Of("text of zeros", Said(ReportStatus::kRaised, std::string(5000, '\0')), Verdict::kCrashed, ""),
      Message::Of("text of line ends", Said(ReportStatus::kOutOfMemory, "\n \n\n"), Verdict::kOutOfMemory, ""),
      Message::Of("as much text as there is room", Said(ReportStatus::kRaised, std::string(200'000, 'x')),
                  Verdict::kCrashed, "xxxx"),
      Message::Of("JSON as text", Said(ReportStatus::kWrongForm, R"("}],"end":"done","us":0)"), Verdict::kWrongForm,
                  "\"end\""),
  };
}

TEST(HostileRunner, EveryMessageIsAVerdict) {
  for (const Message& message : Messages()) {
    SCOPED_TRACE(message.name);
    HostileRunner runner([&](Doorbell* bell, Mailbox* mailbox) {
      mailbox->Wait();
      WriteRaw(bell, message.bytes, message.size);
      mailbox->Answer();
      pause();
    });
    const auto finding = runner.Call();
    ASSERT_TRUE(finding);
    EXPECT_EQ(VerdictName(finding->verdict), VerdictName(message.verdict)) << finding->reason;
    EXPECT_THAT(finding->reason, HasSubstr(message.reason));
  }
}

TEST(HostileRunner, AnExtentTooLargeToBeIsOnlyANumber) {
  HostileRunner runner([](Doorbell* bell, Mailbox* mailbox) {
    mailbox->Wait();
    const std::string bytes = WithExtent(std::numeric_limits<int64_t>::max());
    WriteRaw(bell, bytes, static_cast<uint32_t>(bytes.size()));
    mailbox->Answer();
    pause();
  });
  const json answer = runner.Answer();
  EXPECT_EQ(answer["end"], "done");
  EXPECT_FALSE(EndingOf(answer.get<ops::Called>(), CallKind::kForward, "1 s"));
}

TEST(HostileRunner, ItsKernelsAreWhatItSaysTheyAre) {
  HostileRunner runner([](Doorbell*, Mailbox* mailbox) {
    mailbox->Wait();
    Report report;
    report.kernels = {{"\xff\x1b[31mred", ~uint32_t{0}, ~uint64_t{0}}, {"", 1, 1}};
    mailbox->Write(report);
    mailbox->Answer();
    pause();
  });
  const json answer = runner.Answer();
  ASSERT_EQ(answer["report"]["kernels"].size(), 2u);
  EXPECT_EQ(answer["report"]["kernels"][0]["name"], "\xef\xbf\xbd\x1b[31mred");
  EXPECT_EQ(answer["report"]["kernels"][0]["calls"], ~uint32_t{0});
  EXPECT_EQ(answer["report"]["kernels_span_us"], 0);
}

// ---- Rings ---------------------------------------------------------------------------------------------------------

constexpr const char* kFine = "fine";

struct Ring {
  const char* name;
  Serve serve;
  std::vector<std::string> verdicts;  // of one call after another; some have two
  bool rings_first = false;           // with kWrongNumber, before it is called
};

std::vector<Ring> Rings() {
  const auto honest = [](Doorbell*, Mailbox* mailbox) {
    for (;;) {
      mailbox->Wait();
      mailbox->Write(Report{});
      mailbox->Answer();
    }
  };
  return {
      {"done before go",
       [=](Doorbell* bell, Mailbox* mailbox) {
         bell->done.store(kWrongNumber);
         honest(bell, mailbox);
       },
       {kFine, kFine},
       true},
      {"done twice",
       [](Doorbell*, Mailbox* mailbox) {
         for (;;) {
           mailbox->Wait();
           mailbox->Write(Report{});
           mailbox->Answer();
           mailbox->Answer();
         }
       },
       {kFine, kFine, kFine}},
      {"the number of the last call again",
       [](Doorbell*, Mailbox* mailbox) {
         mailbox->Wait();
         mailbox->Write(Report{});
         for (;;) mailbox->Answer();
       },
       {kFine, "timed_out"}},
      {"half of the number",
       [](Doorbell* bell, Mailbox* mailbox) {
         mailbox->Wait();
         for (;;) bell->done.store(bell->go.load() & 0xffffffff);
       },
       {"tampered"}},
      {"done before the report is written",
       [](Doorbell*, Mailbox* mailbox) {
         mailbox->Wait();
         mailbox->Answer();
         pause();
       },
       {"tampered"}},
      {"an answer that comes when its call has long ended",
       [](Doorbell* bell, Mailbox* mailbox) {
         mailbox->Wait();
         const uint64_t old = bell->go.load();
         while (bell->go.load() == old) usleep(100);
         bell->done.store(old);
         pause();
       },
       {"timed_out", "tampered"}},
      {"the judge's words overwritten",
       [](Doorbell* bell, Mailbox* mailbox) {
         for (;;) {
           mailbox->Wait();
           const uint64_t go = bell->go.load();
           bell->version = 77;
           bell->kind.store(5);
           bell->argument.store(~uint64_t{0});
           mailbox->Write(Report{});
           mailbox->Answer();
           bell->go.store(go);  // stopped before this line, it wipes out the next ring, and waits in vain
         }
       },
       {kFine, "fine or timed_out"}},
      {"the whole page overwritten",
       [](Doorbell* bell, Mailbox* mailbox) {
         mailbox->Wait();
         for (;;) std::memset(static_cast<void*>(bell), 0xff, kDoorbellBytes);
       },
       {"tampered"}},
      {"it stops itself",
       [](Doorbell*, Mailbox* mailbox) {
         mailbox->Wait();
         for (;;) raise(SIGSTOP);
       },
       {"timed_out", "timed_out"}},
      {"it dies before the first call", [](Doorbell*, Mailbox*) { _exit(0); }, {"crashed", "crashed"}},
      {"it answers and dies",
       [](Doorbell*, Mailbox* mailbox) {
         mailbox->Wait();
         mailbox->Write(Report{});
         mailbox->Answer();
         _exit(0);
       },
       {kFine, "crashed"}},
  };
}

TEST(HostileRunner, EveryRingIsAVerdict) {
  for (const Ring& ring : Rings()) {
    SCOPED_TRACE(ring.name);
    HostileRunner runner(ring.serve, ring.rings_first);
    for (const std::string& verdict : ring.verdicts) {
      const auto finding = runner.Call(verdict == "timed_out" ? kTimeout : kPatience);
      EXPECT_THAT(verdict, HasSubstr(finding ? VerdictName(finding->verdict) : kFine))
          << (finding ? finding->reason : "");
    }
  }
}

// The runner is kept in the kernel until its child is gone, as by a slow disk, and cannot stop before.
TEST(HostileRunner, WaitingInTheKernelIsNoMisbehaviour) {
  HostileRunner runner([](Doorbell*, Mailbox* mailbox) {
    mailbox->Wait();
    mailbox->Write(Report{});
    if (vfork() == 0) {
      mailbox->Answer();
      const timespec longer_than_a_runner_may_go_on{6, 0};
      nanosleep(&longer_than_a_runner_may_go_on, nullptr);
      _exit(0);
    }
    for (;;) {
      mailbox->Wait();
      mailbox->Answer();
    }
  });
  for (int call = 0; call < 2; ++call) {
    const auto finding = runner.Call();
    EXPECT_FALSE(finding) << finding->reason;
  }
}

// A second process, which nobody freezes, changes the page while the judge reads it. Size and contents are taken
// once, so the decoder sees bytes that stay.
TEST(HostileRunner, AReportThatChangesWhileItIsReadIsAVerdict) {
  HostileRunner runner([](Doorbell* bell, Mailbox* mailbox) {
    const std::string good = Said(ReportStatus::kRaised, "good"), bad = WithExtent(-1);
    if (fork() == 0) {
      for (;;) {
        WriteRaw(bell, good, static_cast<uint32_t>(good.size()));
        bell->report_size.store(0xfffffff0);
        WriteRaw(bell, bad, static_cast<uint32_t>(bad.size()));
        bell->report_size.store(kReportCapacity);
      }
    }
    for (;;) {
      mailbox->Wait();
      mailbox->Answer();
    }
  });
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const auto finding = runner.Call();  // half of one and half of the other may happen to be a report, even a fine one
    if (!finding || finding->verdict == Verdict::kCrashed) continue;
    EXPECT_EQ(VerdictName(finding->verdict), "tampered") << finding->reason;
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace kb
