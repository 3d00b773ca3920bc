#include "wire/kernel_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "wire/report.h"

namespace kb {
namespace {

// The function's own name: what stands at the outermost level before the parameters, without the return type.
std::string WithoutSurroundings(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  int depth = 0;
  size_t begin = 0, end = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, kAnonymous.size()) == kAnonymous) {
      i += kAnonymous.size() - 1;
    } else if (text[i] == '<') {
      ++depth;
    } else if (text[i] == '>') {
      depth = std::max(depth - 1, 0);
    } else if (depth == 0 && text[i] == ' ') {
      begin = i + 1;
    } else if (depth == 0 && text[i] == '(') {
      end = i;
      break;
    }
  }
  return std::string(begin < end ? text.substr(begin, end - begin) : text);
}

}  // namespace

std::string ReadableName(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  std::string name = status == 0 && text && mangled.starts_with("_Z") ? WithoutSurroundings(text.get()) : mangled;
  name.resize(std::min(name.size(), kMaxKernelName));
  return name;
}

}  // namespace kb
