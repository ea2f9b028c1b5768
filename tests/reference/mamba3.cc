// Mamba-3 token by token, as its recurrence is written down: no chunks, no shared sums.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "tests/reference/reference.h"
#include "tests/reference/scalar_loops.h"

namespace oa::reference {
namespace {

using ir::Attributes;

struct Config {
  size_t batch, length, heads, groups, depth, width, angles, ranks;
  bool has_z, has_d, has_norm;
};

Config ConfigOf(const Attributes& a) {
  Config s = {a.u32("batch_size"),      a.u32("sequence_length"),    a.u32("num_heads"),
              a.u32("num_groups"),      a.u32("head_dim"),           a.u32("state_size"),
              a.u32("num_rope_angles"), a.u32("mimo_rank"),          a.boolean("has_z"),
              a.boolean("has_d"),       a.boolean("has_output_norm")};
  if (s.groups == 0) s.groups = s.heads;
  return s;
}

enum Operand {
  kC,
  kB,
  kX,
  kZ,
  kAdt,
  kDt,
  kTrap,
  kAngle,
  kCBias,
  kBBias,
  kD,
  kMimoX,
  kMimoZ,
  kMimoO,
  kNorm
};

double Silu(double x) { return x * Sigmoid(x); }

// The recurrent state of one sequence and head.
struct State {
  std::vector<double> ssm, theta, k, v;
};

State ZeroState(const Config& s) {
  return {std::vector<double>(s.depth * s.width), std::vector<double>(s.angles),
          std::vector<double>(s.ranks * s.width), std::vector<double>(s.ranks * s.depth)};
}

// One token of one head: operands start at `in`.
class Token {
 public:
  Token(const Config& s, bool mimo, const Tensor* in, size_t b, size_t t, size_t h)
      : s_(s), mimo_(mimo), in_(in), h_(h), token_(b * s.length + t), row_(token_ * s.heads + h) {}

  // Advances the state and writes y[row].
  void Advance(State& state, Tensor& y) const {
    const double dt = in_[kDt][row_], open = Sigmoid(in_[kTrap][row_]);
    for (size_t k = 0; k < s_.angles; ++k) {
      state.theta[k] += in_[kAngle][token_ * s_.angles + k] * dt;
    }
    const std::vector<double> q = Rotated(kC, kCBias, state), k = Rotated(kB, kBBias, state);
    const std::vector<double> v = Projected();
    for (size_t p = 0; p < s_.depth; ++p) {
      for (size_t n = 0; n < s_.width; ++n) {
        double& ssm = state.ssm[p * s_.width + n];
        double full = ssm, own = 0;
        for (size_t r = 0; r < s_.ranks; ++r) {
          full += dt * (1 - open) * state.v[r * s_.depth + p] * state.k[r * s_.width + n];
          own += v[r * s_.depth + p] * k[r * s_.width + n];
        }
        ssm = std::exp(in_[kAdt][row_]) * full + dt * open * own;
      }
    }
    state.k = k;
    state.v = v;
    Read(state, q, v, y);
  }

 private:
  std::vector<double> Rotated(Operand x, Operand bias, const State& state) const {
    std::vector<double> out(s_.ranks * s_.width);
    const size_t group = h_ / (s_.heads / s_.groups);
    for (size_t r = 0; r < s_.ranks; ++r) {
      double* row = &out[r * s_.width];
      for (size_t n = 0; n < s_.width; ++n) {
        row[n] = in_[x][((token_ * s_.ranks + r) * s_.groups + group) * s_.width + n] +
                 in_[bias][(h_ * s_.ranks + r) * s_.width + n];
      }
      for (size_t k = 0; k < s_.angles; ++k) {
        const double c = std::cos(state.theta[k]), d = std::sin(state.theta[k]);
        const double first = row[2 * k], second = row[2 * k + 1];
        row[2 * k] = first * c - second * d;
        row[2 * k + 1] = first * d + second * c;
      }
    }
    return out;
  }

