#include "tests/reference/reference.h"
#include "tests/reference/scalar_loops.h"

namespace oa::reference {
namespace {

using ir::Attributes;

Attributes Scalar(float value) { return Attributes().F32("scalar", value); }

// ---- add, sub, mul, div ----

double Add(double a, double b) { return a + b; }
double Sub(double a, double b) { return a - b; }
double Mul(double a, double b) { return a * b; }
double Div(double a, double b) { return a / b; }

Shape BroadcastShape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (const Shape* shape : {&a, &b}) {
    for (size_t axis = 0; axis < shape->size(); ++axis) {
      uint64_t& extent = out[out.size() - shape->size() + axis];
      if (extent == 1) extent = (*shape)[axis];
    }
  }
  return out;
}

// Position in a tensor of `shape` of the element that broadcasts to position `i` of `out`.
size_t SourceIndex(size_t i, const Shape& out, const Shape& shape) {
  size_t index = 0, stride = 1;
  for (size_t from_right = 1; from_right <= out.size(); ++from_right) {
    const size_t extent = out[out.size() - from_right];
    const size_t coordinate = i % extent;
    i /= extent;
    if (from_right > shape.size()) continue;
    const size_t own = shape[shape.size() - from_right];
    index += (own == 1 ? 0 : coordinate) * stride;
    stride *= own;
  }
  return index;
}

template <double (*kFunction)(double, double)>
std::vector<Tensor> BinaryLoop(absl::Span<const Tensor> inputs, const Attributes&) {
  const Tensor& a = inputs[0];
  const Tensor& b = inputs[1];
  Tensor y(DType::F32, BroadcastShape(a.shape, b.shape));
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = kFunction(a[SourceIndex(i, y.shape, a.shape)], b[SourceIndex(i, y.shape, b.shape)]);
  }
  return {y};
}

ReferenceOp Binary(const char* op, Forward forward) {
  const auto pair = [](Shape a, Shape b) {
    Sample sample;
    sample.inputs = {Uniform(std::move(a)), Uniform(std::move(b), -2, 2, 0.5)};
    return sample;
  };
  ReferenceOp row = {op, forward};
  row.samples = {pair({3, 5}, {3, 5}),
                 pair({1}, {1}),
                 pair({3, 1031}, {3, 1031}),  // past a block of 1024
                 pair({2, 3, 4}, {4}),
                 pair({5}, {7, 5}),  // the last axes
                 pair({2, 3, 4}, {2, 1, 1}),
                 pair({2, 3, 4}, {3, 1}),  // the first, a middle one
                 pair({7, 1}, {1, 5}),
                 pair({4, 1, 7}, {5, 1}),  // both repeat
                 pair({9, 37}, {1}),
                 pair({1, 1}, {6}),  // scalars
                 pair({2, 1, 3, 1, 2, 1, 2, 3}, {1, 2, 1, 2, 1, 2, 1, 3}),
                 pair({64, 33}, {33}),
                 pair({64, 8}, {64, 1}),
                 pair({0, 3}, {1, 3}),
                 pair({4, 0}, {4, 0})};
  row.rejections = {
      {"extents that do not broadcast", {Uniform({3, 5}), Uniform({3})}},
      {"extents that do not broadcast in the middle", {Uniform({2, 3, 4}), Uniform({2, 2, 4})}},
      {"0 against 3", {Uniform({0}), Uniform({3})}},
      {"a result of more than 2^32-1 elements", {Uniform({65536, 1}), Uniform({1, 65536})}},
      {"an I32 operand", {Uniform({3}), Integers(DType::I32, {3}, 0, 5)}},
      {"one operand", {Uniform({3})}},
      {"an absent operand", {Uniform({3}), Absent()}}};
  return row;
}

// ---- Unary ----

