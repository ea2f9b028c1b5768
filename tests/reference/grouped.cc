#include <algorithm>
#include <utility>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

// (x, weight, offsets) or (x, weight, bias, offsets): a loop over the experts.
template <bool kBias>
std::vector<Tensor> Grouped(absl::Span<const Tensor> in, const ir::Attributes&) {
  const Tensor& offsets = in[kBias ? 3 : 2];
  const size_t rows = in[0].shape[0], features = in[0].shape[1], outputs = in[1].shape[1];
  Tensor y(DType::F32, {rows, outputs});
  for (size_t e = 0; e + 1 < offsets.size(); ++e) {
    const size_t end = std::min(static_cast<size_t>(offsets[e + 1]), rows);
    for (size_t r = static_cast<size_t>(offsets[e]); r < end; ++r) {
      for (size_t n = 0; n < outputs; ++n) {
        double sum = kBias ? in[2][e * outputs + n] : 0;
        for (size_t k = 0; k < features; ++k) {
          sum += in[0][r * features + k] * in[1][(e * outputs + n) * features + k];
        }
        y[r * outputs + n] = sum;
      }
    }
  }
  return {y};
}

std::vector<InputSpec> Inputs(bool bias, Shape x, Shape weight, InputSpec offsets) {
  std::vector<InputSpec> inputs = {Uniform(std::move(x)), Uniform(weight)};
  if (bias) inputs.push_back(Uniform({weight[0], weight[1]}));
  inputs.push_back(std::move(offsets));
  return inputs;
}

InputSpec Offsets(const std::vector<double>& values) {
  return Values(DType::U32, {values.size()}, values);
}

template <bool kBias>
void AddSamples(ReferenceOp& row) {
  const auto add = [&row](uint64_t rows, uint64_t features, uint64_t outputs,
                          const std::vector<double>& offsets) {
    Sample sample = {
        Inputs(kBias, {rows, features}, {offsets.size() - 1, outputs, features}, Offsets(offsets))};
    sample.tolerance = ReductionTolerance(static_cast<double>(features), 4);
    sample.gradient = {2e-4, 2e-4};
    row.samples.push_back(sample);
  };
  add(1, 1, 1, {0, 1});
  add(7, 5, 3, {0, 2, 2, 7});                  // an empty expert
  add(50, 17, 19, {0, 16, 17, 33, 50});        // edges of tiles, and next to them
  add(40, 8, 12, {5, 9, 9, 30});               // rows before the first expert and behind the last
  add(40, 16, 16, {0, 10, 45, 4294967295.0});  // offsets behind the last row
  add(9, 4, 4, {9, 9, 9});                     // no row has an expert
  add(6, 4, 70, {0, 0, 0, 6, 6});
  add(300, 33, 70, {0, 1, 130, 131, 300});
  add(64, 70, 33, {0, 3, 5, 11, 12, 20, 33, 47, 48, 64});  // many experts in one tile
}

template <bool kBias>
ReferenceOp Op(const char* name) {
  ReferenceOp row = {name, Grouped<kBias>};
  AddSamples<kBias>(row);
  const InputSpec offsets = Offsets({0, 2, 4});
  const auto reject = [&row](const char* why, std::vector<InputSpec> inputs) {
    row.rejections.push_back({why, std::move(inputs)});
  };
  reject("x of rank 1", Inputs(kBias, {4}, {2, 5, 3}, offsets));
  reject("x of rank 3", Inputs(kBias, {4, 3, 1}, {2, 5, 3}, offsets));
  reject("a weight of rank 2",
         kBias ? std::vector<InputSpec>{Uniform({4, 3}), Uniform({5, 3}), Uniform({5, 3}), offsets}
               : std::vector<InputSpec>{Uniform({4, 3}), Uniform({5, 3}), offsets});
  reject("other features", Inputs(kBias, {4, 3}, {2, 5, 4}, offsets));
  reject("too few offsets", Inputs(kBias, {4, 3}, {2, 5, 3}, Offsets({0, 4})));
  reject("offsets of rank 2",
         Inputs(kBias, {4, 3}, {2, 5, 3}, Values(DType::U32, {1, 3}, {0, 2, 4})));
  reject("I32 offsets", Inputs(kBias, {4, 3}, {2, 5, 3}, Values(DType::I32, {3}, {0, 2, 4})));
  reject("no row", Inputs(kBias, {0, 3}, {2, 5, 3}, offsets));
  reject("no feature", Inputs(kBias, {4, 0}, {2, 5, 0}, offsets));
  reject("no output", Inputs(kBias, {4, 3}, {2, 0, 3}, offsets));
  reject("no expert", Inputs(kBias, {4, 3}, {0, 5, 3}, Offsets({0})));
  std::vector<InputSpec> inputs = Inputs(kBias, {4, 3}, {2, 5, 3}, offsets);
  inputs[1] = Integers(DType::I32, {2, 5, 3}, 0, 1);
  reject("an integer weight", inputs);
  if (!kBias) return row;
  inputs = Inputs(kBias, {4, 3}, {2, 5, 3}, offsets);
  for (Shape shape : {Shape{5}, Shape{2, 3}, Shape{1, 5}, Shape{2, 5, 1}}) {
    inputs[2] = Uniform(shape);
    reject("a bias of another shape", inputs);
  }
  return row;
}

}  // namespace

std::vector<ReferenceOp> GroupedProductReference() {
  return {Op<false>("grouped_gemm_m"), Op<true>("grouped_linear_m")};
}

}  // namespace oa::reference
