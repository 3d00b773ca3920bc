// Standard output and standard error that do not throw.
#ifndef CLI_STANDARD_OUTPUT_H_
#define CLI_STANDARD_OUTPUT_H_

namespace kb::cli {

// fmt::print() throws where a write fails, in whichever thread that is. From here on what cannot be written is dropped
// instead; where it was standard output, it is an interrupt too: what a reader that went away did not see is not worth
// judging, and the same command goes on.
void GuardOutput();

// Before the process ends: its exit code, `exit_code` if all was written.
int FinishOutput(int exit_code);

}  // namespace kb::cli

#endif  // CLI_STANDARD_OUTPUT_H_