  double Projection(Operand i, size_t r, size_t p) const {
    return mimo_ ? in_[i][(h_ * s_.ranks + r) * s_.depth + p] : 1;
  }

  std::vector<double> Projected() const {
    std::vector<double> v(s_.ranks * s_.depth);
    for (size_t i = 0; i < v.size(); ++i) {
      const size_t p = i % s_.depth;
      v[i] = in_[kX][row_ * s_.depth + p] * Projection(kMimoX, i / s_.depth, p);
    }
    return v;
  }

  void Read(const State& state, const std::vector<double>& q, const std::vector<double>& v,
            Tensor& y) const {
    for (size_t r = 0; r < s_.ranks; ++r) {
      std::vector<double> pre(s_.depth);
      double squares = 0;
      for (size_t p = 0; p < s_.depth; ++p) {
        for (size_t n = 0; n < s_.width; ++n) {
          pre[p] += q[r * s_.width + n] * state.ssm[p * s_.width + n];
        }
        if (s_.has_d) pre[p] += in_[kD][h_] * v[r * s_.depth + p];
        squares += pre[p] * pre[p];
      }
      const double rstd = 1 / std::sqrt(squares / static_cast<double>(s_.depth) + 1e-5);
      for (size_t p = 0; p < s_.depth; ++p) {
        double core = pre[p];
        if (s_.has_norm) core *= rstd * in_[kNorm][h_ * s_.depth + p];
        if (s_.has_z) core *= Silu(in_[kZ][row_ * s_.depth + p] * Projection(kMimoZ, r, p));
        y[row_ * s_.depth + p] += core * Projection(kMimoO, r, p);
      }
    }
  }

  const Config& s_;
  bool mimo_;
  const Tensor* in_;
  size_t h_, token_, row_;
};

template <bool kMimo>
std::vector<Tensor> Scan(absl::Span<const Tensor> in, const Attributes& attributes) {
  const Config s = ConfigOf(attributes);
  Tensor y(DType::F32, in[kX].shape);
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t h = 0; h < s.heads; ++h) {
      State state = ZeroState(s);
      for (size_t t = 0; t < s.length; ++t) {
        Token(s, kMimo, in.data(), b, t, h).Advance(state, y);
      }
    }
  }
  return {y};
}

// (ssm, angle, k, v states, operands..) -> (y, states).
template <bool kMimo>
std::vector<Tensor> Step(absl::Span<const Tensor> in, const Attributes& attributes) {
  const Config s = ConfigOf(attributes);
  std::vector<Tensor> out = {Tensor(DType::F32, in[4 + kX].shape), in[0], in[1], in[2], in[3]};
  for (size_t row = 0; row < s.batch * s.heads; ++row) {
    State state = ZeroState(s);
    const auto each = [&](const std::function<void(double&, double&)>& move) {
      std::vector<double>* parts[] = {&state.ssm, &state.theta, &state.k, &state.v};
      for (size_t i = 0; i < 4; ++i) {
        const size_t size = parts[i]->size();
        for (size_t j = 0; j < size; ++j) move((*parts[i])[j], out[1 + i][row * size + j]);
      }
    };
    each([](double& own, double& stored) { own = stored; });
    Token(s, kMimo, in.data() + 4, row / s.heads, 0, row % s.heads).Advance(state, out[0]);
    each([](double& own, double& stored) { stored = own; });
  }
  return out;
}

