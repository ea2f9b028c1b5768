// What every loader does with arbitrary bytes, for the fuzz target and the mutation test.
#ifndef OA_TESTS_FUZZ_LOAD_ANY_H_
#define OA_TESTS_FUZZ_LOAD_ANY_H_

#include <cstdint>
#include <vector>

namespace oa::testing {

// Loads the bytes as whatever they claim to be; a graph that loads is also compiled, a plan also
// checked against the kernels. Returns whether everything was accepted. Must never crash.
bool LoadAny(const std::vector<uint8_t>& file);

// Makes the header's digest fit the bytes, so that damage reaches the verifiers behind it.
void FixDigest(std::vector<uint8_t>& file);

}  // namespace oa::testing

#endif  // OA_TESTS_FUZZ_LOAD_ANY_H_
