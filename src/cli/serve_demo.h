// kernelbench serve --demo: what to paste to use the service that has just begun.
#ifndef CLI_SERVE_DEMO_H_
#define CLI_SERVE_DEMO_H_

#include <string>

namespace kb::cli {

struct Demo {
  std::string url;            // http://127.0.0.1:8080
  std::string binary, store;  // as settings of other programs name them
  std::string tokens;         // the file of tokens; empty: nobody needs one
};

// Blocks of lines, each below a line that begins with #. Those of curl, Python and TRL run as they are in a shell.
std::string DemoText(const Demo& demo);

}  // namespace kb::cli

#endif  // CLI_SERVE_DEMO_H_