std::vector<Tensor> Preprocess(absl::Span<const Tensor> in, const Attributes& a) {
  const size_t inner = a.u32("inner_size"), n = a.u32("state_size"), heads = a.u32("num_heads");
  const size_t angles = a.u32("num_rope_angles");
  const size_t vectors = size_t{a.u32("num_groups")} * a.u32("mimo_rank");
  const size_t rows = in[0].shape[0], width = in[0].shape[1];
  Tensor x(DType::F32, {rows, inner}), z = x, bh(DType::F32, {rows, vectors * n}), ch = bh;
  Tensor dt(DType::F32, {rows, heads}), adt = dt, trap = dt, angle(DType::F32, {rows, angles});
  for (size_t row = 0; row < rows; ++row) {
    size_t at = row * width;
    const auto take = [&](Tensor& to, size_t count) {
      for (size_t i = 0; i < count; ++i) to[row * count + i] = in[0][at++];
    };
    take(z, inner);
    take(x, inner);
    take(bh, vectors * n);
    take(ch, vectors * n);
    for (size_t h = 0; h < heads; ++h) {
      const double soft = Softplus(in[0][at + h] + in[1][h]), dd_a = in[0][at + heads + h];
      const double heavy = dd_a >= 0 ? 1 + dd_a : 1 / (1 - dd_a);
      const double step =
          std::min(std::max(soft, double{a.f32("dt_min")}), double{a.f32("dt_max")});
      dt[row * heads + h] = step;
      adt[row * heads + h] = std::min(-heavy, -double{a.f32("a_floor")}) * step;
    }
    at += 2 * heads;
    take(trap, heads);
    take(angle, angles);
  }
  for (Tensor* t : {&bh, &ch}) {
    for (size_t row = 0; row < t->size() / n; ++row) {
      double squares = 0;
      for (size_t i = 0; i < n; ++i) squares += std::pow((*t)[row * n + i], 2);
      const double rms = std::sqrt(squares / static_cast<double>(n) + a.f32("epsilon"));
      for (size_t i = 0; i < n; ++i) (*t)[row * n + i] /= rms;
    }
  }
  return {x, z, bh, ch, dt, adt, trap, angle};
}

// ---- Samples ----

struct Sizes {
  uint32_t batch, length, heads, groups, depth, width, angles, ranks;
};
enum Flags : int { kPlain = 0, kWithZ = 1, kWithD = 2, kWithNorm = 4 };

Attributes AttributesOf(const Sizes& s, int flags) {
  return Attributes()
      .U32("batch_size", s.batch)
      .U32("sequence_length", s.length)
      .U32("num_heads", s.heads)
      .U32("num_groups", s.groups)
      .U32("head_dim", s.depth)
      .U32("state_size", s.width)
      .U32("num_rope_angles", s.angles)
      .U32("mimo_rank", s.ranks)
      .Bool("has_z", (flags & kWithZ) != 0)
      .Bool("has_d", (flags & kWithD) != 0)
      .Bool("has_output_norm", (flags & kWithNorm) != 0);
}

// Decays of up to e^-0.6 a token, steps of up to 0.5.
std::vector<InputSpec> OperandsOf(const Sizes& s, bool mimo) {
  const uint64_t groups = s.groups == 0 ? s.heads : s.groups;
  const Shape vectors = {s.batch, s.length, s.ranks * groups, s.width};
  const Shape inputs = {s.batch, s.length, s.heads, s.depth}, gates = {s.batch, s.length, s.heads};
  const Shape bias = mimo ? Shape{s.heads, s.ranks, s.width} : Shape{s.heads, s.width};
  std::vector<InputSpec> specs = {
      Uniform(vectors, -1, 1),  Uniform(vectors, -1, 1),
      Uniform(inputs, -1, 1),   Uniform(inputs),
      Uniform(gates, -0.6, 0),  Uniform(gates, 0.05, 0.5),
      Uniform(gates, -3, 3),    Uniform({s.batch, s.length, s.angles}, -3, 3),
      Uniform(bias, -0.5, 0.5), Uniform(bias, -0.5, 0.5),
      Uniform({s.heads}, -1, 1)};
  if (!mimo) return specs;
  const Shape projection = {s.heads, s.ranks, s.depth};
  for (int i = 0; i < 3; ++i) specs.push_back(Uniform(projection, 0.2, 1));
  specs.push_back(Uniform({s.heads, s.depth}, 0.5, 1.5));
  return specs;
}

