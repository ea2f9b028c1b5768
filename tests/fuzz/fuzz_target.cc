// libFuzzer entry for all three loaders. Build with clang and -DOA_BUILD_FUZZER=ON, then for
// example
//   build/fuzz/bin/oa_fuzz -max_total_time=60 tests/golden
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/load_any.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  oa::testing::FixDigest(file);
  oa::testing::LoadAny(file);
  return 0;
}
