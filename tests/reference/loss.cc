#include <cmath>
#include <optional>

#include "tests/reference/reference.h"
#include "tests/reference/scalar_loops.h"

namespace oa::reference {
namespace {

using ir::Attributes;

// ---- Elementwise losses ----

double Mse(double p, double t, double) { return (p - t) * (p - t); }
double L1(double p, double t, double) { return std::abs(p - t); }
double SmoothL1(double p, double t, double beta) {
  const double d = std::abs(p - t);
  return d < beta ? d * d / (2 * beta) : d - beta / 2;
}
double Bce(double p, double t, double) {
  const double q = std::min(std::max(p, 1e-7), 1 - 1e-7);
  return -(t * std::log(q) + (1 - t) * std::log1p(-q));
}
double BceWithLogits(double z, double t, double) {
  return std::max(z, 0.0) - z * t + std::log1p(std::exp(-std::abs(z)));
}

template <double (*kTerm)(double, double, double)>
std::vector<Tensor> Mean(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  Tensor loss(DType::F32, {1});
  const size_t n = inputs[0].size();
  for (size_t i = 0; i < n; ++i) {
    loss[0] += kTerm(inputs[0][i], inputs[1][i], ScalarOf(attributes));
  }
  loss[0] /= static_cast<double>(n);
  return {loss};
}

// Predictions from [low, high], targets from [low_t, high_t].
ReferenceOp Elementwise(const char* op, Forward forward, double low, double high, double low_t,
                        double high_t, const Attributes& attributes = {}) {
  ReferenceOp row = {op, forward};
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{5, 1, 61}, Shape{3, 1031}}) {
    Sample sample = {{Uniform(shape, low, high), Uniform(shape, low_t, high_t)}, attributes};
    sample.tolerance = {2e-6, 1e-5};
    row.samples.push_back(sample);
  }
  row.rejections = {{"unequal shapes", {Uniform({3, 7}), Uniform({7, 3})}, attributes},
                    {"shapes that would broadcast", {Uniform({3, 7}), Uniform({7})}, attributes},
                    {"no elements", {Uniform({0, 7}), Uniform({0, 7})}, attributes},
                    {"an I32 target", {Uniform({3}), Integers(DType::I32, {3}, 0, 1)}, attributes},
                    {"no target", {Uniform({3}), Absent()}, attributes}};
  return row;
}

// Equal values, where |p - t| has no derivative: forward only.
ReferenceOp WithTies(ReferenceOp row) {
  Sample sample = {{Values(DType::F32, {4}, {1, -2, 0, 5}), Values(DType::F32, {4}, {1, -2, 0, 4})},
                   row.samples[0].attributes};
  sample.differentiate = false;
  row.samples.push_back(sample);
  return row;
}

ReferenceOp SmoothL1Op() {
  const auto beta = [](float value) { return Attributes().F32("beta", value); };
  ReferenceOp row = WithTies(Elementwise("smooth_l1", Mean<SmoothL1>, -2, 2, -2, 2, beta(1)));
  row.samples.push_back({{Uniform({37}, -2, 2), Uniform({37}, -2, 2)}, beta(0.25f)});
  for (float bad : {0.0f, -1.0f, INFINITY, NAN}) {
    row.rejections.push_back(
        {"beta not positive and finite", {Uniform({3}), Uniform({3})}, beta(bad)});
  }
  return row;
}

ReferenceOp BceOp() {
  ReferenceOp row = Elementwise("bce", Mean<Bce>, 0.02, 0.98, 0, 1);
  for (double p : {0.0, 1.0, 1e-9, 0.99999994, double{NAN}}) {
    for (double t : {0.0, 1.0}) {
      Sample sample = {{Values(DType::F32, {1}, {p}), Values(DType::F32, {1}, {t})}};
      sample.differentiate = false;
      row.samples.push_back(sample);
    }
  }
  return row;
}

ReferenceOp BceWithLogitsOp() {
  ReferenceOp row = Elementwise("bce_with_logits", Mean<BceWithLogits>, -5, 5, 0, 1);
  row.samples.push_back({{Values(DType::F32, {6}, {-200, -90, -1e-3, 1e-3, 90, 200}),
                          Values(DType::F32, {6}, {0, 1, 0.5, 0.5, 1, 0})}});
  return row;
}

// ---- Cross entropy ----

double RowLoss(const Tensor& logits, size_t r, double label) {
  const size_t columns = logits.shape[1];
  if (label < 0 || label >= static_cast<double>(columns)) return NAN;
  double largest = -INFINITY, sum = 0;
  for (size_t c = 0; c < columns; ++c) largest = std::max(largest, logits[r * columns + c]);
  for (size_t c = 0; c < columns; ++c) sum += std::exp(logits[r * columns + c] - largest);
  return std::log(sum) + (largest - logits[r * columns + static_cast<size_t>(label)]);
}

std::vector<Tensor> CrossEntropy(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const std::optional<int64_t> ignored = attributes.optional("ignore_index");
  Tensor loss(DType::F32, {1}), counted(DType::U32, {1});
  for (size_t r = 0; r < inputs[1].size(); ++r) {
    if (ignored && inputs[1][r] == static_cast<double>(*ignored)) continue;
    loss[0] += RowLoss(inputs[0], r, inputs[1][r]);
    counted[0] += 1;
  }
  if (counted[0] > 0) loss[0] /= counted[0];
  return {loss, counted};
}

std::vector<Tensor> Masked(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  Tensor loss(DType::F32, {1});
  for (size_t r = 0; r < inputs[1].size(); ++r) {
    if (inputs[2][r] != 0) loss[0] += RowLoss(inputs[0], r, inputs[1][r]);
  }
  loss[0] /= static_cast<double>(attributes.i64("valid_count"));
  return {loss};
}

