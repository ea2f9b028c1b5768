#include <bit>
#include <cmath>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

// ---- sgd_step ----

struct SgdRule {
  float lr = 0.1f, momentum = 0, decay = 0;
  bool nesterov = false;

  Attributes attributes() const {
    return Attributes()
        .F32("lr", lr)
        .F32("momentum", momentum)
        .F32("weight_decay", decay)
        .Bool("nesterov", nesterov);
  }
  InputSpec state() const { return Values(DType::F32, {3}, {lr, momentum, decay}); }
};

std::vector<Tensor> Sgd(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  Tensor w = inputs[0], m = inputs[2];
  const double lr = inputs[3][0], mu = inputs[3][1], decay = inputs[3][2];
  for (size_t i = 0; i < w.size(); ++i) {
    double d = inputs[1][i] + decay * w[i];
    if (m.present()) {
      m[i] = mu * m[i] + d;
      d = attributes.boolean("nesterov") ? d + mu * m[i] : m[i];
    }
    w[i] -= lr * d;
  }
  if (!m.present()) return {w};
  return {w, m};
}

ReferenceOp SgdOp() {
  ReferenceOp row = {"sgd_step", Sgd};
  const auto add = [&row](const SgdRule& rule, const Shape& shape, bool momentum) {
    row.samples.push_back(
        {{Uniform(shape), Uniform(shape), momentum ? Uniform(shape) : Absent(), rule.state()},
         rule.attributes()});
  };
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{5, 1031}}) {
    add({}, shape, false);
    add({.decay = 0.01f}, shape, false);
    add({.momentum = 0.9f, .decay = 0.01f}, shape, true);
    add({.momentum = 0.9f, .nesterov = true}, shape, true);
  }
  add({}, {17}, true);  // a buffer that is there without being asked for
  const auto reject = [&row](const char* why, const SgdRule& rule) {
    row.rejections.push_back(
        {why, {Uniform({3}), Uniform({3}), Uniform({3}), rule.state()}, rule.attributes()});
  };
  reject("lr not finite", {.lr = INFINITY});
  reject("lr NaN", {.lr = NAN});
  reject("a negative momentum", {.momentum = -0.1f});
  reject("momentum not finite", {.momentum = INFINITY});
  reject("a negative decay", {.decay = -0.1f});
  reject("decay NaN", {.decay = NAN});
  const SgdRule rule = {.momentum = 0.9f};
  const InputSpec x = Uniform({3}), other = Uniform({4});
  const InputSpec integers = Integers(DType::I32, {3}, 0, 5);
  row.rejections.push_back({"no buffer", {x, x, Absent(), rule.state()}, rule.attributes()});
  row.rejections.push_back({"a gradient shape", {x, other, x, rule.state()}, rule.attributes()});
  row.rejections.push_back({"a buffer shape", {x, x, other, rule.state()}, rule.attributes()});
  row.rejections.push_back({"an I32 gradient", {x, integers, x, rule.state()}, rule.attributes()});
  row.rejections.push_back({"a state shape", {x, x, x, Uniform({6})}, rule.attributes()});
  row.rejections.push_back(
      {"a U32 state", {x, x, x, Values(DType::U32, {3}, {0, 0, 0})}, rule.attributes()});
  return row;
}

// ---- adam_step, adamw_step ----

struct AdamRule {
  float lr = 0.1f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, decay = 0;

  Attributes attributes() const {
    return Attributes()
        .F32("lr", lr)
        .F32("beta1", beta1)
        .F32("beta2", beta2)
        .F32("epsilon", epsilon)
        .F32("weight_decay", decay);
  }
  InputSpec state(uint32_t t) const {
    std::vector<double> words = {static_cast<double>(t)};
    for (float field : {lr, beta1, beta2, epsilon, decay}) {
      words.push_back(std::bit_cast<uint32_t>(field));
    }
    return Values(DType::U32, {6}, words);
  }
};

double Field(const Tensor& state, size_t word) {
  return std::bit_cast<float>(static_cast<uint32_t>(state[word]));
}

std::vector<Tensor> AdamLoop(absl::Span<const Tensor> inputs, bool decoupled) {
  Tensor w = inputs[0], m = inputs[2], v = inputs[3];
  const Tensor& state = inputs[4];
  const double lr = Field(state, 1), beta1 = Field(state, 2), beta2 = Field(state, 3);
  const double epsilon = Field(state, 4), decay = Field(state, 5);
  const double correction1 = 1 - std::pow(beta1, state[0]);
  const double correction2 = 1 - std::pow(beta2, state[0]);
  for (size_t i = 0; i < w.size(); ++i) {
    if (decoupled) w[i] -= lr * decay * w[i];
    const double d = inputs[1][i] + (decoupled ? 0 : decay * w[i]);
    m[i] = beta1 * m[i] + (1 - beta1) * d;
    v[i] = beta2 * v[i] + (1 - beta2) * d * d;
    w[i] -= lr * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + epsilon);
  }
  return {w, m, v};
}

std::vector<Tensor> Adam(absl::Span<const Tensor> inputs, const Attributes&) {
  return AdamLoop(inputs, false);
}
std::vector<Tensor> AdamW(absl::Span<const Tensor> inputs, const Attributes&) {
  return AdamLoop(inputs, true);
}