Sample ScanSample(const Sizes& s, bool mimo, int flags, bool differentiate = true) {
  Sample sample = {OperandsOf(s, mimo), AttributesOf(s, flags)};
  sample.tolerance = {2e-5, 2e-5};
  // Sums over all tokens of all heads; the norm bends sharply where its row is small.
  sample.gradient = {(flags & kWithNorm) != 0 ? 2e-3 : 3e-4, 1e-3};
  sample.differentiate = differentiate;
  return sample;
}

// Every flag combination on a small shape, then chunk borders, odd widths and group forms.
std::vector<Sample> SisoSamples() {
  std::vector<Sample> samples;
  for (int flags = 0; flags < 4; ++flags) {
    samples.push_back(ScanSample({2, 5, 4, 2, 3, 6, 2, 1}, false, flags));
  }
  const int all = kWithZ | kWithD;
  for (const Sizes& s : std::initializer_list<Sizes>{{1, 1, 1, 1, 1, 1, 0, 1},
                                                     {1, 17, 3, 0, 2, 7, 3, 1},
                                                     {1, 65, 2, 1, 3, 4, 2, 1},
                                                     {2, 130, 2, 2, 2, 5, 1, 1}}) {
    samples.push_back(ScanSample(s, false, all));
  }
  samples.push_back(ScanSample({1, 130, 1, 1, 4, 8, 4, 1}, false, kPlain));
  for (const Sizes& s : std::initializer_list<Sizes>{{1, 300, 2, 1, 128, 128, 64, 1},
                                                     {2, 16, 3, 3, 33, 65, 9, 1},
                                                     {1, 1025, 2, 0, 5, 9, 0, 1}}) {
    samples.push_back(ScanSample(s, false, all, /*differentiate=*/false));
  }
  return samples;
}

std::vector<Sample> MimoSamples() {
  std::vector<Sample> samples;
  for (int flags = 0; flags < 8; ++flags) {
    samples.push_back(ScanSample({1, 5, 4, 2, 3, 6, 2, 3}, true, flags));
  }
  const int all = kWithZ | kWithD | kWithNorm;
  for (const Sizes& s : std::initializer_list<Sizes>{{2, 1, 1, 1, 2, 1, 0, 1},
                                                     {1, 35, 2, 1, 3, 4, 2, 4},
                                                     {1, 17, 2, 0, 2, 3, 1, 8},
                                                     {1, 70, 1, 1, 2, 5, 2, 1}}) {
    samples.push_back(ScanSample(s, true, all));
  }
  for (const Sizes& s : std::initializer_list<Sizes>{{1, 150, 2, 1, 32, 128, 64, 4},
                                                     {1, 40, 2, 2, 128, 32, 16, 8},
                                                     {2, 100, 3, 0, 7, 11, 5, 5}}) {
    samples.push_back(ScanSample(s, true, all, /*differentiate=*/false));
  }
  return samples;
}

Sample StepSample(const Sizes& s, bool mimo, int flags) {
  Sample sample = ScanSample(s, mimo, flags);
  const Shape rows = {s.batch, s.heads};
  const auto state = [&](std::initializer_list<uint64_t> extents, double bound) {
    Shape shape = rows;
    shape.insert(shape.end(), extents);
    return Uniform(shape, -bound, bound);
  };
  std::vector<InputSpec> states = {state({s.depth, s.width}, 1), state({s.angles}, 20)};
  states.push_back(mimo ? state({s.ranks, s.width}, 1) : state({s.width}, 1));
  states.push_back(mimo ? state({s.ranks, s.depth}, 1) : state({s.depth}, 1));
  sample.inputs.insert(sample.inputs.begin(), states.begin(), states.end());
  return sample;
}

