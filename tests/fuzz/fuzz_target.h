// What a fuzz target consists of. libFuzzer drives it in the preset `fuzz`; replay_main.cc does in the unit tests.
#ifndef TESTS_FUZZ_FUZZ_TARGET_H_
#define TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kb::fuzz {

// Inputs to start from, made by the real encoders, so that they follow the format when it changes.
std::vector<std::string> Seeds();

}  // namespace kb::fuzz

// Runs the decoder; aborts if what came out breaks a promise. Always 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif  // TESTS_FUZZ_FUZZ_TARGET_H_
