// Small plans and kernels made by hand, so that the executor is tested without the compiler.
#ifndef OA_TESTS_EXECUTOR_TINY_PLAN_H_
#define OA_TESTS_EXECUTOR_TINY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "schema/kernel_pack.h"
#include "schema/plan.h"

namespace oa::testing {

// The kernels of shaders/, as a pack.
const KernelPack& TinyKernels();

// Builds a plan buffer by buffer and stage by stage. Buffers are placed one after the other.
class PlanBuilder {
 public:
  PlanBuilder();

  // Index of a new f32 buffer of `elements`. Inputs and outputs are also named in the plan.
  uint32_t Buffer(const std::string& name, BufferKind kind, uint64_t elements);
  // The same for a persistent buffer with initial data.
  uint32_t Data(const std::string& name, BufferKind kind, const std::vector<float>& values);

  // The dispatches that follow are in a new stage.
  void Stage();
  // y = relu?(a * x + b) over the first `n` elements.
  void Affine(uint32_t x, uint32_t y, float a, float b, bool relu, uint32_t n);
  // state += x.
  void Accumulate(uint32_t x, uint32_t state, uint32_t n);
  // y = 1 and a stray write at element `stray`.
  void Stray(uint32_t y, uint32_t n, uint32_t stray);
  // y[r] = scale * sum of xs[r].
  void SumRecords(const std::vector<uint32_t>& xs, uint32_t y, float scale);

  // The finished plan; transients live in all stages.
  Plan Build();
  Plan& plan() { return plan_; }

 private:
  PlanArgument Slice(uint32_t buffer, Access access) const;
  void Dispatch(const std::string& kernel, std::vector<PlanArgument> arguments,
                std::vector<uint32_t> constants, uint32_t n, const std::string& label);

  Plan plan_;
};

// x (input) -> t = 2x + 1 (transient) -> y = relu(3 - t) (output); sum (state, from 10) += x, and
// total (output) = sum. Three stages, four dispatches.
inline constexpr uint32_t kChainElements = 100;
Plan ChainPlan();

// What ChainPlan computes in replay number `replay`, counted from 1 and always fed with `x`.
std::vector<float> ChainY(const std::vector<float>& x);
std::vector<float> ChainTotal(const std::vector<float>& x, int replay);

// 0, 0.25, 0.5, ...: exact in f32, like everything ChainPlan makes of it.
std::vector<float> Ramp(uint32_t elements);

std::vector<uint8_t> ToBytes(const std::vector<float>& values);
std::vector<float> ToFloats(const std::vector<uint8_t>& bytes);

}  // namespace oa::testing

#endif  // OA_TESTS_EXECUTOR_TINY_PLAN_H_
