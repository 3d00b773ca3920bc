// Where a harness is on this machine, and what of it a box must be shown.
#ifndef AGENTS_HARNESS_INSTALL_H_
#define AGENTS_HARNESS_INSTALL_H_

#include <string>
#include <vector>

#include "agents/box.h"
#include "agents/harness.h"
#include "base/result.h"

namespace kb {

struct HarnessInstallation {
  std::filesystem::path program;         // as it was found in PATH, links followed
  std::vector<BoxOptions::Shown> shown;  // beside the system: its packages, and what they are run by
  std::vector<std::string> command;      // how it is started in the box, without arguments
};

// What npm has installed is shown with all of its node_modules, what is in a virtual environment with all of that, any
// other program by itself; with the interpreter where the system has none of that. Errors: kUsage says how to install
// what is missing.
Result<HarnessInstallation> FindHarnessProgram(const Harness& harness);

}  // namespace kb

#endif  // AGENTS_HARNESS_INSTALL_H_