double Scale(double x, double s) { return x * s; }
double AddScalar(double x, double s) { return x + s; }
double SubScalar(double x, double s) { return x - s; }
double DivScalar(double x, double s) { return x / s; }
double Pow(double x, double s) { return std::pow(x, s); }
double ClampMin(double x, double s) { return std::max(x, s); }
double ClampMax(double x, double s) { return std::min(x, s); }
double Copy(double x, double) { return x; }
double Neg(double x, double) { return -x; }
double Abs(double x, double) { return std::abs(x); }
double Exp(double x, double) { return std::exp(x); }
double Log(double x, double) { return std::log(x); }
double Sqrt(double x, double) { return std::sqrt(x); }
double Sin(double x, double) { return std::sin(x); }
double Cos(double x, double) { return std::cos(x); }
double Reciprocal(double x, double) { return 1 / x; }
double GreaterEqual(double x, double value) { return x >= value ? 1 : 0; }
double Equal(double x, double value) { return x == value ? 1 : 0; }

// Arguments from [low, high], at least `away` from 0.
ReferenceOp Unary(const char* op, Forward forward, const Attributes& attributes, double low = -2,
                  double high = 2, double away = 0) {
  ReferenceOp row = {op, forward};
  for (const Shape& shape : {Shape{3, 1, 7}, Shape{5, 263}, Shape{8, 4}, Shape{1}, Shape{0}}) {
    row.samples.push_back({{Uniform(shape, low, high, away)}, attributes});
  }
  row.rejections = UnaryRejections(attributes);
  return row;
}

// Values where the function or its derivative is special: forward only.
ReferenceOp WithSpecial(ReferenceOp row, std::vector<double> values) {
  const uint64_t count = values.size();
  Sample sample = {{Values(DType::F32, {count}, std::move(values))}, row.samples[0].attributes};
  sample.differentiate = false;
  row.samples.push_back(sample);
  return row;
}

ReferenceOp Exactly(ReferenceOp row) {
  for (Sample& sample : row.samples) sample.tolerance = kExact;
  return row;
}

ReferenceOp PowOp() {
  ReferenceOp row = Unary("pow", UnaryLoop<Pow>, Scalar(2.5f), 0.1, 4);
  for (float exponent : {2.0f, 3.0f, -1.0f, -2.0f, 1.0f, 17.0f}) {
    row.samples.push_back({{Uniform({37}, -1.5, 1.5, 0.25)}, Scalar(exponent)});
  }
  for (float exponent : {0.5f, -0.5f, 1.0f / 3}) {
    row.samples.push_back({{Uniform({37}, 0.01, 50)}, Scalar(exponent)});
  }
  for (float exponent : {0.0f, 2.0f, 3.0f, 0.5f, -1.0f}) {
    Sample sample = {{Values(DType::F32, {5}, {-2, -0.5, 0, 0.5, 2})}, Scalar(exponent)};
    sample.differentiate = false;
    row.samples.push_back(sample);
  }
  return row;
}

ReferenceOp Clamp(const char* op, Forward forward) {
  // Uniform arguments do not hit the bound exactly; the specials do.
  ReferenceOp row = Unary(op, forward, Scalar(0.3f));
  row.samples.push_back({{Uniform({41}, -4, 4)}, Scalar(-1.0f)});
  return Exactly(WithSpecial(std::move(row), {-1e30, -1, 0, 0.3f, 1, 1e30}));
}

Rejection EmptyAttributes() { return {"no attribute", {Uniform({3})}}; }

std::vector<ReferenceOp> ScalarRows() {
  std::vector<ReferenceOp> rows = {
      Unary("scale", UnaryLoop<Scale>, Scalar(-1.75f)),
      Unary("add_scalar", UnaryLoop<AddScalar>, Scalar(0.625f)),
      Unary("sub_scalar", UnaryLoop<SubScalar>, Scalar(0.625f)),
      Unary("div_scalar", UnaryLoop<DivScalar>, Scalar(3.0f)),
      PowOp(),
      Clamp("clamp_min", UnaryLoop<ClampMin>),
      Clamp("clamp_max", UnaryLoop<ClampMax>),
  };
  for (ReferenceOp& row : rows) row.rejections.push_back(EmptyAttributes());
  return rows;
}

