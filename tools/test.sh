#!/usr/bin/env bash
# Sets up a fresh Debian 12, builds OA and runs all its tests on the CPU Vulkan driver.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
cmake --preset release -DOA_BUILD_TESTS=ON
cmake --build --preset release
# ctest prints its summary last; nothing may follow it.
exec ctest --preset release
