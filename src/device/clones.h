// One relocatable binary, the widest vectors of the machine it runs on.
#ifndef DEVICE_CLONES_H_
#define DEVICE_CLONES_H_

// Resolvers run before a sanitizer is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define KB_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define KB_CLONES
#endif
#define KB_INLINE [[gnu::always_inline]] inline  // what a clone calls must become part of it

#endif  // DEVICE_CLONES_H_