std::vector<ReferenceOp> UnaryRows() {
  return {
      Exactly(WithSpecial(Unary("copy", UnaryLoop<Copy>, {}), {-1e30, 0, 1e30})),
      Exactly(Unary("neg", UnaryLoop<Neg>, {})),
      Exactly(WithSpecial(Unary("abs", UnaryLoop<Abs>, {}, -2, 2, 0.05), {-1e30, 0, 1e30})),
      WithSpecial(Unary("exp", UnaryLoop<Exp>, {}, -5, 5), {-1000, -87, 0, 1e-20, 80, 88}),
      WithSpecial(Unary("log", UnaryLoop<Log>, {}, 0.01, 8),
                  {-INFINITY, -1, 0, 1, 1e-30, 0.9999, 1e30}),
      WithSpecial(Unary("sqrt", UnaryLoop<Sqrt>, {}, 0.01, 8), {-1, 0, 1e-30, 1e30}),
      WithSpecial(Unary("sin", UnaryLoop<Sin>, {}, -9, 9), {-1e4, -1000, 0, 3.14159274, 1e4}),
      WithSpecial(Unary("cos", UnaryLoop<Cos>, {}, -9, 9), {-1e4, -1000, 0, 1.57079637, 1e4}),
      WithSpecial(Unary("reciprocal", UnaryLoop<Reciprocal>, {}, -3, 3, 0.2), {0, -1e30, 1e30}),
  };
}

// ---- equal, greater_equal, accumulate ----

Attributes Value(float value) { return Attributes().F32("value", value); }

ReferenceOp GreaterEqualOp() {
  ReferenceOp row = Unary("greater_equal", UnaryLoop<GreaterEqual>, Value(0.25f));
  row.rejections.push_back(EmptyAttributes());
  return Exactly(WithSpecial(std::move(row), {0.25, 0.2499999, 0.2500001, -0.25, 1e30}));
}

ReferenceOp EqualOp() {
  ReferenceOp row = {"equal", UnaryLoop<Equal>};
  const auto add = [&row](InputSpec x, float value) {
    row.samples.push_back({{std::move(x)}, Value(value), kExact});
  };
  add(Values(DType::F32, {6}, {-1.5, 0, 1.5, -0.0, 1.5000001, 1e30}), 1.5f);
  add(Values(DType::F32, {3}, {-0.0, 0, 1}), 0.0f);
  add(Integers(DType::I32, {5, 263}, -3, 3), 2.0f);
  add(Integers(DType::I32, {7}, -3, 3), -1.0f);
  add(Integers(DType::I32, {7}, -3, 3), 1.5f);
  // Neighbours that are equal as F32, and bounds of I32.
  const std::vector<double> large = {16777216, 16777217, 16777218, 2147483647, -2147483648.0, 0};
  for (float value : {16777216.0f, 0x1p31f, -0x1p31f, 1e20f}) {
    add(Values(DType::I32, {6}, large), value);
  }
  row.rejections = {{"a U32 operand", {Integers(DType::U32, {3}, 0, 5)}, Value(1)},
                    {"a U8 operand", {Integers(DType::U8, {3}, 0, 5)}, Value(1)},
                    {"no operand", {}, Value(1)},
                    EmptyAttributes()};
  return row;
}

std::vector<Tensor> Accumulate(absl::Span<const Tensor> inputs, const Attributes&) {
  Tensor dst = inputs[0];
  for (size_t i = 0; i < dst.size(); ++i) dst[i] += inputs[1][i];
  return {dst};
}

ReferenceOp AccumulateOp() {
  ReferenceOp row = {"accumulate", Accumulate};
  row.samples = {{{Uniform({3, 5}), Uniform({3, 5})}},
                 {{Uniform({2, 1031}), Uniform({2, 1031})}},
                 {{Uniform({0}), Uniform({0})}}};
  row.rejections = {{"unequal shapes", {Uniform({3, 5}), Uniform({5, 3})}},
                    {"a source that would broadcast", {Uniform({3, 5}), Uniform({5})}},
                    {"an I32 source", {Uniform({3}), Integers(DType::I32, {3}, 0, 5)}}};
  return row;
}

}  // namespace

std::vector<ReferenceOp> ElementwiseReference() {
  std::vector<ReferenceOp> rows = {Binary("add", BinaryLoop<Add>),
                                   Binary("sub", BinaryLoop<Sub>),
                                   Binary("mul", BinaryLoop<Mul>),
                                   Binary("div", BinaryLoop<Div>),
                                   GreaterEqualOp(),
                                   EqualOp(),
                                   AccumulateOp()};
  for (const auto& family : {ScalarRows(), UnaryRows()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  return rows;
}

}  // namespace oa::reference