ReferenceOp StepOp(bool mimo) {
  ReferenceOp row = {mimo ? "mamba3_mimo_step" : "mamba3_siso_step",
                     mimo ? Step<true> : Step<false>};
  const uint32_t ranks = mimo ? 3 : 1;
  for (int flags = 0; flags < (mimo ? 8 : 4); ++flags) {
    row.samples.push_back(StepSample({2, 1, 4, 2, 3, 7, 2, ranks}, mimo, flags));
  }
  row.samples.push_back(StepSample({1, 1, 2, 1, 128, 32, 16, mimo ? 8u : 1u}, mimo, kWithZ));
  row.samples.push_back(StepSample({3, 1, 1, 0, 1, 1, 0, ranks}, mimo, kWithD));
  Rejection two_tokens = {"two tokens", row.samples[0].inputs, {}};
  two_tokens.attributes = AttributesOf({2, 2, 4, 2, 3, 7, 2, ranks}, 0);
  for (size_t i = 4; i < 12; ++i) two_tokens.inputs[i].shape[1] = 2;
  row.rejections.push_back(two_tokens);
  for (size_t i = 0; i < 4; ++i) {
    Rejection wrong = {"a wrong state", row.samples[0].inputs, row.samples[0].attributes};
    wrong.inputs[i].shape.back() += 1;
    row.rejections.push_back(wrong);
  }
  return row;
}

Rejection Refuse(const std::string& why, const Sizes& s, bool mimo, int flags = 0) {
  return {why, OperandsOf(s, mimo), AttributesOf(s, flags)};
}

// Each rule on the wrong side of its bound, then every operand with one extent too many.
std::vector<Rejection> ScanRejections(bool mimo) {
  const uint32_t r = mimo ? 2 : 1;
  std::vector<Rejection> list = {
      Refuse("no batch", {0, 3, 2, 1, 2, 4, 1, r}, mimo),
      Refuse("no tokens", {1, 0, 2, 1, 2, 4, 1, r}, mimo),
      Refuse("no heads", {1, 3, 0, 0, 2, 4, 1, r}, mimo),
      Refuse("no depth", {1, 3, 2, 1, 0, 4, 1, r}, mimo),
      Refuse("no state", {1, 3, 2, 1, 2, 0, 0, r}, mimo),
      Refuse("groups that do not divide the heads", {1, 3, 3, 2, 2, 4, 1, r}, mimo),
      Refuse("more groups than heads", {1, 3, 2, 4, 2, 4, 1, r}, mimo),
      Refuse("a depth of 129", {1, 3, 2, 1, 129, 4, 1, r}, mimo),
      Refuse("a state of 129", {1, 3, 2, 1, 2, 129, 1, r}, mimo),
      Refuse("more angles than pairs", {1, 3, 2, 1, 2, 5, 3, r}, mimo),
      Refuse("rank 0", {1, 3, 2, 1, 2, 4, 1, 0}, mimo),
      Refuse(mimo ? "rank 9" : "rank 2", {1, 3, 2, 1, 2, 4, 1, mimo ? 9u : 2u}, mimo)};
  if (mimo) list.push_back(Refuse("a state of 4128 elements", {1, 3, 2, 1, 43, 96, 1, 2}, true));
  if (!mimo) list.push_back(Refuse("an output norm", {1, 3, 2, 1, 2, 4, 1, 1}, false, kWithNorm));
  const Rejection good = Refuse("", {1, 3, 2, 1, 2, 4, 1, r}, mimo);
  for (size_t i = 0; i < good.inputs.size(); ++i) {
    Rejection wrong = good;
    wrong.why = "operand " + std::to_string(i) + " with a longer last axis";
    wrong.inputs[i].shape.back() += 1;
    list.push_back(wrong);
    wrong.why = "operand " + std::to_string(i) + " of type i32";
    wrong.inputs[i] = Integers(DType::I32, good.inputs[i].shape, 0, 1);
    list.push_back(wrong);
  }
  return list;
}

ReferenceOp ScanOp(bool mimo) {
  ReferenceOp row = {mimo ? "mamba3_mimo" : "mamba3_siso", mimo ? Scan<true> : Scan<false>};
  row.samples = mimo ? MimoSamples() : SisoSamples();
  row.rejections = ScanRejections(mimo);
  return row;
}

// ---- Preprocess ----

struct Packing {
  uint32_t rows, inner, state, heads, angles, groups, ranks;
  float epsilon = 1e-5f, dt_min = 0.2f, dt_max = 1.8f, a_floor = 0.3f;
};