void AddAdamSamples(ReferenceOp& row) {
  const auto add = [&row](const AdamRule& rule, const Shape& shape, uint32_t t) {
    row.samples.push_back(
        {{Uniform(shape), Uniform(shape), Uniform(shape), Uniform(shape, 0.01, 2), rule.state(t)},
         rule.attributes()});
  };
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{5, 1031}}) {
    add({}, shape, 1);
    add({.lr = 0.01f, .decay = 0.01f}, shape, 3);
  }
  // Bias correction far from 1, in between, and at 1.
  for (uint32_t t : {1u, 2u, 10u, 1000u, 12345u, 100000000u}) add({.beta2 = 0.9999f}, {13}, t);
  add({.beta1 = 0, .beta2 = 0}, {13}, 5);
  add({.lr = 0.5f, .epsilon = 0.1f}, {13}, 2);
}

void AddAdamRejections(ReferenceOp& row) {
  const InputSpec x = Uniform({3}), other = Uniform({4});
  const InputSpec integers = Integers(DType::I32, {3}, 0, 5);
  const auto reject = [&](const char* why, const AdamRule& rule) {
    row.rejections.push_back({why, {x, x, x, x, rule.state(1)}, rule.attributes()});
  };
  reject("lr not finite", {.lr = INFINITY});
  reject("lr NaN", {.lr = NAN});
  reject("beta1 of 1", {.beta1 = 1});
  reject("a negative beta1", {.beta1 = -0.1f});
  reject("beta1 NaN", {.beta1 = NAN});
  reject("beta2 of 1", {.beta2 = 1});
  reject("a negative beta2", {.beta2 = -0.1f});
  reject("epsilon 0", {.epsilon = 0});
  reject("a negative epsilon", {.epsilon = -1e-8f});
  reject("epsilon not finite", {.epsilon = INFINITY});
  reject("a negative decay", {.decay = -0.1f});
  reject("decay not finite", {.decay = INFINITY});
  const Attributes good = AdamRule().attributes();
  const InputSpec state = AdamRule().state(1);
  row.rejections.push_back({"a gradient shape", {x, other, x, x, state}, good});
  row.rejections.push_back({"an m shape", {x, x, other, x, state}, good});
  row.rejections.push_back({"a v shape", {x, x, x, other, state}, good});
  row.rejections.push_back({"an I32 gradient", {x, integers, x, x, state}, good});
  row.rejections.push_back({"an F32 state", {x, x, x, x, Uniform({6})}, good});
  row.rejections.push_back(
      {"a state shape", {x, x, x, x, Values(DType::U32, {3}, {1, 0, 0})}, good});
}

ReferenceOp AdamOp(const char* op, Forward forward) {
  ReferenceOp row = {op, forward};
  AddAdamSamples(row);
  AddAdamRejections(row);
  return row;
}

// ---- optimiser_advance ----

std::vector<Tensor> Advance(absl::Span<const Tensor> inputs, const Attributes&) {
  Tensor state = inputs[0];
  state[0] += 1;
  return {state};
}

ReferenceOp AdvanceOp() {
  ReferenceOp row = {"optimiser_advance", Advance};
  row.samples = {{{AdamRule().state(0)}, {}, kExact}, {{AdamRule().state(12345)}, {}, kExact}};
  row.rejections = {{"an F32 state", {Uniform({6})}},
                    {"a state shape", {Values(DType::U32, {3}, {1, 0, 0})}}};
  return row;
}

// ---- clip_grad_norm ----

std::vector<Tensor> Clip(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const double max_norm = attributes.f32("max_norm");
  Tensor norm(DType::F32, {1});
  for (const Tensor& g : inputs) {
    for (double value : g.data) norm[0] += value * value;
  }
  norm[0] = std::sqrt(norm[0]);
  std::vector<Tensor> results(inputs.begin(), inputs.end());
  if (norm[0] > max_norm) {
    for (Tensor& g : results) {
      for (double& value : g.data) value *= max_norm / norm[0];
    }
  }
  results.push_back(norm);
  return results;
}

ReferenceOp ClipOp() {
  const auto max_norm = [](float value) { return Attributes().F32("max_norm", value); };
  const Tolerance tolerance = {2e-6, 1e-5};
  ReferenceOp row = {"clip_grad_norm", Clip};
  std::vector<InputSpec> many;
  for (uint64_t i = 1; i <= 20; ++i) many.push_back(Uniform({i, 3}));
  row.samples = {{{Uniform({3, 7})}, max_norm(1), tolerance},
                 {{Uniform({3, 7})}, max_norm(1000), kExact},
                 {{Uniform({5, 1031}), Uniform({1}), Uniform({4099})}, max_norm(2.5f), tolerance},
                 {many, max_norm(0.5f), tolerance},
                 {{Values(DType::F32, {3}, {INFINITY, 2, -3}), Uniform({2})}, max_norm(1)},
                 {{Values(DType::F32, {3}, {NAN, 2, -3}), Uniform({2})}, max_norm(1)},
                 {{Values(DType::F32, {4}, {0, 0, 0, 0})}, max_norm(1), kExact}};
  row.samples[1].tolerance = {0, 1e-5};  // of the norm; the gradients stay as they are
  for (float bad : {0.0f, -1.0f, INFINITY, NAN}) {
    row.rejections.push_back({"max_norm not positive and finite", {Uniform({3})}, max_norm(bad)});
  }
  row.rejections.push_back({"no gradients", {}, max_norm(1)});
  row.rejections.push_back({"an I32 gradient", {Integers(DType::I32, {3}, 0, 5)}, max_norm(1)});
  return row;
}

}  // namespace

std::vector<ReferenceOp> OptimiserReference() {
  return {SgdOp(), AdamOp("adam_step", Adam), AdamOp("adamw_step", AdamW), AdvanceOp(), ClipOp()};
}

}  // namespace oa::reference
