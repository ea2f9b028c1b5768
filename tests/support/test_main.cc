// The main of every test program. `--require-device` turns a missing Vulkan device into a failure
// instead of a skipped test. Any validation message fails the program, whatever the tests said.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/device.h"

int main(int argc, char** argv) {
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--require-device") == 0) {
      oa::testing::RequireDevice(true);
    } else {
      rest.push_back(argv[i]);
    }
  }
  doctest::Context context(static_cast<int>(rest.size()), rest.data());
  int result = context.run();
  for (const std::string& problem : oa::testing::CloseDevice()) {
    std::fprintf(stderr, "FAILED: %s\n", problem.c_str());
    result = 1;
  }
  return result;
}