// Logits [rows, columns] with labels of `type`, all valid.
std::vector<InputSpec> Classes(uint64_t rows, uint64_t columns, DType type, double range = 3) {
  return {Uniform({rows, columns}, -range, range),
          Integers(type, {rows}, 0, static_cast<int64_t>(columns) - 1)};
}

std::vector<Rejection> CrossEntropyRejections() {
  const Attributes none = Attributes().Optional("ignore_index", std::nullopt);
  return {{"logits of rank 1", {Uniform({3}), Integers(DType::I32, {3}, 0, 1)}, none},
          {"logits of rank 3", {Uniform({2, 2, 3}), Integers(DType::I32, {2}, 0, 1)}, none},
          {"labels of rank 2", {Uniform({4, 3}), Integers(DType::I32, {4, 1}, 0, 1)}, none},
          {"another number of labels", {Uniform({4, 3}), Integers(DType::I32, {3}, 0, 1)}, none},
          {"F32 labels", {Uniform({4, 3}), Uniform({4})}, none},
          {"no rows", {Uniform({0, 3}), Integers(DType::I32, {0}, 0, 1)}, none},
          {"no classes", {Uniform({4, 0}), Integers(DType::I32, {4}, 0, 1)}, none},
          {"no attribute", Classes(4, 3, DType::I32)}};
}

ReferenceOp CrossEntropyOp() {
  const auto ignore = [](std::optional<int64_t> label) {
    return Attributes().Optional("ignore_index", label);
  };
  ReferenceOp row = {"cross_entropy", CrossEntropy};
  const Tolerance tolerance = {4e-6, 1e-5};
  const auto add = [&](std::vector<InputSpec> inputs, std::optional<int64_t> label) {
    row.samples.push_back({std::move(inputs), ignore(label), tolerance});
  };
  add(Classes(1, 1, DType::I32), std::nullopt);
  add(Classes(5, 3, DType::U8), std::nullopt);
  add(Classes(7, 10, DType::U32), std::nullopt);
  add(Classes(17, 10, DType::I32), 4);
  add(Classes(17, 10, DType::U8), 9);
  add(Classes(17, 10, DType::U8), -100);
  add(Classes(3, 33, DType::I32), std::nullopt);
  add(Classes(37, 263, DType::U32), 0);
  add(Classes(2, 1031, DType::I32, 30), std::nullopt);
  add(Classes(300, 5, DType::I32), 2);
  add(Classes(5001, 3, DType::U8), 1);
  const InputSpec logits = Uniform({4, 3});
  add({logits, Values(DType::I32, {4}, {-100, 0, -100, 2})}, -100);
  add({logits, Values(DType::I32, {4}, {-1, -1, -1, -1})}, -1);  // V = 0
  add({logits, Values(DType::U32, {4}, {4294967295.0, 1, 0, 2})}, 4294967295);
  for (double bad : {3.0, -1.0, 2147483647.0}) {
    add({logits, Values(DType::I32, {4}, {1, bad, 0, 2})}, std::nullopt);
    row.samples.back().differentiate = false;
  }
  add({Values(DType::F32, {2, 3}, {-INFINITY, 0, 1, 1e30, 1e30, -1e30}),
       Values(DType::U8, {2}, {1, 0})},
      std::nullopt);
  row.samples.back().differentiate = false;
  row.rejections = CrossEntropyRejections();
  return row;
}

ReferenceOp MaskedOp() {
  const auto count = [](int64_t value) { return Attributes().I64("valid_count", value); };
  const auto with_mask = [](uint64_t rows, uint64_t columns, DType type) {
    std::vector<InputSpec> inputs = Classes(rows, columns, type);
    inputs.push_back(Integers(DType::F32, {rows}, 0, 1));
    return inputs;
  };
  ReferenceOp row = {"cross_entropy_masked", Masked};
  const Tolerance tolerance = {4e-6, 1e-5};
  row.samples = {{with_mask(5, 3, DType::U8), count(3), tolerance},
                 {with_mask(37, 263, DType::I32), count(37), tolerance},
                 {with_mask(300, 7, DType::U32), count(150), tolerance},
                 {{Uniform({3, 4}), Values(DType::I32, {3}, {-7, 1, 99}),
                   Values(DType::F32, {3}, {0, -0.5, 0})},
                  count(1),
                  tolerance}};
  row.rejections = {
      {"valid_count 0", with_mask(5, 3, DType::U8), count(0)},
      {"a negative valid_count", with_mask(5, 3, DType::U8), count(-1)},
      {"valid_count above R", with_mask(5, 3, DType::U8), count(6)},
      {"a mask of another length",
       {Uniform({4, 3}), Integers(DType::I32, {4}, 0, 2), Uniform({3})},
       count(1)},
      {"an I32 mask",
       {Uniform({4, 3}), Integers(DType::I32, {4}, 0, 2), Integers(DType::I32, {4}, 0, 1)},
       count(1)},
      {"no mask", Classes(4, 3, DType::I32), count(1)}};
  return row;
}

}  // namespace

std::vector<ReferenceOp> LossReference() {
  return {Elementwise("mse", Mean<Mse>, -2, 2, -2, 2),
          WithTies(Elementwise("l1", Mean<L1>, -2, 2, -2, 2)),
          SmoothL1Op(),
          BceOp(),
          BceWithLogitsOp(),
          CrossEntropyOp(),
          MaskedOp()};
}

}  // namespace oa::reference
