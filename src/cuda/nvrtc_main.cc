// kb-nvrtc LIBRARY SOURCE IMAGE SYMBOLS EXPRESSION... -- OPTION...: compiles one device program with NVRTC. It is one
// of the compilers: untrusted, and run where they are.
//
// IMAGE is machine code. SYMBOLS is assembler text that defines kb_nvrtc_name_0, ..., what the machine code calls the
// kernels that the expressions name, and kb_nvrtc_image, the contents of image.fatbin.
#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "cuda/nvrtc.h"

namespace kb::cuda {
namespace {

constexpr const char* kNoProgram = "kb-nvrtc is started by kernelbench, not by hand\n";

// In the section where nvcc puts it, so that tools find it.
std::string Symbols(const std::vector<std::string>& names) {
  std::string text = ".section .rodata\n";
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format(".globl kb_nvrtc_name_{0}\n.hidden kb_nvrtc_name_{0}\nkb_nvrtc_name_{0}: .asciz \"{1}\"\n", i,
                        names[i]);
  }
  return text +
         ".section .nv_fatbin,\"a\"\n.align 8\n.globl kb_nvrtc_image\n.hidden kb_nvrtc_image\n"
         "kb_nvrtc_image: .incbin \"image.fatbin\"\n.section .note.GNU-stack,\"\",@progbits\n";
}

int Stop(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int Main(const std::vector<std::string>& words) {
  if (words.size() < 4) return Stop(kNoProgram);
  const auto source = ReadFile(words[1]);
  if (!source) return Stop(source.error().message);
  DeviceProgram program{.source = *source, .name = words[1], .options = {}, .expressions = {}};
  bool options = false;
  for (size_t i = 4; i < words.size(); ++i) {
    if (!options && words[i] == "--") {
      options = true;
    } else {
      (options ? program.options : program.expressions).push_back(words[i]);
    }
  }
  const auto code = CompileDeviceProgram(program, words[0]);
  if (!code) return Stop(code.error().message);
  std::fputs(code->log.c_str(), stderr);
  if (!code->ok) return 1;
  for (const auto& [path, contents] : {std::pair(words[2], code->image), std::pair(words[3], Symbols(code->names))}) {
    if (const Status written = WriteFileAtomic(path, contents); !written) return Stop(written.error().message);
  }
  return 0;
}

}  // namespace
}  // namespace kb::cuda

int main(int argc, char** argv) { return kb::cuda::Main({argv + 1, argv + argc}); }
