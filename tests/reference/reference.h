// The oracle: every operator as a plain loop in double precision, with the samples and rejections
// that the sweep tests run. One small file a family; nothing here is shared with the kernels.
#ifndef OA_TESTS_REFERENCE_REFERENCE_H_
#define OA_TESTS_REFERENCE_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ir/attribute.h"
#include "schema/dtype.h"

namespace oa::reference {

// A dense value; integers are exact in double.
struct Tensor {
  DType dtype = DType::F32;
  Shape shape;
  std::vector<double> data;

  Tensor() = default;
  Tensor(DType d, Shape s);  // zeros
  double& operator[](size_t i) { return data[i]; }
  double operator[](size_t i) const { return data[i]; }
  size_t size() const { return data.size(); }
  bool present() const { return !shape.empty(); }  // an absent optional operand has no shape
};

// Operands in row order (absent optional: Tensor()), results in row order. In-place results are
// returned as new tensors.
using Forward = std::vector<Tensor> (*)(absl::Span<const Tensor> inputs,
                                        const ir::Attributes& attributes);

// How one operand of a sample is filled; deterministic per sample and position.
struct InputSpec {
  enum class Fill { kAbsent, kUniform, kIntegers, kValues };
  DType dtype = DType::F32;
  Shape shape;
  Fill fill = Fill::kUniform;
  double low = -2, high = 2;   // kUniform: F32; kIntegers: inclusive bounds
  double keep_away_from_zero = 0;  // kUniform: |x| is at least this (kinks, poles)
  std::vector<double> values;  // kValues
};
InputSpec Absent();
InputSpec Uniform(Shape shape, double low = -2, double high = 2, double keep_away_from_zero = 0);
InputSpec Integers(DType dtype, Shape shape, int64_t low, int64_t high);
InputSpec Values(DType dtype, Shape shape, std::vector<double> values);

// |got - expected| <= atol + rtol * |expected|; both zero: bit for bit (NaN equals NaN).
struct Tolerance {
  double atol = 2e-6;
  double rtol = 2e-6;
};
inline constexpr Tolerance kExact = {0, 0};
// Reductions and products over n terms of magnitude `scale` (ops.md 1.6).
Tolerance ReductionTolerance(double n, double scale = 1);

// One call to check. With `differentiate`, the adjoint is compared with central differences of
// `forward`, element by element, to `gradient` tolerance.
struct Sample {
  std::vector<InputSpec> inputs;
  ir::Attributes attributes;
  Tolerance tolerance;
  bool differentiate = true;  // ignored where the row has no adjoint
  Tolerance gradient = {2e-5, 2e-4};
};

// A call that must fail with InvalidArgument, naming the operator, and record nothing.
struct Rejection {
  std::string why;
  std::vector<InputSpec> inputs;  // only dtype and shape matter
  ir::Attributes attributes;
};

struct ReferenceOp {
  std::string op;
  Forward forward = nullptr;
  std::vector<Sample> samples;
  std::vector<Rejection> rejections;
};

// One function a family, like ir/ops/families.h. `<op>_backward` rows need no entry of their own:
// they are covered through their forward operator's adjoint.
std::vector<ReferenceOp> ActivationReference();
std::vector<ReferenceOp> ElementwiseReference();
std::vector<ReferenceOp> CastReference();
std::vector<ReferenceOp> ConvReference();
std::vector<ReferenceOp> BlasReference();
std::vector<ReferenceOp> BatchedProductReference();
std::vector<ReferenceOp> NormReference();
std::vector<ReferenceOp> ReduceReference();
std::vector<ReferenceOp> ShapeReference();
std::vector<ReferenceOp> IndexReference();
std::vector<ReferenceOp> TopKReference();
std::vector<ReferenceOp> RepeatReference();
std::vector<ReferenceOp> AttentionReference();
std::vector<ReferenceOp> RopeReference();
std::vector<ReferenceOp> LossReference();
std::vector<ReferenceOp> MoeReference();
std::vector<ReferenceOp> GroupedProductReference();
std::vector<ReferenceOp> VqReference();
std::vector<ReferenceOp> Mamba3Reference();
std::vector<ReferenceOp> OptimiserReference();
std::vector<ReferenceOp> PoolReference();
std::vector<ReferenceOp> RandomReference();
std::vector<ReferenceOp> RecurrentReference();

// All of the above.
std::vector<ReferenceOp> AllReferences();

}  // namespace oa::reference

#endif  // OA_TESTS_REFERENCE_REFERENCE_H_
