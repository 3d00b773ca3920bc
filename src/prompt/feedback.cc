#include "prompt/feedback.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "prompt/feedback_text.h"
#include "report/text.h"
#include "report/view.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kMostKernels = 6;  // rows of a profile
constexpr size_t kMostNotes = 8;
constexpr double kSmallErrors = 1e3;  // budgets: beyond, an error is no matter of rounding

std::string Text(const json& object, const char* key) { return OneLine(TextAt(object, key), 600); }

// With its line ends.
std::string Whole(const json& object, const char* key) {
  const json& member = MemberAt(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

// What each verdict means for whoever wrote the candidate.
std::string VerdictSentence(const std::string& verdict) {
  const std::pair<const char*, const char*> sentences[] = {
      {"not_run", "It was not run."},
      {"static_rejected", "It was refused before it was built."},
      {"build_failed", "It does not compile."},
      {"load_failed", "It compiles, but cannot be loaded and constructed."},
      {"crashed", "It crashed."},
      {"timed_out", "It took longer than it may."},
      {"out_of_memory", "It needs more memory than there is."},
      {"wrong_form", "Its outputs do not have the form of the reference's, or it changed what it must not."},
      {"non_finite", "Its output is not finite where the reference's is, or the other way round."},
      {"incorrect", "Its output is wrong."},
      {"tampered", "It did something that would falsify the measurement."},
      {"correct", "It is correct."},
  };
  for (const auto& [name, sentence] : sentences) {
    if (verdict == name) return sentence;
  }
  return "It has no verdict.";
}

std::string Index(const json& index) {
  std::vector<std::string> numbers;
  if (index.is_array()) {
    for (const json& each : index) numbers.push_back(each.dump());
  }
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string Number(const json& value) {
  if (value.is_string()) return value.get<std::string>();  // "nan", "inf"
  return value.is_number() ? fmt::format("{:.9g}", value.get<double>()) : "?";
}

std::string Distribution(const std::string& name) {
  const std::pair<const char*, const char*> meanings[] = {
      {"natural", "inputs as get_inputs() draws them"},           {"centred", "inputs shifted so that their mean is 0"},
      {"outliers", "inputs of which a few are 256 times larger"}, {"scaled", "inputs with mean 0, 256 times larger"},
      {"sparse", "inputs of which nine in ten elements are 0"},   {"structured", "inputs whose signs alternate"},
  };
  for (const auto& [each, meaning] : meanings) {
    if (name == each) return meaning;
  }
  return name + " inputs";
}

class Feedback {
 public:
  Feedback(const json& evaluation, const FeedbackContext& context) : evaluation_(evaluation), context_(context) {}

  std::string Write() {
    const std::string verdict = TextAt(evaluation_, "verdict"), reason = Text(evaluation_, "reason");
    const bool correct = verdict == "correct";
    out_ = "# What became of your candidate\n\n" + VerdictSentence(verdict);
    // The reason of a failed build points to a field of the evaluation, which is quoted here.
    if (!reason.empty() && verdict != "build_failed") out_ += fmt::format(" Reason: {}.", reason);
    out_ += '\n';
    Evidence(verdict);
    Mismatch();
    if (correct) Speed();
    Profile();
    Notes();
    if (!hints_.empty()) {
      out_ += "\n## What this suggests\n\n";
      for (const std::string& hint : hints_) out_ += "- " + hint + "\n";
    }
    Best(correct);
    return std::move(out_);
  }

 private:
  void Evidence(const std::string& verdict) {
    const json& evidence = MemberAt(evaluation_, "evidence");
    const std::string compiler = Whole(evidence, "compiler_output");
    if (!compiler.empty() && verdict == "build_failed") {
      out_ += "\nThe compiler says:\n\n" + Fenced(FirstErrors(compiler, context_.most_text));
    }
    if (const std::string traceback = Whole(evidence, "traceback"); !traceback.empty()) {
      out_ += "\nThe traceback, from your file on:\n\n" + Fenced(CandidateTraceback(traceback, context_.most_text));
    }
    const std::string signal = Text(evidence, "signal");
    if (signal.starts_with("SIGSEGV") || signal.starts_with("SIGBUS")) {
      hints_.push_back(
          "Memory outside of the tensors was touched: look at index arithmetic at the edges, at strides, "
          "and at pointers taken from the wrong place.");
    } else if (signal.starts_with("SIGFPE")) {
      hints_.push_back("An integer was divided by 0: look at sizes that are computed.");
    } else if (signal.starts_with("SIGILL")) {
      hints_.push_back("An instruction ran that this CPU does not have: guard vector intrinsics by #ifdef.");
    }
    const std::string printed = Whole(evidence, "output");
    if (!printed.empty() && verdict != "correct" && verdict != "incorrect") {
      out_ += "\nIt printed, at the end:\n\n" + Fenced(Tail(CleanText(printed), context_.most_text / 2));
    }
    if (verdict != "static_rejected") return;
    for (const json& finding : MemberAt(evidence, "static_findings")) {
      if (TextAt(finding, "severity") != "error") continue;
      out_ += fmt::format("- line {}: {}: {}\n", Number(MemberAt(finding, "line")), Text(finding, "rule"),
                          Text(finding, "reason"));
    }
  }

  void Mismatch() {
    const json& mismatch = MemberAt(evaluation_, "mismatch");
    if (!mismatch.is_object()) return;
    const double wrong = NumberAt(mismatch, "wrong").value_or(0), total = NumberAt(mismatch, "total").value_or(0);
    const double unwritten = NumberAt(mismatch, "unwritten").value_or(0);
    const std::string where = Text(mismatch, "where"), distribution = TextAt(mismatch, "distribution");
    out_ += fmt::format("\n- output {}, {} of shape {}, on {}\n", Number(MemberAt(mismatch, "output")),
                        Text(mismatch, "dtype"), Index(MemberAt(mismatch, "shape")), Distribution(distribution));
    out_ += fmt::format("- wrong: {} of {} elements: {}\n", FormatCount(wrong), FormatCount(total), where);
    out_ += fmt::format("- worst element {}: expected {}, got {}\n", Index(MemberAt(mismatch, "worst_index")),
                        Number(MemberAt(mismatch, "expected")), Number(MemberAt(mismatch, "got")));
    const auto worst = NumberAt(mismatch, "worst");
    if (worst && std::isfinite(*worst)) {
      out_ += fmt::format(
          "- its error is {:.3g} times what is allowed; over all elements the largest error is {:.3g}, "
          "the RMS error {:.3g}\n",
          *worst, NumberAt(mismatch, "max_abs_error").value_or(0), NumberAt(mismatch, "rms_error").value_or(0));
    }
    if (unwritten > 0) out_ += fmt::format("- never written: {} elements\n", FormatCount(unwritten));
    const json& errors = MemberAt(evaluation_, "errors");
    if (errors.size() > 1) {
      out_ += "- the largest error as a multiple of what is allowed (above 1 is wrong), on\n";
      for (const auto& [name, error] : errors.items()) {
        out_ += fmt::format("  - {}: {}\n", Distribution(name), FormatError(error));
      }
    }
    const bool imprecise =
        wrong > 0.1 * std::max(total, 1.0) && worst.value_or(INFINITY) <= kSmallErrors && unwritten == 0;
    PlaceHints(unwritten, where);
    if (imprecise) {
      hints_.push_back(fmt::format(
          "Many elements are off, the worst by {:.3g} times what is allowed: look at arithmetic in too low a "
          "precision and at approximations that are too coarse first, and at indices after that.",
          *worst));
    } else if (distribution != "natural" && !distribution.empty()) {
      OtherInputsHint(MemberAt(errors, "natural"), NumberAt(mismatch, "round").value_or(0) > 0);
    }
  }

  // `natural`: the error on inputs as get_inputs() draws them; null if it is not known. Then rounds before this one, if
  // there were any, were right.
  void OtherInputsHint(const json& natural, bool later) {
    const bool known = !natural.is_null();
    if (known ? !natural.is_number() || natural > 1 : !later) return;
    hints_.push_back(
        std::string(known ? "It is right on the inputs that get_inputs() draws" : "Rounds before this one were right") +
        ", and this one has inputs that get_inputs() does not draw but the reference handles: the candidate may assume "
        "something about their values.");
  }

  void PlaceHints(double unwritten, const std::string& where) {
    const bool edge = where.starts_with("the last") || where.starts_with("the first");
    const bool dimension = where.find("dimension") != std::string::npos;
    if (edge && !dimension) {
      hints_.push_back(
          "The wrong elements lie at the end: look at what happens to the remainder when the size is no "
          "multiple of a block or a vector.");
    } else if (dimension) {
      hints_.push_back(
          "The wrong elements share an index: look at how that dimension's edge, or its block, is treated.");
    } else if (unwritten > 0) {
      hints_.push_back("Some elements are never written: look at the bounds of the outermost loops or of the grid.");
    }
  }

  void Speed() {
    const auto speedup = NumberAt(evaluation_, "speedup");
    const json& interval = MemberAt(evaluation_, "speedup_interval");
    if (!speedup) return;
    out_ += fmt::format("\n- speedup {}", FormatSpeedup(speedup));
    double low = *speedup, high = *speedup;
    if (interval.is_array() && interval.size() == 2 && interval[0].is_number() && interval[1].is_number()) {
      low = interval[0].get<double>();
      high = interval[1].get<double>();
      out_ += fmt::format(", between {} and {}", FormatSpeedup(low), FormatSpeedup(high));
    }
    out_ +=
        fmt::format(": the reference takes {}, your candidate {}\n", FormatTime(NumberAt(evaluation_, "baseline_us")),
                    FormatTime(NumberAt(evaluation_, "candidate_us")));
    if (high < 1) {
      hints_.push_back("It is slower than the reference.");
    } else if (low <= 1) {
      hints_.push_back("Its time cannot be told apart from the reference's.");
    }
    Roofline(MemberAt(evaluation_, "speed_of_light"));
    const json& authorship = MemberAt(evaluation_, "authorship");
    if (const auto library = NumberAt(authorship, "library"); library && *library > 0.5) {
      hints_.push_back(fmt::format("{} of the time is spent in library code, not in yours.", FormatPercent(*library)));
    }
  }

  void Roofline(const json& light) {
    const auto fraction = NumberAt(light, "fraction"), least = NumberAt(light, "us");
    const std::string bound = TextAt(light, "bound");
    if (!fraction || !least || *fraction <= 0) return;
    out_ += fmt::format(
        "- {} takes at least {} on this device, at its measured rate; the candidate reaches {} of that "
        "speed\n",
        bound == "memory" ? "reading the inputs and writing the outputs once" : "the arithmetic", FormatTime(least),
        FormatPercent(*fraction));
    if (*fraction > 0.8) {
      hints_.push_back(fmt::format("It is close to what {} allows: little is left to win unless work can be left out.",
                                   bound == "memory" ? "memory" : "the device's rate of arithmetic"));
    } else if (bound == "memory") {
      hints_.push_back(
          fmt::format("Memory would allow {:.1f} times this speed: look at how often each byte is read and "
                      "written, and in which order.",
                      1 / *fraction));
    } else {
      hints_.push_back(
          fmt::format("The device's rate of arithmetic would allow {:.1f} times this speed: look at reuse in "
                      "registers and caches, at vector or matrix instructions, and at idle cores.",
                      1 / *fraction));
    }
  }

  void Profile() {
    const json& whole = context_.profile;
    const json& profile = whole.is_object() && whole.contains("profile") ? whole.at("profile") : whole;
    const json& kernels = MemberAt(profile, "kernels");
    if (!kernels.is_array() || kernels.empty()) return;
    out_ += fmt::format(
        "\n## One call, kernel by kernel\n\n{} from the first kernel to the last, {} in kernels, {} launched\n\n",
        FormatTime(NumberAt(profile, "span_us")), FormatTime(NumberAt(profile, "busy_us")),
        FormatCount(NumberAt(profile, "launches").value_or(0)));
    for (size_t i = 0; i < std::min(kernels.size(), kMostKernels); ++i) {
      const json& kernel = kernels[i];
      const auto occupancy = NumberAt(kernel, "occupancy");
      const double calls = NumberAt(kernel, "calls").value_or(0);
      const std::string name = OneLine(TextAt(kernel, "name"), 80);
      out_ += fmt::format(
          "- {} {}, {}, grid {}, block {}, {} registers a thread{}\n", name.empty() ? "others" : name,
          FormatTime(NumberAt(kernel, "us")), calls == 1 ? "1 call" : FormatCount(calls) + " calls",
          Index(MemberAt(kernel, "grid")), Index(MemberAt(kernel, "block")), Number(MemberAt(kernel, "registers")),
          occupancy
              ? fmt::format(", occupancy at most {} by {}", FormatPercent(*occupancy), Text(kernel, "occupancy_limit"))
              : "");
      Counters(MemberAt(kernel, "counters"));
    }
    for (const json& hint : MemberAt(profile, "hints")) {
      if (hint.is_string()) hints_.push_back(OneLine(hint.get<std::string>(), 300));
    }
  }

  // Of another call, by Nsight Compute.
  void Counters(const json& counters) {
    constexpr std::pair<const char*, const char*> kShares[] = {{"dram", "memory bandwidth"},
                                                               {"sm", "arithmetic units"},
                                                               {"occupancy", "occupancy reached"},
                                                               {"l1_hits", "L1 hits"},
                                                               {"l2_hits", "L2 hits"}};
    std::string line;
    for (const auto& [key, what] : kShares) {
      const auto share = counters.is_object() ? NumberAt(counters, key) : std::nullopt;
      if (share) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", what, FormatPercent(*share));
    }
    if (!line.empty()) out_ += fmt::format("  - counted, of what the device can: {}\n", line);
  }

  void Notes() {
    const json& notes = MemberAt(evaluation_, "notes");
    if (!notes.is_array() || notes.empty()) return;
    out_ += "\nNotes:\n";
    for (size_t i = 0; i < std::min(notes.size(), kMostNotes); ++i) {
      out_ += "- " + OneLine(TextAt(notes[i], "text"), 300) + "\n";
    }
  }

  void Best(bool correct) {
    if (!context_.best) return;
    const BestSoFar& best = *context_.best;
    const auto speedup = correct ? NumberAt(evaluation_, "speedup") : std::nullopt;
    out_ += "\n## The best so far\n\n";
    if (speedup && *speedup > best.speedup) {
      out_ += fmt::format("This one; the best before it had a speedup of {}.\n", FormatSpeedup(best.speedup));
      return;
    }
    out_ += fmt::format("An earlier candidate is correct with a speedup of {}", FormatSpeedup(best.speedup));
    if (best.interval) {
      out_ +=
          fmt::format(", between {} and {}", FormatSpeedup(best.interval->first), FormatSpeedup(best.interval->second));
    }
    out_ += ":\n\n" + Fenced(best.source, best.language);
  }

  const json& evaluation_;
  const FeedbackContext& context_;
  std::string out_;
  std::vector<std::string> hints_;
};

}  // namespace

std::string DescribeFeedback(const json& evaluation, const FeedbackContext& context) {
  return Feedback(evaluation, context).Write();
}

std::string DescribeFailedExtraction(const Extraction& extraction) {
  std::string out =
      fmt::format("# What became of your answer\n\nNo candidate could be taken from it: {}.\n", extraction.reason);
  if (extraction.outcome == ExtractOutcome::kTruncated) {
    out += "Answer more shortly: the code is what counts, whole and in one block.\n";
  }
  return out;
}

}  // namespace kb