Attributes AttributesOf(const Packing& p) {
  return Attributes()
      .U32("inner_size", p.inner)
      .U32("state_size", p.state)
      .U32("num_heads", p.heads)
      .U32("num_rope_angles", p.angles)
      .U32("num_groups", p.groups)
      .U32("mimo_rank", p.ranks)
      .F32("epsilon", p.epsilon)
      .F32("dt_min", p.dt_min)
      .F32("dt_max", p.dt_max)
      .F32("a_floor", p.a_floor);
}

std::vector<InputSpec> OperandsOf(const Packing& p) {
  const uint64_t width =
      2 * uint64_t{p.inner} + 2 * uint64_t{p.groups} * p.ranks * p.state + 3 * p.heads + p.angles;
  return {Uniform({p.rows, width}), Uniform({p.heads}, -1, 1)};
}

ReferenceOp PreprocessOp() {
  ReferenceOp row = {"mamba3_preprocess", Preprocess};
  for (const Packing& p : std::initializer_list<Packing>{
           {5, 5, 3, 2, 1, 1, 2}, {1, 1, 1, 1, 0, 1, 1}, {3, 17, 70, 3, 4, 2, 3}}) {
    row.samples.push_back({OperandsOf(p), AttributesOf(p), {4e-6, 4e-6}});
  }
  const Packing large = {70, 130, 64, 9, 32, 1, 4, 1e-5f, 1e-3f, 0.1f, 1e-4f};
  row.samples.push_back({OperandsOf(large), AttributesOf(large), {4e-6, 4e-6}, false});
  const auto refuse = [&](const std::string& why, const Packing& p) {
    row.rejections.push_back({why, OperandsOf(p), AttributesOf(p)});
  };
  const float inf = std::numeric_limits<float>::infinity();
  refuse("no rows", {0, 5, 3, 2, 1, 1, 2});
  refuse("no inner size", {5, 0, 3, 2, 1, 1, 2});
  refuse("no state", {5, 5, 0, 2, 0, 1, 2});
  refuse("no heads", {5, 5, 3, 0, 1, 1, 2});
  refuse("no groups", {5, 5, 3, 2, 1, 0, 2});
  refuse("rank 0", {5, 5, 3, 2, 1, 1, 0});
  refuse("too many angles", {5, 5, 3, 2, 2, 1, 2});
  refuse("epsilon 0", {5, 5, 3, 2, 1, 1, 2, 0.0f});
  refuse("epsilon NaN", {5, 5, 3, 2, 1, 1, 2, std::nanf("")});
  refuse("dt_min 0", {5, 5, 3, 2, 1, 1, 2, 1e-5f, 0.0f});
  refuse("dt_min above dt_max", {5, 5, 3, 2, 1, 1, 2, 1e-5f, 2.0f, 1.0f});
  refuse("dt_max infinite", {5, 5, 3, 2, 1, 1, 2, 1e-5f, 0.1f, inf});
  refuse("a_floor 0", {5, 5, 3, 2, 1, 1, 2, 1e-5f, 0.1f, 1.0f, 0.0f});
  Rejection wide = {"a wider row", row.samples[0].inputs, row.samples[0].attributes};
  wide.inputs[0].shape[1] += 1;
  row.rejections.push_back(wide);
  Rejection flat = {"rank 3", row.samples[0].inputs, row.samples[0].attributes};
  flat.inputs[0].shape = {5, 1, wide.inputs[0].shape[1] - 1};
  row.rejections.push_back(flat);
  Rejection bias = {"a longer dt_bias", row.samples[0].inputs, row.samples[0].attributes};
  bias.inputs[1].shape = {3};
  row.rejections.push_back(bias);
  return row;
}

}  // namespace

std::vector<ReferenceOp> Mamba3Reference() {
  return {PreprocessOp(), ScanOp(false), ScanOp(true), StepOp(false), StepOp(true)};
}

}  // namespace oa::reference
