// The one Vulkan device all tests of a program share, with the validation layer on.
#ifndef OA_TESTS_SUPPORT_DEVICE_H_
#define OA_TESTS_SUPPORT_DEVICE_H_

#include <string>
#include <vector>

#include "executor/device.h"
#include "schema/kernel_pack.h"

namespace oa::testing {

// Whether a missing device fails (true) or skips (false, the default) the tests that need one.
void RequireDevice(bool required);

// The device, opened on first use; null when there is none, after failing or skipping the test.
// $OA_TEST_DEVICE picks one by name, $OA_TEST_NO_VALIDATION=1 runs without the layer (for machines
// that have a driver but no layers).
exec::Device* TestDevice();

// kernels.oak of this build.
const KernelPack& TestKernels();

// Closes the device and returns what went wrong over its life: validation messages and Vulkan
// objects that were never destroyed.
std::vector<std::string> CloseDevice();

}  // namespace oa::testing

#endif  // OA_TESTS_SUPPORT_DEVICE_H_
