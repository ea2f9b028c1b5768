// Runs one kernel of the pack by itself, arguments by name: below the compiler, so that every mode,
// type, stride and grid of a kernel can be tried.
#ifndef OA_TESTS_KERNELS_KERNEL_RUN_H_
#define OA_TESTS_KERNELS_KERNEL_RUN_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::testing {

// The variant of `base` for the test device; fails the test when there is none.
const Kernel& KernelFor(const std::string& base);

class KernelRun {
 public:
  // `kernel` must outlive the run. Arguments that are never named are null buffers and zeros.
  explicit KernelRun(const Kernel& kernel) : kernel_(kernel) {}

  KernelRun& In(const std::string& name, const std::vector<float>& values);
  KernelRun& InBytes(const std::string& name, std::vector<uint8_t> bytes);
  KernelRun& Out(const std::string& name, size_t elements);  // F32
  KernelRun& U32(const std::string& name, uint32_t value);
  KernelRun& F32(const std::string& name, float value);
  KernelRun& Constant(const std::string& name, uint32_t value);
  KernelRun& Grid(uint32_t x, uint32_t y = 1, uint32_t z = 1);

  // Outputs by argument name. Fails the test on any error and when a byte outside the declared
  // buffers changed. Empty without a device.
  std::map<std::string, std::vector<float>> Run() const;

 private:
  PlanArgument Bind(const KernelArgument& declared, Plan& plan) const;
  Plan MakePlan(const DeviceProfile& profile) const;

  const Kernel& kernel_;
  std::map<std::string, std::vector<uint8_t>> inputs_;
  std::map<std::string, size_t> outputs_;
  std::map<std::string, uint32_t> scalars_;  // bits
  std::map<std::string, uint32_t> constants_;
  std::array<uint32_t, 3> grid_ = {1, 1, 1};
};

// Evenly spread over [low, high] in a scrambled order, the same every time.
std::vector<float> Spread(size_t count, double low, double high);

}  // namespace oa::testing

#endif  // OA_TESTS_KERNELS_KERNEL_RUN_H_
