// Like tests/support/test_main.cc, without the layers above the executor.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>

#include "tests/executor/fixture.h"

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
  for (const std::string& message : oa::testing::CloseInstance()) {
    std::fprintf(stderr, "FAILED: validation: %s\n", message.c_str());
    result = 1;
  }
  return result;
}
