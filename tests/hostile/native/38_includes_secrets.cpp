// Lets the assembler put files of the user into the artefact. Compilers are isolated as candidates are, and the files
// are not there.
#include <kernelbench/kernel.h>

asm(".section .rodata\nstolen: .incbin \"/etc/passwd\"\n.incbin \"/etc/shadow\"\n.previous");
extern "C" const char stolen[];

#include <cstdio>

int kb_forward(const kb_call*) {
  std::printf("%.4096s", stolen);
  return 0;
}
