#include "tests/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace oa::reference {

Tensor::Tensor(DType d, Shape s) : dtype(d), shape(std::move(s)) {
  size_t count = 1;
  for (uint64_t extent : shape) count *= extent;
  data.assign(count, 0.0);
}

InputSpec Absent() {
  InputSpec spec;
  spec.fill = InputSpec::Fill::kAbsent;
  return spec;
}

InputSpec Uniform(Shape shape, double low, double high, double keep_away_from_zero) {
  InputSpec spec;
  spec.shape = std::move(shape);
  spec.low = low;
  spec.high = high;
  spec.keep_away_from_zero = keep_away_from_zero;
  return spec;
}

InputSpec Integers(DType dtype, Shape shape, int64_t low, int64_t high) {
  InputSpec spec;
  spec.dtype = dtype;
  spec.shape = std::move(shape);
  spec.fill = InputSpec::Fill::kIntegers;
  spec.low = static_cast<double>(low);
  spec.high = static_cast<double>(high);
  return spec;
}

InputSpec Values(DType dtype, Shape shape, std::vector<double> values) {
  InputSpec spec;
  spec.dtype = dtype;
  spec.shape = std::move(shape);
  spec.fill = InputSpec::Fill::kValues;
  spec.values = std::move(values);
  return spec;
}

Tolerance ReductionTolerance(double n, double scale) {
  return {2e-6 * std::max(1.0, std::sqrt(n)) * scale, 1e-5};
}

std::vector<ReferenceOp> AllReferences() {
  std::vector<ReferenceOp> all;
  for (auto family : {ActivationReference, ElementwiseReference, CastReference, BlasReference,
                      BatchedProductReference, NormReference, ReduceReference, ShapeReference,
                      IndexReference, LossReference, OptimiserReference, PoolReference,
                      ConvReference, MoeReference, GroupedProductReference, Mamba3Reference,
                      RandomReference, RecurrentReference, TopKReference, RepeatReference,
                      AttentionReference, RopeReference, VqReference}) {
    std::vector<ReferenceOp> rows = family();
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace oa::reference
