// Keys of models: from the environment, else from a .env file. They are never stored.
#ifndef MODEL_KEY_H_
#define MODEL_KEY_H_

#include <string>
#include <vector>

namespace kb {

struct FoundKey {
  std::string value;     // without spaces around it; empty: there is none
  std::string from;      // "the environment", or the file; empty likewise
  bool exposed = false;  // others on this machine can read the file
};

// The variable `name`: of the environment, else of .env in the working folder, else of the one in
// $XDG_CONFIG_HOME/kernelbench. Lines are NAME=value, `export ` before it and quotes around the value being allowed.
FoundKey FindKey(const std::string& name);

// The variables in which the known providers' keys usually are.
std::vector<std::string> KeyNames();

}  // namespace kb

#endif  // MODEL_KEY_H_
