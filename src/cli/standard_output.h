// Standard output and standard error that do not throw, and that fold what is wider than the window.
#ifndef CLI_STANDARD_OUTPUT_H_
#define CLI_STANDARD_OUTPUT_H_

namespace kb::cli {

// fmt::print() throws where a write fails, in whichever thread that is. From here on what cannot be written is dropped
// instead; where it was standard output, it is an interrupt too: what a reader that went away did not see is not worth
// judging, and the same command goes on.
//
// Lines that are wider than the terminal are folded (report/fold.h), but for lines of JSON, which begin with a brace.
// Nothing is folded that does not go to a terminal.
void GuardOutput();

// For what is to be copied as it is, such as sources: standard output folds nothing any more.
void KeepLines();

// Before the process ends: its exit code, `exit_code` if all was written.
int FinishOutput(int exit_code);

}  // namespace kb::cli

#endif  // CLI_STANDARD_OUTPUT_H_
